"""What of a text anybody would look for."""

from __future__ import annotations

import re

from chyme.text.passages import estimate_tokens
from chyme.text.unspaced_scripts import IDEOGRAPH

_NOTES = re.compile(r"(?:(?:\A|\n)\s*> note: [^\n]*)+\s*\Z")
_NOTED = 2000  # characters at the end of a text among which notes may stand
_WORD = re.compile(r"[^\W\d_]{3}")
_THIN = 4  # words: a heading, the name of a sheet


def without_notes(text: str) -> str:
    """The text without the lines at its end in which chyme says what it left out of it."""
    end = max(0, len(text) - _NOTED)
    found = _NOTES.search(text, text.find("\n", end) if end else 0)
    return text[: found.start()] if found else text


def has_word(text: str) -> bool:
    """Whether there is a word in it: what is but digits and single letters means about as much as anything."""
    return bool(_WORD.search(text) or IDEOGRAPH.search(text))


def is_thin(text: str) -> bool:
    """Whether it says next to nothing by itself."""
    return estimate_tokens(text) < _THIN
