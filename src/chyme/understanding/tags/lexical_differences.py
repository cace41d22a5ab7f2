"""Find differences in the words of two tags that keep them apart, however close a model finds their meanings.

To vectors, opposites, members of one series, and a subject and one of its parts are almost the same.
"""

from __future__ import annotations

import re
from functools import cache

from chyme.text.spelling_variants import comparison_key
from chyme.text.stemmer import fold
from chyme.text.word_lists import WordList

_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d+")
_NUMBER_WORDS = """
zero
one first i
two second ii
three third iii
four fourth iv
five fifth v
six sixth vi
seven seventh vii
eight eighth viii
nine ninth ix
ten tenth x
eleven eleventh xi
twelve twelfth xii
"""
_NUMBERS = {word: str(number) for number, line in enumerate(_NUMBER_WORDS.split("\n")[1:]) for word in line.split()}
_EXCLUSIVE_WORDS = WordList(__package__, "exclusive_words")
_SUBJECT_ENDINGS = ("ese", "ish", "ian", "ing", "ment", "an", "en", "er", "or", "ee", "y", "a", "e", "")
_FUNCTION_WORDS = frozenset(("a", "an", "and", "at", "by", "for", "from", "in", "of", "on", "s", "the", "to", "with"))
_NEGATING_PREFIXES = ("non", "anti", "un", "in", "dis", "de", "counter", "pre", "post", "pro")


def may_be_one(tag: str, other: str) -> bool:
    """Whether nothing in their words shows that they differ."""
    words, other_words = _words(tag), _words(other)
    if _numbers(words) != _numbers(other_words):
        return False
    only_first, only_second = _words_not_in(words, other_words), _words_not_in(other_words, words)
    if not only_first or not only_second:
        return not only_first and not only_second  # otherwise one has all words of the other and more, and is narrower
    return not any(_exclude_each_other(word, other_word) for word in only_first for other_word in only_second)


def _words(tag: str) -> list[str]:
    return [word for word in _WORD.findall(fold(tag)) if word not in _FUNCTION_WORDS]


def _numbers(words: list[str]) -> list[str]:
    """The numbers written as words, digits or Roman numerals."""
    found = [number for word in words for number in (_NUMBER.findall(word) or [_NUMBERS.get(word, "")])]
    return sorted(number for number in found if number)


def _words_not_in(words: list[str], others: list[str]) -> list[str]:
    """The words that are not among the others, in singular or plural."""
    known = {comparison_key(word) for word in others}
    return [word for word in words if comparison_key(word) not in known]


def _exclude_each_other(word: str, other: str) -> bool:
    rows = _rows()
    positions, other_positions = rows.get(word, {}), rows.get(other, {})
    if any(row in other_positions and other_positions[row] != place for row, place in positions.items()):
        return True
    return _is_negation(word, other) or _is_negation(other, word) or _share_root(word, other)


def _is_negation(word: str, other: str) -> bool:
    return any(word == prefix + other for prefix in _NEGATING_PREFIXES)


def _share_root(word: str, other: str) -> bool:
    """Whether both derive from one root: buyer and buying, Sweden and Swedish."""
    roots = {word[: len(word) - len(ending)] for ending in _SUBJECT_ENDINGS if word.endswith(ending)}
    other_roots = {other[: len(other) - len(ending)] for ending in _SUBJECT_ENDINGS if other.endswith(ending)}
    return any(len(root) > 2 for root in roots & other_roots)


@cache
def _rows() -> dict[str, dict[int, int]]:
    found: dict[str, dict[int, int]] = {}
    for row, line in enumerate(_EXCLUSIVE_WORDS.sections[""]):
        for place, words in enumerate(line.split()):
            for word in words.split("|"):
                found.setdefault(word, {})[row] = place
    return found
