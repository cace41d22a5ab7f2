"""Decides whether a person named a file, or a camera, a scanner, a messenger, a hash or a clock."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

from chyme.text.word_lists import WordList

MAX_LENGTH = 300  # characters that are examined; no file system allows more
_CODE_LETTERS, _MIN_HEX, _MIN_RANDOM = 5, 8, 8
_UNSPACED_FROM = 0x2E7F  # letters above this are of scripts where one letter may be a word
_CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_STANDARDS = frozenset({"ISO", "DIN", "RFC", "IEC", "IEEE", "ASTM", "CVE", "COVID"})
_WORDS = WordList(__package__, "machine_names")

_EXTENSION = re.compile(r"(?<=.)(?:\.tar)?\.(?=[0-9]*[a-z])[a-z0-9]{1,8}$", re.IGNORECASE | re.DOTALL)
_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)
_ANDROID = re.compile(r"screenshot_[0-9]{4}-?[0-9]{2}-?[0-9]{2}[-_][0-9]{2}", re.IGNORECASE)  # an app's name follows
_EPISODE = re.compile(r"(?<![^\W_])s[0-9]{1,2}e[0-9]{1,3}(?![^\W_])", re.IGNORECASE)
_CODE = re.compile(r"[A-Z]{1,5}[-_]?(?!(?:19|20)[0-9]{2}$)[0-9]{3,}")
_FORM = re.compile(r"(?![0-9])[^\W_][-_ ]?[0-9]{1,3}[A-Za-z]?")  # W-2, A380, B12, Q3: people know these
_DAY = re.compile(r"[0-9]{4}-(?:[0-9]{2}(?:-[0-9]{2})?|W[0-9]{2}|Q[1-4])")  # of a diary
_YEAR = re.compile(r"[1-9][0-9]{3}")  # also 1984 and form 1040
_ELISION = re.compile(r"\b[dl]['’ʼ´`](?=\w)", re.IGNORECASE)
_TOKEN = re.compile(r"[^\W_]+(?:[\u0300-\u036f][^\W_]*)*")
_PIECE = re.compile(r"[0-9]+|[^\W\d_]+")
_CAMEL = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[A-Z]")
_PRONOUNCEABLE = re.compile(r"[A-Z]?[a-z]{3,}")
_HEXADECIMAL = re.compile(r"[0-9a-f]+", re.IGNORECASE)
_IDENTIFIER = re.compile(r"[0-9A-Za-z_-]+={0,2}")
_VOWEL = re.compile(r"[aeiouyäöüàáâãåæèéêëìíîïòóôõøùúûýœ]", re.IGNORECASE)


def is_machine_made(name: str) -> bool:
    """Whether a file name, with or without its extension, carries no meaning from a person.

    When in doubt, a person named it: every word that is not a device's word makes the name human.
    """
    whole = unicodedata.normalize("NFC", name[:MAX_LENGTH])
    stem = without_extension(whole).strip()
    if _is_usual_name(stem, whole[len(without_extension(whole)) :].lstrip(".").casefold()):
        return False
    if _EPISODE.search(stem) or stem[: len(stem) - len(stem.lstrip(_CAPITALS))] in _STANDARDS:
        return False
    if _ANDROID.match(stem) or _CODE.fullmatch(stem) or _is_random(stem):
        return True
    rest = _ELISION.sub(" ", _UUID.sub(" 0 ", stem))
    numbers, generic, numbered, connecting = False, False, False, False
    for piece in _split_words(rest):
        word = piece.casefold()
        if word.isdecimal():
            numbers = True
        elif len(word) == 1 and ord(word) <= _UNSPACED_FROM:
            continue  # one letter is no word, except in scripts where it is
        elif word in _WORDS.words("generic") or word in _WORDS.words("spaced"):
            generic = True
        elif word in _WORDS.words("numbered"):
            numbered = True
        elif word in _WORDS.words("connecting"):
            connecting = True
        else:
            return False
    if generic:
        return True
    if numbered:
        return numbers
    return not connecting


def _is_usual_name(stem: str, extension: str) -> bool:
    """Whether people name a file of this type like this, though it is a number or a letter."""
    if extension in _WORDS.words("referenced extensions") or _FORM.fullmatch(stem):
        return True
    is_text = extension in _WORDS.words("text extensions")
    if is_text and _DAY.fullmatch(stem):
        return True
    return (is_text or extension in _WORDS.words("office extensions")) and _YEAR.fullmatch(stem) is not None


def without_extension(name: str) -> str:
    """The name without what looks like an extension: notes.tar.gz → notes, 12.04.2026 → 12.04.2026."""
    return _EXTENSION.sub("", name)


def _split_words(text: str) -> Iterator[str]:
    """Words and numbers; codes count as numbers."""
    for token in _TOKEN.findall(text):
        if _is_random(token) or _is_id(token):
            yield "0"
            continue
        for piece in _PIECE.findall(token):
            if piece.isascii() and piece.isalpha() and not piece.islower() and not piece.isupper():
                whole = piece.casefold()
                known = any(whole in _WORDS.words(section) for section in ("generic", "connecting", "numbered"))
                yield from (piece,) if known else _CAMEL.findall(piece)
            elif ord(piece[0]) > _UNSPACED_FROM:
                yield from _split_unspaced(piece)
            else:
                yield piece


def _split_unspaced(run: str) -> Iterator[str]:
    """A run of letters of a script without spaces: what is left of it besides the words of devices."""
    if run in _WORDS.words("spaced"):
        yield run
        return
    rest = _unspaced_words().sub("", run)
    for known in _unspaced_words().findall(run):
        if len(known) > 1:
            yield "file"
    if rest:
        yield rest if len(rest) > 1 or rest == run else "0"


@cache
def _unspaced_words() -> re.Pattern[str]:
    return re.compile("|".join(sorted(map(re.escape, _WORDS.words("unspaced")), key=len, reverse=True)))


def _is_id(token: str) -> bool:
    """Letters and digits of one word that are a code: WA0001, 4f3a9c21, R0010123, 1920x1080."""
    digits = sum(map(str.isdecimal, token))
    if not digits or digits == len(token) or not token.isascii():
        return False
    if len(token) >= _MIN_HEX and _HEXADECIMAL.fullmatch(token):
        return True
    letters = [piece for piece in _PIECE.findall(token) if not piece.isdecimal()]
    if len(letters) == 1 and letters[0].casefold() in _WORDS.words("generic") | _WORDS.words("numbered"):
        return False
    longest = max(map(len, letters))
    changes = len(_PIECE.findall(token)) - 1
    if changes >= 3 and len(token) >= _MIN_RANDOM:
        return longest < _CODE_LETTERS
    return token.upper() == token and longest < _CODE_LETTERS and digits >= 3


def _is_random(text: str) -> bool:
    """Whether a generator made this identifier: long, of all kinds of letters, and unpronounceable."""
    if not _IDENTIFIER.fullmatch(text):
        return False
    plain = text.rstrip("=")
    if len(plain) >= 2 * _MIN_HEX and _HEXADECIMAL.fullmatch(plain):
        return True
    if len(plain) < _MIN_RANDOM:
        return False
    words = _CAMEL.findall(plain)
    letters = sum(map(len, words))
    if not letters:
        return False
    if letters == len(plain) and plain in (plain.lower(), plain.upper()):
        return letters >= _MIN_RANDOM and not _VOWEL.search(plain)
    if any(_PRONOUNCEABLE.fullmatch(part) and _VOWEL.search(part) for part in re.split("[-_]", plain)):
        return False
    digits = sum(map(str.isdecimal, plain))
    long_words = sum(len(word) for word in words if len(word) >= _CODE_LETTERS and _VOWEL.search(word))
    mixed = bool(digits) + any(map(str.isupper, plain)) + any(map(str.islower, plain))
    if long_words * 4 > len(plain) or mixed < 2:
        return False
    if mixed == 3 or not digits:
        return letters / len(words) < 2.6 and len(words) >= 4
    changes = len(re.findall(r"(?<=[0-9])(?=[A-Za-z])|(?<=[A-Za-z])(?=[0-9])", plain))
    separators = plain.count("-") + plain.count("_")
    return not separators and changes >= 3 and len(plain) >= 10
