"""Code in Markdown: fences that what is between them cannot end."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)


def fence_code(text: str, language: str = "") -> str:
    """The text between fences longer than any in it."""
    longest = max((len(match[1]) for match in _FENCE.finditer(text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def close_code(text: str) -> str:
    """Prose whose last block of code is closed, so that what follows it is not taken for code."""
    opened = ""
    for match in _FENCE.finditer(text):
        fence, rest = match[1], match[2].strip()
        if not opened:
            opened = fence
        elif fence[0] == opened[0] and len(fence) >= len(opened) and not rest:
            opened = ""
    return f"{text}\n{opened}" if opened else text
