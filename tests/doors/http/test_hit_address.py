"""Where a search hit leads."""

from __future__ import annotations

import pytest
from upstreams import form_of

from chyme.doors.page.search_results import hit_query
from chyme.model import Kind, Place
from chyme.search.results import Hit, Piece
from chyme.search.snippets import Snippet


def hit(place: Place | None, source: str) -> Hit:
    pieces = (Piece(source, Snippet("text", ()), place, form=form_of(source)),) if place else ()
    kind = Kind.IMAGE if source == "image-ocr" else Kind.DOCUMENT
    return Hit("a.pdf", "A", kind, 1.0, ("words",), Snippet("text", ()), place, pieces)


@pytest.mark.parametrize(
    ("place", "source", "address"),
    [
        (None, "", "?q=the+mill"),
        (Place(4, 9, page=3), "doc-to-markdown", "?page=3&start=4&end=9&source=doc-to-markdown&q=the+mill"),
        (Place(4, 9, seconds=12.345), "speech-recognition", "?t=12.35&q=the+mill"),
        (Place(4, 9, box=(0.1, 0.2, 0.5, 1)), "image-ocr", "?box=0.1000%2C0.2000%2C0.5000%2C1.0000&q=the+mill"),
        (Place(4, 9), "file", "?start=4&end=9&source=file&q=the+mill"),
    ],
)
def test_the_address_contains_page_second_box_or_span(place: Place | None, source: str, address: str) -> None:
    assert hit_query(hit(place, source), "the mill") == address


def test_without_a_place_or_a_query_the_address_is_the_file_alone() -> None:
    assert hit_query(hit(None, "")) == ""
