"""The address of a search hit: the page of its file, at the place that was found."""

from __future__ import annotations

from urllib.parse import urlencode

from chyme.model import Form, Kind, Place
from chyme.search.results import Hit, Piece

FILE = "file"  # the source of passages that are in the file itself


def hit_query(hit: Hit, question: str = "") -> str:
    """Return the query string for the page of the hit's file; empty when there is no place to show."""
    piece = next((piece for piece in hit.passages if piece.place == hit.place), None)
    source = highlighted_source(hit, piece) if piece else None
    return place_query(hit.place, source, question) if hit.place else place_query(None, None, question)


def highlighted_source(hit: Hit, piece: Piece) -> str | None:
    """The source of a passage whose characters the page of a file can highlight; None for others."""
    shown = piece.source == FILE or (piece.form is Form.TEXT and hit.kind is not Kind.IMAGE)
    return piece.source if shown else None


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
        if source is not None:
            parameters |= {"start": place.start, "end": place.end, "source": source}
    if question:
        parameters["q"] = question
    return f"?{urlencode(parameters)}" if parameters else ""
