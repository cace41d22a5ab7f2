"""Build readable file names (2026-04-03-rental-contract-miller.pdf) in the language and script of the title."""

from __future__ import annotations

import re
import unicodedata

RULES_VERSION = 2
LENGTH = 80  # characters of the name before its extension
BYTES = 200  # of the whole name in UTF-8: file systems allow 255, and another number may have to be added
_MAX_TITLE = 1000  # characters of a title
_MIN_LETTERS = 2  # letters or digits that a meaningful name needs
_SPARE = 20  # characters that may stay unused: a word longer than this is cut rather than left out
_MAX_MARKS = 4  # combining marks that one letter may have

_RESERVED = re.compile(r"(?:con|prn|aux|nul|conin|conout|com[0-9]|lpt[0-9])", re.IGNORECASE)
_APOSTROPHES = "['’ʼ`´‘]"
_ELISION = re.compile(rf"\b(\w|qu){_APOSTROPHES}(?=\w)")  # l'été is two words, Bob's is one
_INSIDE = re.compile(rf"(?<=\w){_APOSTROPHES}(?=\w)")
_POINT = "·"  # placeholder for a point between two digits
_LEADING_WORDS = "of from on dated at the for vom von am den der du le de del el la do da di dal van op"
_LEADING = frozenset(_LEADING_WORDS.split())
_DECIMAL = re.compile(r"(?<=[0-9])[.,](?=[0-9])")
_EXTENSION = re.compile(r"(?:\.tar)?\.[^\W_]{1,10}", re.IGNORECASE)


def slug_of(title: str | None, date: str | None, extension: str) -> str | None:
    """A name for a file of this title and date (2026, 2026-04 or 2026-04-03), with its extension unchanged.

    The lower-case words of the title are joined by hyphens, with the date in front. None if the title has no word.
    """
    words = _words(title or "")
    date_parts = _date_parts(date)
    if date_parts and words[: len(date_parts)] == date_parts:
        words = words[len(date_parts) :]
    elif len(date_parts) == 1 and date_parts[0] in words:
        date_parts = []  # report 2026
    elif date_parts and (span := _find_date(words, date_parts)) is not None:
        words = _without_date(words, span)
    if sum(len(word) for word in words) < _MIN_LETTERS or not any(map(_has_letters, words)):
        return None
    ending = extension if _EXTENSION.fullmatch(extension) else ""
    stem = _join_words([*(["-".join(date_parts)] if date_parts else []), *words], BYTES - len(ending.encode()))
    if _RESERVED.fullmatch(stem):
        stem = f"{stem}-file"
    return unicodedata.normalize("NFC", stem) + ending


def _words(title: str) -> list[str]:
    """The words and numbers of a title, in order."""
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", title[:_MAX_TITLE]).lower())
    text = _DECIMAL.sub(_POINT, _INSIDE.sub("", _ELISION.sub(r"\1 ", text)))
    characters = (letter if _is_name_character(letter) else " " for letter in text)
    return [word.replace(_POINT, ".") for word in "".join(characters).split() if word.strip(_POINT)]


def _is_name_character(letter: str) -> bool:
    """Whether it is a letter, a digit, or a mark that belongs to letters in other scripts."""
    if letter == _POINT or letter.isalnum():
        return True
    return unicodedata.category(letter) in ("Mn", "Mc") or letter in "\u200c\u200d"


def _has_letters(word: str) -> bool:
    return any(map(str.isalnum, word))


def _date_parts(date: str | None) -> list[str]:
    return date.split("-") if date and re.fullmatch(r"[0-9]{4}(?:-[0-9]{2}){0,2}", date) else []


def _find_date(words: list[str], date_parts: list[str]) -> slice | None:
    """Where the title already contains the whole date in figures."""
    if len(date_parts) == 3:
        for form in (date_parts, date_parts[::-1], [".".join(date_parts[::-1])], ["".join(date_parts)]):
            for start in range(len(words) - len(form) + 1):
                if words[start : start + len(form)] == form:
                    return slice(start, start + len(form))
    return None


def _without_date(words: list[str], date: slice) -> list[str]:
    """The words around a date, without the words that only lead to it, such as "of" in: minutes of 2026-04-03."""
    before, after = words[: date.start], words[date.stop :]
    while before and before[-1] in _LEADING:
        before = before[:-1]
    return before + after


def _join_words(words: list[str], max_bytes: int) -> str:
    """As many words as fit; a word that does not fit is cut if it is long."""
    name = ""
    for word in words:
        longer = f"{name}-{word}" if name else word
        if len(longer) > LENGTH or len(longer.encode()) > max_bytes:
            if len(name) < LENGTH - _SPARE and len(name.encode()) < max_bytes - _SPARE * 4 and len(word) > _SPARE:
                return _shorten(longer, max_bytes)
            break
        name = longer
    return name


def _shorten(text: str, max_bytes: int) -> str:
    """The text cut to the allowed length, without splitting a letter from its marks."""
    cut = text[:LENGTH].encode()[:max_bytes].decode("utf-8", "ignore")
    for _ in range(_MAX_MARKS):
        if len(text) > len(cut) and not text[len(cut)].isalnum():
            cut = cut[:-1]  # the next character belongs to this letter
    return cut.rstrip("-.\u200c\u200d")
