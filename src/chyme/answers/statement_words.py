"""What a sentence states, as keys that can be compared: its words by their stems, its numbers, its names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from chyme.text.common_words import stop_words
from chyme.text.function_words import empty_words, language_of
from chyme.text.stemmer import fold, stem
from chyme.text.unspaced_scripts import RUNS, split_pairs
from chyme.text.word_lists import WordList

_ADDRESS = re.compile(r"(?:\w+://|www\.)\S+|\S+@\S+\.\w+")
_NUMBER = re.compile(r"\d+(?:[.,'’\u00a0\u202f]\d+)*")
_GROUPED = re.compile(r"\d{1,3}([.,'’\u00a0\u202f])\d{3}(?:\1\d{3})*(?:[.,]\d+)?")
_WORD = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*")
_PART = re.compile(r"[^'’\-]+")
_NEGATIONS = WordList(__package__, "negations")
_NUMBER_NAMES = WordList(__package__, "number_names")


@dataclass(frozen=True, slots=True)
class Statement:
    """The keys of one sentence."""

    words: frozenset[str]  # stems of words that mean something, and pairs of letters of Chinese and Japanese
    numbers: frozenset[str]
    names: frozenset[str]  # stems of words with a capital that does not begin the sentence
    addresses: frozenset[str]
    negated: bool


def statement_of(text: str) -> Statement:
    """What a sentence states."""
    addresses = frozenset(match[0].rstrip(".,;:!?)").lower() for match in _ADDRESS.finditer(text))
    plain = _ADDRESS.sub(" ", text)
    language = language_of(plain)
    words: set[str] = set()
    names: set[str] = set()
    numbers = {number for match in _NUMBER.finditer(plain) for number in _number_keys(match[0])}
    spaced = plain if plain.isascii() else RUNS.sub(" ", plain)
    empty = _empty_words()
    first = True
    negated = False
    for match in _WORD.finditer(spaced):
        lower = match[0].lower().replace("’", "'")
        negated = negated or lower in _NEGATIONS.words()
        number = _number_names().get(fold(lower))
        is_name = match[0][:1].isupper() and not first and language != "de"
        first = False
        if number is not None and len(lower) > 2:
            words.add(f"#{number}")
            continue
        if lower in empty:
            continue
        for part in _PART.findall(lower):
            if len(part) > 1 and part not in empty:
                words.add(stem(fold(part)))
                if is_name:
                    names.add(stem(fold(part)))
    for run in RUNS.findall(plain) if spaced is not plain else ():
        words.update(split_pairs(run)[:-1] or [run])
    return Statement(frozenset(words), frozenset(numbers), frozenset(names), addresses, negated)


def all_keys(statement: Statement) -> frozenset[str]:
    """Every key, of which some share must stand in a passage."""
    return statement.words | {f"#{number}" for number in statement.numbers}


@cache
def _empty_words() -> frozenset[str]:
    return stop_words().union(*(empty_words(code) for code in ("en", "de", "fr", "es", "it", "nl", "pt"))) - frozenset(
        name for section in _NUMBER_NAMES.sections for name in _NUMBER_NAMES.words(section)
    )


@cache
def _number_names() -> dict[str, int]:
    return {
        fold(name): value
        for lines in _NUMBER_NAMES.sections.values()
        for value, name in enumerate(" ".join(lines).split(), 1)
        if name != "-"
    }


def _number_keys(written: str) -> list[str]:
    """A number without its grouping: 1,234.50 and 1.234,5 are one; a date with dots is three numbers."""
    if _GROUPED.fullmatch(written):
        mark = re.sub(r"\d", "", written)[0]
        return [_normalise(written.replace(mark, "").replace(",", "."))]
    parts = re.split(r"[.,'’\u00a0\u202f]", written)
    if len(parts) == 2 and re.fullmatch(r"\d+[.,]\d+", written):
        return [_normalise(".".join(parts))]
    return [_normalise(part) for part in parts]


def _normalise(number: str) -> str:
    whole, point, fraction = number.partition(".")
    fraction = fraction.rstrip("0")
    return (whole.lstrip("0") or "0") + (f"{point}{fraction}" if fraction else "")
