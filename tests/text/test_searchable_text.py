"""Which parts of a text are worth searching for."""

from __future__ import annotations

import pytest

from chyme.text.passages import has_word, is_thin, without_notes


@pytest.mark.parametrize("text", ["T", "12 345,67", "a b 7", "Q1 2020", "| - | 4 |", ""])
def test_letters_and_digits_alone_are_no_words(text: str) -> None:
    assert not has_word(text)


@pytest.mark.parametrize("text", ["the", "4 cars", "京", "Öle", "дом"])
def test_one_word_is_enough(text: str) -> None:
    assert has_word(text)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("Words.\n\n> note: page 1 was read from its picture\n\n> note: no words were found", "Words."),
        ("> note: no words were found on page 1", ""),
        ("Words.\n\n> note: mine\n\nMore words.", "Words.\n\n> note: mine\n\nMore words."),
        ("Words > note: mine", "Words > note: mine"),
        ("x" * 5000 + "\n\n> note: first pages read\n", "x" * 5000),
        ("", ""),
    ],
)
def test_notes_about_omissions_are_no_content(text: str, content: str) -> None:
    assert without_notes(text) == content


def test_a_text_with_almost_no_words_is_thin() -> None:
    assert is_thin("Sheet1")
    assert is_thin("# Some notes")
    assert not is_thin("Freshwater ducks of 2019")
    assert not is_thin("東京タワー")
