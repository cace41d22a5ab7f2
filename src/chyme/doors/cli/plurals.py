"""How many there are, in words."""

from __future__ import annotations


def format_count(count: int, what: str) -> str:
    """1 file, 2,000 files."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
