"""A friendly file name: 2026-04-03-rental-contract-miller.pdf, in the language and script of the title."""

from __future__ import annotations

import re
import unicodedata

RULES_VERSION = 2
LENGTH = 80  # characters of the name before its extension
BYTES = 200  # of the whole name in UTF-8: file systems allow 255, and another number may have to be added
_LOOKED_AT = 1000  # characters of a title
_LEAST = 2  # letters or digits without which a name says nothing
_ROOM = 20  # characters of the last word that may be lost rather than cut the name short
_MARKS = 4  # that one letter may have

_RESERVED = re.compile(r"(?:con|prn|aux|nul|conin|conout|com[0-9]|lpt[0-9])", re.IGNORECASE)
_APOSTROPHES = "['’ʼ`´‘]"
_ELISION = re.compile(rf"\b(\w|qu){_APOSTROPHES}(?=\w)")  # l'été is two words, Bob's is one
_INSIDE = re.compile(rf"(?<=\w){_APOSTROPHES}(?=\w)")
_MARK = "·"  # holds the place of a point between two digits
_LEADING_WORDS = "of from on dated at the for vom von am den der du le de del el la do da di dal van op"
_LEADING = frozenset(_LEADING_WORDS.split())
_DECIMAL = re.compile(r"(?<=[0-9])[.,](?=[0-9])")
_EXTENSION = re.compile(r"(?:\.tar)?\.[^\W_]{1,10}", re.IGNORECASE)


def slug_of(title: str | None, date: str | None, extension: str) -> str | None:
    """A name for a file of this title and date (2026, 2026-04 or 2026-04-03), with its extension as it is.

    Lower-case words of the title, joined by hyphens, the date in front. None where the title holds no word.
    """
    words = _words(title or "")
    day = _day(date)
    if day and words[: len(day)] == day:
        words = words[len(day) :]
    elif len(day) == 1 and day[0] in words:
        day = []  # report 2026
    elif day and (at := _at(words, day)) is not None:
        words = _without_date(words, at)
    if sum(len(word) for word in words) < _LEAST or not any(map(_says_something, words)):
        return None
    ending = extension if _EXTENSION.fullmatch(extension) else ""
    stem = _cut([*(["-".join(day)] if day else []), *words], BYTES - len(ending.encode()))
    if _RESERVED.fullmatch(stem):
        stem = f"{stem}-file"
    return unicodedata.normalize("NFC", stem) + ending


def _words(title: str) -> list[str]:
    """The words and numbers of a title, in order."""
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", title[:_LOOKED_AT]).lower())
    text = _DECIMAL.sub(_MARK, _INSIDE.sub("", _ELISION.sub(r"\1 ", text)))
    kept = (letter if _belongs(letter) else " " for letter in text)
    return [word.replace(_MARK, ".") for word in "".join(kept).split() if word.strip(_MARK)]


def _belongs(letter: str) -> bool:
    """Letters, digits, and the marks that make letters of them in other scripts."""
    if letter == _MARK or letter.isalnum():
        return True
    return unicodedata.category(letter) in ("Mn", "Mc") or letter in "\u200c\u200d"


def _says_something(word: str) -> bool:
    return any(map(str.isalnum, word))


def _day(date: str | None) -> list[str]:
    return date.split("-") if date and re.fullmatch(r"[0-9]{4}(?:-[0-9]{2}){0,2}", date) else []


def _at(words: list[str], day: list[str]) -> slice | None:
    """Where a whole date already stands in the title, in figures."""
    if len(day) == 3:
        for spelled in (day, day[::-1], [".".join(day[::-1])], ["".join(day)]):
            for at in range(len(words) - len(spelled) + 1):
                if words[at : at + len(spelled)] == spelled:
                    return slice(at, at + len(spelled))
    return None


def _without_date(words: list[str], date: slice) -> list[str]:
    """The words around a date, without one that only led to it: minutes of 2026-04-03."""
    before, behind = words[: date.start], words[date.stop :]
    while before and before[-1] in _LEADING:
        before = before[:-1]
    return before + behind


def _cut(words: list[str], room: int) -> str:
    """As many words as there is room for; a word that is longer than the name may be is cut itself."""
    name = ""
    for word in words:
        longer = f"{name}-{word}" if name else word
        if len(longer) > LENGTH or len(longer.encode()) > room:
            if len(name) < LENGTH - _ROOM and len(name.encode()) < room - _ROOM * 4 and len(word) > _ROOM:
                return _shortened(longer, room)
            break
        name = longer
    return name


def _shortened(text: str, room: int) -> str:
    """The text cut between two letters, where it has to be."""
    kept = text[:LENGTH].encode()[:room].decode("utf-8", "ignore")
    for _ in range(_MARKS):
        if len(text) > len(kept) and not text[len(kept)].isalnum():
            kept = kept[:-1]  # what follows belongs to the letter before it
    return kept.rstrip("-.\u200c\u200d")
