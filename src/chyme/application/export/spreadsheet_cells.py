"""Escapes texts for spreadsheets, which must not evaluate them as formulas."""

from __future__ import annotations

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def escape_formula(text: str) -> str:
    """Put an apostrophe before a text that begins like a formula."""
    return f"'{text}" if text.startswith(FORMULA) or text.lstrip().startswith(FORMULA[:4]) else text
