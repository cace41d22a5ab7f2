"""Write superscripts, subscripts and letters of symbol fonts with Unicode: m², CO₂, x^(n+1), α, ✓."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from chyme.text.word_lists import WordList

_RAISED = str.maketrans("0123456789+-−=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ")
_LOWERED = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_HAS_RAISED = re.compile(r"[0-9+\-−=()]+|[ni]")
_HAS_LOWERED = re.compile(r"[0-9+\-−=()]+")
_ENDS_IN_LETTER = re.compile(r"[^\W_]$")
_SINGLE = re.compile(r"\w")
_SENTENCE = 40  # letters; more is a paragraph in small print, not an exponent

_FONTS = WordList(__package__, "symbol_fonts")


def raise_letters(text: str, before: str = "") -> str:
    """A superscript: `²` where Unicode has all its letters, `^n` elsewhere. `before` is the text it follows.

    The letters of an ordinal (1st) and marks after a word without letters of their own (™) stay as they are.
    """
    bare = text.strip()
    if not bare or len(bare) > _SENTENCE:
        return text
    if _HAS_RAISED.fullmatch(bare):
        return text.replace(bare, bare.translate(_RAISED))
    if bare.isalpha() and (before[-1:].isdigit() or not before or not _ENDS_IN_LETTER.search(before)):
        return text
    if not any(letter.isalnum() for letter in bare) or bare.upper() in ("TM", "SM"):
        return text
    return text.replace(bare, f"^{bare}" if _SINGLE.fullmatch(bare) else f"^({bare})")


def lower_letters(text: str) -> str:
    """A subscript: `₂` where Unicode has all its letters, `_n` elsewhere."""
    bare = text.strip()
    if not bare or len(bare) > _SENTENCE:
        return text
    if _HAS_LOWERED.fullmatch(bare):
        return text.replace(bare, bare.translate(_LOWERED))
    if not any(letter.isalnum() for letter in bare):
        return text
    return text.replace(bare, f"_{bare}" if bare.isalnum() else f"_({bare})")


def symbol(font: str, code: int) -> str:
    """The letter at this position of a symbol font; empty if it is not known."""
    position = code & 0xFF if 0xF000 <= code <= 0xF0FF else code
    name = next((known for known in _FONTS.sections if font.lower().startswith(known)), None)
    if name is not None:
        return _positions(name).get(position, "")
    return chr(code) if 0x20 <= code < 0xE000 and chr(code).isprintable() else ""


@cache
def _positions(font: str) -> Mapping[int, str]:
    return {int(line[:2], 16): line[3:] for line in _FONTS.sections[font]}
