"""Beginning, middle and end of a text that is too long."""

from __future__ import annotations

from chyme.text.excerpts import take_excerpts

LINES = [f"line {number:03}" for number in range(100)]


def test_a_text_that_fits_is_returned_whole() -> None:
    assert take_excerpts(LINES[:3], 27, "…").text == "line 000\nline 001\nline 002"
    assert take_excerpts(LINES[:3], 27, "…").share == 1.0
    assert take_excerpts([], 10, "…").text == ""


def test_beginning_middle_and_end_of_a_longer_text_are_returned() -> None:
    found = take_excerpts(LINES, 90, "…")
    assert found.text.splitlines() == [
        *("line 000", "line 001", "line 002", "line 003", "…"),
        *("line 048", "line 049", "line 050", "…"),
        *("line 097", "line 098", "line 099"),
    ]
    assert found.share == 0.1


def test_a_line_longer_than_the_limit_is_returned_anyway() -> None:
    assert take_excerpts(["a" * 50], 10, "…").text == "a" * 50
