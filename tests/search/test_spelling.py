"""Mistyped words lead to the intended words."""

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
    ("typed", "intended"),
    [
        ("lettice", "lettuce"),
        ("recieve", "receive"),
        ("adress", "address"),
        ("tabel", "table"),
        ("accommidationn", "accommodation"),
    ],
)
def test_a_mistyped_word_leads_to_the_intended_one(typed: str, intended: str) -> None:
    assert lookups(typed) & deletions(intended)
    assert nearest(typed, [intended])


@given(st.text(alphabet="abc", min_size=4, max_size=10), st.integers(0, 9), st.sampled_from("abcx"))
def test_a_word_with_one_error_is_always_found(word: str, at: int, letter: str) -> None:
    for typed in (word[:at] + letter + word[at:], word[:at] + word[at + 1 :], word[:at] + letter + word[at + 1 :]):
        assert distance(typed, word) <= 1
        assert lookups(typed) & deletions(word)


@given(st.text(alphabet="abc", max_size=8), st.text(alphabet="abc", max_size=8))
def test_distance_is_symmetric_and_zero_only_for_equal_words(first: str, second: str) -> None:
    assert distance(first, second) == distance(second, first)
    assert (distance(first, second) == 0) == (first == second)


def test_near_words_are_sorted_by_distance_and_far_words_left_out() -> None:
    assert nearest("house", ["mouse", "horse", "hoses", "elephant"]) == [(1, "horse"), (1, "mouse")]


def test_words_worth_remembering() -> None:
    assert words_of(["The Naïve gardener's 東京 abc x1y2 https " + "z" * 30]) == {"naive", "gardener", "https"}
    assert not is_correctable("abc") and not is_correctable("ab12")


@pytest.mark.parametrize(
    ("typed", "intended"),
    [
        *[("dentits", "dentist"), ("lettice", "lettuce"), ("tomatos", "tomatoes"), ("soop", "soup"), ("csot", "cost")],
        *[("accomodatoin", "accommodation"), ("recieveing", "receiving"), ("definately", "definitely")],
    ],
)
def test_a_typed_text_that_is_no_word_is_certainly_an_error(typed: str, intended: str) -> None:
    assert is_certain_correction(typed, intended, alone=True)


@pytest.mark.parametrize(
    ("typed", "known"),
    [
        *[("president", "proident"), ("president", "present"), ("learning", "meaning"), ("cats", "cars")],
        *[("cake", "case"), ("parking", "marking")],
    ],
)
def test_a_correction_is_not_certain_if_the_typed_text_may_be_another_word(typed: str, known: str) -> None:
    assert not is_certain_correction(typed, known, alone=True)


def test_the_correction_of_a_short_word_among_others_is_certain_only_for_swapped_letters() -> None:
    assert not is_certain_correction("coast", "cost", alone=False)
    assert is_certain_correction("csot", "cost", alone=False)
