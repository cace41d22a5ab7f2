"""Deceptive control characters in names are spelt out."""

from __future__ import annotations

import pytest

from chyme.text.display import printable


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("a\u2066b\u061cc", "a\\u2066b\\u061cc"),
        ("two\nlines\x1b[31m", "two\\nlines\\x1b[31m"),
        ("torn\udcff", "torn�"),
        ("räksmörgås 日本 👩‍🚒 שלום", "räksmörgås 日本 👩‍🚒 שלום"),
    ],
)
def test_characters_that_reverse_the_line_are_spelt_out_and_others_stay(name: str, printed: str) -> None:
    assert printable(name) == printed
