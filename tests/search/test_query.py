"""The query language, part by part."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chyme.search.query.parser import Filter, Query, Term, date_range, expression, parse


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("red apple", Query((Term("red"), Term("apple")))),
        ('"red apple" pie', Query((Term("red apple", phrase=True), Term("pie")))),
        ('pie -apple -"red plum"', Query((Term("pie"),), (Term("apple"), Term("red plum", phrase=True)))),
        ("pie NOT apple", Query((Term("pie"),), (Term("apple"),))),
        ("pie AND (apple OR plum)", Query((Term("pie"), Term("apple"), Term("plum")))),
        ("app*", Query((Term("app", prefix=True),))),
        ("kind:pdf -tag:x", Query((), (), (Filter("kind", "pdf"), Filter("tag", "x", negated=True)))),
        ('in:"my papers"', Query((), (), (Filter("folder", "my papers"),))),
        ("https://example.org/a", Query((Term("https://example.org/a"),))),
        ('5" disk', Query((Term("5"), Term("disk")))),
        ("the cat and the hat", Query((Term("cat"), Term("hat")))),
        ("who are you", Query((Term("who"), Term("are"), Term("you")))),
        ("der das und Haus", Query((Term("Haus"),))),
        ("- * ( ) :", Query()),
    ],
)
def test_parse(text: str, query: Query) -> None:
    assert parse(text) == query


def test_while_typing_only_the_last_word_is_a_prefix() -> None:
    assert parse("red app", typing=True).terms == (Term("red"), Term("app", prefix=True))
    assert parse("red app ", typing=True).terms == (Term("red"), Term("app"))
    assert parse("red kind:pd", typing=True).terms == (Term("red"),)
    assert parse("what is the", typing=True).terms == (Term("the", prefix=True),)


def test_user_text_is_quoted() -> None:
    assert expression([Term('a"b'), Term("NEAR(")]) == '"a""b" OR "NEAR("'
    assert expression([Term("app", prefix=True)], "title") == '{title} : ("app" *)'
    assert expression([]) == ""


@pytest.mark.parametrize(
    ("value", "first", "last"),
    [
        ("2024", "2024-01-01", "2024-12-31"),
        ("2023..2024-02", "2023-01-01", "2024-02-29"),
        ("..2024", "0001", "2024-12-31"),
    ],
)
def test_date_range_includes_both_ends(value: str, first: str, last: str) -> None:
    span = date_range(value)

    assert span is not None
    assert span[0] <= first and last <= span[1]
    assert span[1] < "2025-01-01"


@pytest.mark.parametrize("value", ["", "..", "yesterday", "24", "2024-1", "2024..x"])
def test_no_date(value: str) -> None:
    assert date_range(value) is None


@given(st.text(), st.booleans())
def test_any_text_is_a_question(text: str, typing: bool) -> None:
    query = parse(text, typing=typing)

    assert "\x00" not in expression(query.terms)
