"""The address of a search hit: the page of its file, at the place that was found."""

from __future__ import annotations

from urllib.parse import urlencode

from chyme.model import Place
from chyme.search.results import Hit

TEXTS = ("file", "doc-to-markdown", "url-crawl-content")  # sources whose characters the page of a file can highlight


def hit_query(hit: Hit, question: str = "") -> str:
    """Return the query string for the page of the hit's file; empty when there is no place to show."""
    source = next((piece.source for piece in hit.passages if piece.place == hit.place), None)
    return place_query(hit.place, source, question) if hit.place else place_query(None, None, question)


def place_query(place: Place | None, source: str | None, question: str = "") -> str:
    """Return the same for one passage."""
    parameters: dict[str, object] = {}
    if place is not None:
        if place.page is not None:
            parameters["page"] = place.page
        if place.seconds is not None:
            parameters["t"] = round(place.seconds, 2)
        if place.box is not None:
            parameters["box"] = ",".join(f"{edge:.4f}" for edge in place.box)
        if source in TEXTS:
            parameters |= {"start": place.start, "end": place.end, "source": source}
    if question:
        parameters["q"] = question
    return f"?{urlencode(parameters)}" if parameters else ""
