"""Mistyped words find the words that were meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chyme.search.query.spelling import (
    deletions,
    distance,
    is_certain_correction,
    is_correctable,
    lookups,
    nearest,
    words_of,
)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("lettice", "lettuce"),
        ("recieve", "receive"),
        ("adress", "address"),
        ("tabel", "table"),
        ("accommidationn", "accommodation"),
    ],
)
def test_both_sides_meet(typed: str, meant: str) -> None:
    assert lookups(typed) & deletions(meant)
    assert nearest(typed, [meant])


@given(st.text(alphabet="abc", min_size=4, max_size=10), st.integers(0, 9), st.sampled_from("abcx"))
def test_one_error_is_always_within_reach(word: str, at: int, letter: str) -> None:
    for typed in (word[:at] + letter + word[at:], word[:at] + word[at + 1 :], word[:at] + letter + word[at + 1 :]):
        assert distance(typed, word) <= 1
        assert lookups(typed) & deletions(word)


@given(st.text(alphabet="abc", max_size=8), st.text(alphabet="abc", max_size=8))
def test_distance_is_the_same_both_ways_and_nought_for_equals_only(one: str, other: str) -> None:
    assert distance(one, other) == distance(other, one)
    assert (distance(one, other) == 0) == (one == other)


def test_nearest_comes_first_and_the_far_not_at_all() -> None:
    assert nearest("house", ["mouse", "horse", "hoses", "elephant"]) == [(1, "horse"), (1, "mouse")]


def test_words_worth_remembering() -> None:
    assert words_of(["The Naïve gardener's 東京 abc x1y2 https " + "z" * 30]) == {"naive", "gardener", "https"}
    assert not is_correctable("abc") and not is_correctable("ab12")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        *[("dentits", "dentist"), ("lettice", "lettuce"), ("tomatos", "tomatoes"), ("soop", "soup"), ("csot", "cost")],
        *[("accomodatoin", "accommodation"), ("recieveing", "receiving"), ("definately", "definitely")],
    ],
)
def test_what_is_no_word_of_its_own_is_surely_a_typing_error(typed: str, meant: str) -> None:
    assert is_certain_correction(typed, meant, alone=True)


@pytest.mark.parametrize(
    ("typed", "known"),
    [
        *[("president", "proident"), ("president", "present"), ("learning", "meaning"), ("cats", "cars")],
        *[("cake", "case"), ("parking", "marking")],
    ],
)
def test_what_may_well_be_another_word_is_not_surely_meant(typed: str, known: str) -> None:
    assert not is_certain_correction(typed, known, alone=True)


def test_beside_other_words_a_short_one_is_surely_meant_only_where_letters_were_swapped() -> None:
    assert not is_certain_correction("coast", "cost", alone=False)
    assert is_certain_correction("csot", "cost", alone=False)
