"""Any text can be searched: the result is a list of files and never an error."""

from __future__ import annotations

import string
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from keyword_vault import Shelf

from chyme.search.results import as_json

pytestmark = pytest.mark.slow  # each takes little time, but there are many

AWKWARD = [
    "", " ", '"', '""', '"""', "'", "*", "**", "-", "--", '-"', "(", ")", "(a", "a)", "AND", "OR", "NOT", "NOT NOT",
    "a AND", "AND a", "NEAR(a b, 3)", "a NEAR b", "{name}: a", "name:", "name:*", 'name:"', "tokens:a", "tokens : a",
    "^a", "a^", "a + b", "a:b:c", "\x00", "a\x00b", '"\x00"', "\ud800", "kind:\x00", "%", "_", "\\", ";", "--comment",
    "'; DROP TABLE files; --", "😀", "ﬁ", "\u0301", "e\u0301", "ー", "々", "a" * 5000, "word " * 500, "-a -b -c",
    "date:..", "date:2024..x", "folder:/", "tag:\"", "title:東", "name:東京*", "NULL", "a OR b OR", "1e999", "\u202e",
]  # fmt: skip


@pytest.fixture
def words(shelf: Shelf) -> Iterator[Shelf]:
    shelf.put("a.txt", 'a b name kind tokens 東京 "quoted" AND OR NOT NEAR')
    yield shelf


@pytest.mark.parametrize("typing", [False, True])
@pytest.mark.parametrize("question", AWKWARD)
def test_awkward_question(words: Shelf, question: str, typing: bool) -> None:
    as_json(words.ask(question, typing=typing))


_PIECES = st.sampled_from(
    ['"', "-", "*", ":", "(", ")", " ", "AND ", "NOT ", "name:", "date:", "kind:", "東", "京", "a"]
)
_QUESTIONS = st.one_of(
    st.text(max_size=60),
    st.text(alphabet=string.printable, max_size=60),
    st.lists(_PIECES, max_size=14).map("".join),
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(question=_QUESTIONS, typing=st.booleans())
def test_any_question(words: Shelf, question: str, typing: bool) -> None:
    result = words.ask(question, typing=typing)

    assert result.total >= len(result.hits)


def test_a_question_that_is_too_long_is_shortened_and_says_so(words: Shelf) -> None:
    assert "first 2000 characters" in words.ask("x" * 3000).notes[0]
    assert "40 rarest words" in words.ask(" ".join(f"w{number}" for number in range(90))).notes[0]
    assert "first 40 excluded words" in words.ask(" ".join(f"-w{number}" for number in range(90))).notes[0]
