"""Decides which parts of a text are worth searching."""

from __future__ import annotations

import re

from chyme.text.passages import estimate_tokens
from chyme.text.unspaced_scripts import IDEOGRAPH

_NOTES = re.compile(r"(?:(?:\A|\n)\s*> note: [^\n]*)+\s*\Z")
_NOTES_TAIL = 2000  # characters at the end of a text in which notes may be
_WORD = re.compile(r"[^\W\d_]{3}")
_MIN_TOKENS = 4  # words: a heading, the name of a sheet


def without_notes(text: str) -> str:
    """The text without the lines at its end in which chyme says what it left out."""
    end = max(0, len(text) - _NOTES_TAIL)
    match = _NOTES.search(text, text.find("\n", end) if end else 0)
    return text[: match.start()] if match else text


def has_word(text: str) -> bool:
    """Whether it contains a word: a text of digits and single letters means nothing in particular."""
    return bool(_WORD.search(text) or IDEOGRAPH.search(text))


def is_thin(text: str) -> bool:
    """Whether it says almost nothing by itself."""
    return estimate_tokens(text) < _MIN_TOKENS
