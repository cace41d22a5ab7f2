"""Counts with their nouns."""

from __future__ import annotations


def format_count(count: int, what: str) -> str:
    """Format a count with its noun: 1 file, 2,000 files."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
