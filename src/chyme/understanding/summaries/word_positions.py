"""Find where words stand in a text, whatever white space is between them."""

from __future__ import annotations

import re
from collections.abc import Sequence

_MAX_TRIES = 50  # places with the first word of a sentence that are looked at one by one


def find_words(words: Sequence[str], text: str) -> tuple[int, int]:
    """Where these words first stand in the text, with any white space between them; (0, 0) if they do not.

    To compile an expression for a sentence takes longer than everything else about it, so that is only done for a text
    that repeats the first word many times.
    """
    first, *others = words
    start = text.find(first)
    for _ in range(_MAX_TRIES):
        if start < 0:
            return 0, 0
        end = _end_of_words(others, text, start + len(first))
        if end is not None:
            return start, end
        start = text.find(first, start + 1)
    match = re.compile(r"\s++".join(map(re.escape, words))).search(text, start) if start >= 0 else None
    return match.span() if match else (0, 0)


def _end_of_words(words: Sequence[str], text: str, end: int) -> int | None:
    """Where these words end if they follow one another from here, each after white space; None if they do not."""
    for word in words:
        at = end
        while text[at : at + 1].isspace():
            at += 1
        if at == end or not text.startswith(word, at):
            return None
        end = at + len(word)
    return end
