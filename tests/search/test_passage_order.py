"""Which passage of a file comes first."""

from __future__ import annotations

from upstreams import form_of

from chyme.model import Passage, Place
from chyme.search.hits import _FoundPassage, _order_passages
from chyme.search.query.parser import Term
from chyme.search.snippets import count_terms

TERMS = [Term("crown"), Term("dentist")]


def found(text: str, *, by_meaning: bool = False, is_near: bool = False, source: str = "file") -> _FoundPassage:
    return _FoundPassage(Passage(source, 0, text, Place(0, len(text))), by_meaning, is_near or by_meaning)


def order(*passages: _FoundPassage) -> list[str]:
    return [each.passage.text for each in _order_passages(passages, TERMS, form_of)]


def test_the_best_by_words_comes_first_unless_another_with_as_many_words_is_near() -> None:
    first, second = found("a crown"), found("the crown", is_near=True)
    assert order(first, second) == ["the crown", "a crown"]
    assert order(found("crown dentist"), second) == ["crown dentist", "the crown"]


def test_passages_with_words_come_before_those_without() -> None:
    near, words = found("teeth", by_meaning=True), found("a crown")
    assert order(near, words) == ["a crown", "teeth"]
    assert order(near, found("a dentist", by_meaning=True)) == ["a dentist", "teeth"]


def test_the_text_comes_before_its_summary() -> None:
    summary = found("a crown", source="url-crawl-summary", is_near=True)
    assert order(summary, found("my crown")) == ["my crown", "a crown"]
    assert order() == []


def test_terms_are_counted_once_each() -> None:
    assert count_terms("crown, crowns and a dentist", TERMS) == 2
    assert count_terms("nothing", TERMS) == 0
