"""Somebody pauses within a word: what begins with it stays shown, whatever half of it may mean."""

from __future__ import annotations

import pytest
from semantic_vault import MeaningShelf

from chyme.doors.page.search_results import result_page
from chyme.doors.page.vault import search_or_complete
from chyme.doors.page.view_parameters import ViewParameters
from chyme.model import Kind, Place
from chyme.search.results import Hit, Piece, SearchResult
from chyme.search.snippets import Snippet


def paths(shelf: MeaningShelf, question: str) -> list[str]:
    return [hit.path for hit in search_or_complete(shelf.index, ViewParameters(q=question)).hits]


def test_what_begins_with_the_last_word_is_not_given_up_for_what_is_near_in_meaning(meant: MeaningShelf) -> None:
    meant.put_meant("winter.txt", "tyres of the automobile in the garage")
    meant.put_meant("pier.txt", "the harbour is deep")
    assert [hit.why for hit in meant.hybrid("vehicle harb").hits] == [("meaning",)]
    assert paths(meant, "vehicle harb") == ["pier.txt"]
    assert paths(meant, "vehicle xylo") == ["winter.txt"]  # nothing begins with it: then meaning is all there is
    assert paths(meant, "vehicle garage") == ["winter.txt"]
    assert paths(meant, "vehicle harbour") == meant.paths("vehicle harbour")  # finished: both, as ever


def test_the_next_page_goes_on_with_the_same_answer(meant: MeaningShelf) -> None:
    for number in range(25):
        meant.put_meant(f"pier {number:02}.txt", f"the harbour number {number} is deep")
        meant.put_meant(f"garage {number:02}.txt", f"tyres of the automobile {number}")
    want = ViewParameters(q="vehicle harb")
    pages = [search_or_complete(meant.index, want, offset=offset) for offset in (0, 20)]
    found = [hit.path for page in pages for hit in page.hits]
    assert sorted(found) == [f"pier {number:02}.txt" for number in range(25)]
    assert {page.total for page in pages} == {25}


@pytest.mark.parametrize(
    ("path", "text", "marked", "shown"),
    [
        ("a.md", "# The harbour > and ## its light", "harbour", "The [harbour] and its light"),
        ("a.md", "# harbour", "harbour", "[harbour]"),
        ("a.md", "C# and harbour# too", "harbour", "C# and [harbour]# too"),
        ("a.py", "# the harbour", "harbour", "# the [harbour]"),
    ],
)
def test_signs_of_markdown_are_left_out_and_marks_stay_on_their_words(
    path: str, text: str, marked: str, shown: str
) -> None:
    start = text.index(marked)
    snippet = Snippet(text, ((start, start + len(marked)),))
    hit = Hit(path, "A", Kind.TEXT, 1.0, ("words",), snippet, None, (Piece("text-content", snippet, Place(0, 1)),))
    found = result_page(SearchResult((hit,), 1, True, 0.0, {}), [], marked, 0, {})
    (passage,) = found.files[0].passages
    assert "".join(f"[{words}]" if is_marked else words for words, is_marked in passage.parts) == shown
