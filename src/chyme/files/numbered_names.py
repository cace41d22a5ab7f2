"""Names for files whose own name is taken."""

from __future__ import annotations


def numbered_name(name: str, number: int, extension: str) -> str:
    """name.pdf, then name 2.pdf."""
    return name if number == 1 else f"{name.removesuffix(extension)} {number}{extension}"
