"""Which tags a word refers to."""

from __future__ import annotations

import pytest

from chyme.understanding.tags.names import current_names, match_spelling, resolve_tag

RULES = {"invoice": "bill", "bill": "rechnung", "page": None, "sheet": "page", "ads": "ad"}
KNOWN = ["ad", "car", "cars", "lease", "page", "rechnung"]


def test_a_tag_is_called_by_the_last_of_its_names() -> None:
    assert current_names(RULES) == {"invoice": "rechnung", "bill": "rechnung", "ads": "ad"}


@pytest.mark.parametrize(("name", "found"), [("car", ["car"]), ("leases", ["lease"]), ("boat", [])])
def test_a_tag_with_exactly_that_name_comes_before_tags_of_similar_spelling(name: str, found: list[str]) -> None:
    assert match_spelling(name, KNOWN) == found


@pytest.mark.parametrize(
    ("name", "found"),
    [
        *(("invoice", ["rechnung"]), ("bills", ["rechnung"]), ("ads", ["ad"])),
        *(("cars", ["cars"]), ("leases", ["lease"])),
        *(("page", ["page"]), ("sheet", ["sheet"]), ("boat", ["boat"])),
    ],
)
def test_a_word_refers_to_the_tag_that_it_became(name: str, found: list[str]) -> None:
    assert resolve_tag(name, KNOWN, RULES) == found
