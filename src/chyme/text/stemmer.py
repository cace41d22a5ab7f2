"""Folds and stems words as the index does, so that highlights in a snippet agree with what was matched.

The rules are M. F. Porter's of 1980, in the variant of SQLite's `porter` tokenizer.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_MIN_BYTES, _MAX_BYTES = 3, 64  # SQLite leaves shorter and longer words unchanged

_STEP_2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("logi", "log"),
    ("bli", "ble"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"),
    ("ation", "ate"), ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"),
    ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"),
)  # fmt: skip
_STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
_STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate",
    "iti", "ous", "ive", "ize",
)  # fmt: skip


def fold(text: str) -> str:
    """Lower case, without diacritics, compatibility forms unified."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text.lower())
    bare = "".join(letter for letter in parts if not unicodedata.combining(letter))
    return unicodedata.normalize("NFC", bare)


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The stem of a folded word."""
    if not _MIN_BYTES <= len(word.encode("utf-8", "surrogatepass")) <= _MAX_BYTES:
        return word
    word = _strip_plural(word)
    word = _strip_ed_and_ing(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replace_ending(word, _STEP_2)
    word = _replace_ending(word, _STEP_3)
    word = _drop_step_4(word)
    return _drop_final_e(word)


def _shape(word: str) -> str:
    """The word as v for vowels and c for consonants; y is a vowel after a consonant."""
    shape: list[str] = []
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and bool(shape) and shape[-1] == "c")
        shape.append("v" if vowel else "c")
    return "".join(shape)


def _ends_with(word: str, ending: str) -> bool:
    """Whether the word is longer than the ending and ends with it."""
    return len(word) > len(ending) and word.endswith(ending)


def _measure(word: str) -> int:
    return len(re.findall("v+c+", _shape(word)))


def _has_vowel(word: str) -> bool:
    return "v" in _shape(word)


def _ends_short(word: str) -> bool:
    return _shape(word)[-3:] == "cvc" and word[-1] not in "wxy"


def _strip_plural(word: str) -> str:
    if _ends_with(word, "sses") or _ends_with(word, "ies"):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _strip_ed_and_ing(word: str) -> str:
    if _ends_with(word, "eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        if _ends_with(word, ending):
            rest = word[: -len(ending)]
            return _restore_ending(rest) if _has_vowel(rest) else word
    return word


def _restore_ending(word: str) -> str:
    """Restore the e that -ed or -ing removed, or undo a doubled consonant."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if len(word) > 1 and word[-1] == word[-2] and word[-1] not in "aeioulsz":
        return word[:-1]
    if _measure(word) == 1 and _ends_short(word):
        return word + "e"
    return word


def _replace_ending(word: str, endings: tuple[tuple[str, str], ...]) -> str:
    for ending, replacement in endings:
        if _ends_with(word, ending):
            rest = word[: -len(ending)]
            return rest + replacement if _measure(rest) > 0 else word
    return word


def _drop_step_4(word: str) -> str:
    for ending in _STEP_4:
        if _ends_with(word, ending):
            rest = word[: -len(ending)]
            if ending == "ion" and not rest.endswith(("s", "t")):
                return word
            return rest if _measure(rest) > 1 else word
    return word


def _drop_final_e(word: str) -> str:
    if word.endswith("e"):
        rest = word[:-1]
        if _measure(rest) > 1 or (_measure(rest) == 1 and not _ends_short(rest)):
            word = rest
    if word.endswith("ll") and _measure(word) > 1:
        return word[:-1]
    return word
