"""Names that lie about themselves are spelt out."""

from __future__ import annotations

import pytest

from chyme.text.display import printable


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("a\u2066b\u061cc", "a\\u2066b\\u061cc"),
        ("two\nlines\x1b[31m", "two\\nlines\\x1b[31m"),
        ("torn\udcff", "torn�"),
        ("räksmörgås 日本 👩‍🚒 שלום", "räksmörgås 日本 👩‍🚒 שלום"),
    ],
)
def test_what_turns_the_line_around_is_spelt_out_and_all_else_stays(name: str, shown: str) -> None:
    assert printable(name) == shown
