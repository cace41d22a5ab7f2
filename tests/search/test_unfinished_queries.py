"""The user pauses within a word: words that begin with it are still listed, whatever its beginning may mean."""

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


def test_completions_of_the_last_word_are_preferred_to_hits_by_meaning(meant: MeaningShelf) -> None:
    meant.put_meant("winter.txt", "tyres of the automobile in the garage")
    meant.put_meant("pier.txt", "the harbour is deep")
    assert [hit.why for hit in meant.hybrid("vehicle harb").hits] == [("meaning",)]
    assert paths(meant, "vehicle harb") == ["pier.txt"]
    assert paths(meant, "vehicle xylo") == ["winter.txt"]  # nothing begins with it, so only meaning is left
    assert paths(meant, "vehicle garage") == ["winter.txt"]
    assert paths(meant, "vehicle harbour") == meant.paths("vehicle harbour")  # a complete word: both, as usual


def test_the_next_page_continues_the_same_result(meant: MeaningShelf) -> None:
    for number in range(25):
        meant.put_meant(f"pier {number:02}.txt", f"the harbour number {number} is deep")
        meant.put_meant(f"garage {number:02}.txt", f"tyres of the automobile {number}")
    parameters = ViewParameters(q="vehicle harb")
    pages = [search_or_complete(meant.index, parameters, offset=offset) for offset in (0, 20)]
    found = [hit.path for page in pages for hit in page.hits]
    assert sorted(found) == [f"pier {number:02}.txt" for number in range(25)]
    assert {page.total for page in pages} == {25}


@pytest.mark.parametrize(
    ("path", "text", "marked", "expected"),
    [
        ("a.md", "# The harbour > and ## its light", "harbour", "The [harbour] and its light"),
        ("a.md", "# harbour", "harbour", "[harbour]"),
        ("a.md", "**Where:** the harbour **Who:** 2**3 and **p", "harbour", "Where: the [harbour] Who: 2**3 and p"),
        ("a.md", "C# and harbour# too", "harbour", "C# and [harbour]# too"),
        ("a.py", "# the harbour", "harbour", "# the [harbour]"),
    ],
)
def test_signs_of_markdown_are_left_out_and_marks_stay_on_their_words(
    path: str, text: str, marked: str, expected: str
) -> None:
    start = text.index(marked)
    snippet = Snippet(text, ((start, start + len(marked)),))
    hit = Hit(path, "A", Kind.TEXT, 1.0, ("words",), snippet, None, (Piece("text-content", snippet, Place(0, 1)),))
    page = result_page(SearchResult((hit,), 1, True, 0.0, {}), [], marked, 0, {})
    (passage,) = page.files[0].passages
    assert "".join(f"[{words}]" if is_marked else words for words, is_marked in passage.parts) == expected
