"""Where a search hit leads: the page of its file, at the place that was found."""

from __future__ import annotations

from urllib.parse import urlencode

from chyme.model import Place
from chyme.search.results import Hit

TEXTS = ("file", "doc-to-markdown", "url-crawl-content")  # whose characters the page of a file can point at


def hit_query(hit: Hit, question: str = "") -> str:
    """What stands behind the address of the hit's file; empty when there is nothing to point at."""
    source = next((piece.source for piece in hit.passages if piece.place == hit.place), None)
    return place_query(hit.place, source, question) if hit.place else place_query(None, None, question)


def place_query(place: Place | None, source: str | None, question: str = "") -> str:
    """The same for one passage."""
    asked: dict[str, object] = {}
    if place is not None:
        if place.page is not None:
            asked["page"] = place.page
        if place.seconds is not None:
            asked["t"] = round(place.seconds, 2)
        if place.box is not None:
            asked["box"] = ",".join(f"{edge:.4f}" for edge in place.box)
        if source in TEXTS:
            asked |= {"start": place.start, "end": place.end, "source": source}
    if question:
        asked["q"] = question
    return f"?{urlencode(asked)}" if asked else ""
