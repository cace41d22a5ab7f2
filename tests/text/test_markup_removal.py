"""An embedder reads the words of a Markdown text, not its marks."""

from __future__ import annotations

import pytest

from chyme.text.markup_removal import remove_markup


@pytest.mark.parametrize(
    ("markdown", "words"),
    [
        ("| Country | Capital |\n| :--- | ---: |\n| Austria | Vienna |", "Country Capital\n\nAustria Vienna"),
        ("| a \\| b | c |", "a | b c"),
        ("## Rent and deposit\n\nDue **today**, says __the__ lease.", "Rent and deposit\n\nDue today, says the lease."),
        ("see [the lease](https://example.org/a?b=c) and ![a flat](flat.png)", "see the lease and a flat"),
        ("1 Introduction ........ 7\n2 Rent . . . . . . 9", "1 Introduction 7\n2 Rent 9"),
        ("f(*args, **kwargs) or my__name", "f(*args, kwargs) or my__name"),
        ("a | b, or x || y; well... yes - no", "a | b, or x || y; well... yes - no"),
        ("- one\n- two\n\n3 * 4 = 12", "- one\n- two\n\n3 * 4 = 12"),
        ("|---|---|", "|---|---|"),
        ("", ""),
    ],
)
def test_marks_go_and_words_stay(markdown: str, words: str) -> None:
    assert remove_markup(markdown) == words


@pytest.mark.parametrize(
    "text", ["|" * 50_000, "[" * 50_000, "-" * 50_000 + "x", ". " * 50_000, "[a](" * 20_000, "|-" * 50_000 + "x"]
)
def test_the_time_grows_with_the_length_alone(text: str) -> None:
    assert isinstance(remove_markup(text), str)
