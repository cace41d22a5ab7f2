"""Texts as cells of a spreadsheet, which must show them and never calculate them."""

from __future__ import annotations

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def escape_formula(text: str) -> str:
    """A cell that no spreadsheet takes for a formula: whatever begins like one gets an apostrophe in front."""
    return f"'{text}" if text.startswith(FORMULA) or text.lstrip().startswith(FORMULA[:4]) else text
