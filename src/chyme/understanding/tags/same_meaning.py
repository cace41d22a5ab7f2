"""Decide whether two tags mean the same, by their vectors and by differences in their words.

To vectors, opposites, members of one series, and a subject and one of its parts are almost the same: words keep them
apart, however close a model finds their meanings.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

from chyme.core.vectors import Vector, unpack_vector
from chyme.text.spelling_variants import comparison_key
from chyme.text.stemmer import fold
from chyme.text.word_lists import WordList

# Measured with all-MiniLM-L6-v2 on 161 pairs of equal tags and 273 pairs of different ones: .90 joins 94 and none,
# .86 joins 114 and none, but among all other tags it joins more that are merely close.
SAME_MEANING = 0.90  # cosine from which on one tag replaces the other
CLOSE = 0.80  # cosine from which on a person is asked whether two tags are one
RESCORE_COUNT = 32  # nearest tags by sign bits whose vectors are compared
_MAX_DIFFERENT = 0.3  # share of signs that may differ: close tags differ in a fifth of them, and chance adds little
_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d+")
_NUMBER_WORDS = WordList(__package__, "number_words")
_EXCLUSIVE_WORDS = WordList(__package__, "exclusive_words")
_SUBJECT_ENDINGS = ("ese", "ish", "ian", "ing", "ment", "an", "en", "er", "or", "ee", "y", "a", "e", "")
_FUNCTION_WORDS = frozenset(("a", "an", "and", "at", "by", "for", "from", "in", "of", "on", "s", "the", "to", "with"))
_NEGATING_PREFIXES = ("non", "anti", "un", "in", "dis", "de", "counter", "pre", "post", "pro")
_ROUNDING = 0.001  # far more than products of vectors of length 1 can differ between float32 and float64
PackedTag = tuple[int, str, bytes]  # tag id, name, vector of length 1 as stored
TagBits = tuple[int, bytes]  # tag id, signs of its vector; a plain tuple, because thousands are read at once


class KnownTag(NamedTuple):
    """A tag with its vector."""

    id: int
    name: str
    vector: Vector


class Pair(NamedTuple):
    """Two tags that may be one."""

    one: str
    other: str
    likeness: float


def sign_bits(vector: Sequence[float]) -> bytes:
    """One bit for the sign of each value; near vectors differ in few bits."""
    import numpy

    return numpy.packbits(numpy.asarray(vector, numpy.float32) > 0).tobytes()


class TagCodes:
    """The sign bits of many tags; fast enough for tens of thousands, many times a second."""

    def __init__(self, known: Iterable[TagBits]) -> None:
        self._new = list(known)
        self._count = 0  # of tags in the arrays, which have room for more
        self._ids: Any = None
        self._words: Any = None  # a column for each tag: its bits, in words of 64

    def add(self, tag_id: int, code: bytes) -> None:
        self._new.append((tag_id, code))

    def near(self, code: bytes) -> list[int]:
        """The ids of the tags whose signs differ least, without those that differ too much to mean the same."""
        import numpy

        self._join_new(len(code))
        words = self._words[:, : self._count] ^ _to_words([code])
        different = numpy.bitwise_count(words).sum(axis=0, dtype=numpy.uint16)
        possible = numpy.flatnonzero(different <= _MAX_DIFFERENT * 8 * len(code))
        best = possible[numpy.argsort(different[possible], kind="stable")[:RESCORE_COUNT]]
        return [int(tag_id) for tag_id in self._ids[best]]

    def _join_new(self, size: int) -> None:
        """Add what is new to the arrays; codes of another size are of another model."""
        fitting = [(tag_id, code) for tag_id, code in self._new if len(code) == size]
        self._new = []
        count = self._count + len(fitting)
        if self._ids is None or count > len(self._ids):
            self._grow(size, 2 * count)
        self._ids[self._count : count] = [tag_id for tag_id, _ in fitting]
        self._words[:, self._count : count] = _to_words([code for _, code in fitting]) if fitting else 0
        self._count = count

    def _grow(self, size: int, room: int) -> None:
        import numpy

        ids, words = numpy.zeros(room, numpy.int64), numpy.zeros((-(-size // 8), room), numpy.uint64)
        if self._ids is not None:
            ids[: self._count], words[:, : self._count] = self._ids[: self._count], self._words[:, : self._count]
        self._ids, self._words = ids, words


def _to_words(codes: Sequence[bytes]) -> Any:
    """Codes of one size as columns of words of 64 bits."""
    import numpy

    padded = b"".join(code + bytes(-len(code) % 8) for code in codes)
    return numpy.frombuffer(padded, numpy.uint64).reshape(len(codes), -1).T


def select_alike(vector: Vector, known: Iterable[PackedTag]) -> list[KnownTag]:
    """Those tags that `find_same_meaning` has to compare, because they may be as close as it demands.

    Most tags with similar signs are not, and unpacking a vector costs more than multiplying it.
    """
    import numpy

    fitting = [tag for tag in known if len(tag[2]) == 4 * len(vector)]
    if not fitting:
        return []
    vectors = numpy.frombuffer(b"".join(tag[2] for tag in fitting), "<f4").reshape(len(fitting), -1)
    likely = numpy.flatnonzero(vectors @ numpy.asarray(vector, numpy.float32) >= SAME_MEANING - _ROUNDING)
    return [KnownTag(id_, name, unpack_vector(packed)) for id_, name, packed in (fitting[at] for at in likely)]


def find_same_meaning(tag: str, vector: Vector, known: Iterable[KnownTag]) -> KnownTag | None:
    """The closest tag with the same meaning; None if there is none."""
    alike = [
        (likeness, -candidate.id, candidate)
        for candidate in known
        if (likeness := likeness_of(vector, candidate.vector)) >= SAME_MEANING and may_be_one(tag, candidate.name)
    ]
    return max(alike)[2] if alike else None


def likeness_of(one: Vector, other: Vector) -> float:
    """The cosine of two vectors of length 1."""
    return 1 - math.dist(one, other) ** 2 / 2 if len(one) == len(other) else -1.0


def close_pairs(known: Sequence[KnownTag]) -> list[Pair]:
    """All pairs that may be one tag, the closest first. Sign bits exclude distant pairs; they seldom err by so much."""
    coded = [(tag, int.from_bytes(sign_bits(tag.vector), "big")) for tag in known]
    found = []
    for (tag, bits), (other, other_bits) in combinations(coded, 2):
        if (bits ^ other_bits).bit_count() > _MAX_DIFFERENT * len(tag.vector):
            continue
        likeness = likeness_of(tag.vector, other.vector)
        if likeness >= CLOSE and may_be_one(tag.name, other.name):
            found.append(Pair(tag.name, other.name, likeness))
    return sorted(found, key=lambda pair: (-pair.likeness, pair.one, pair.other))


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
    found = [number for word in words for number in (_NUMBER.findall(word) or [_number_words().get(word, "")])]
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
def _number_words() -> dict[str, str]:
    lines = _NUMBER_WORDS.sections[""]
    return {word: str(number) for number, line in enumerate(lines) for word in line.split()}


@cache
def _rows() -> dict[str, dict[int, int]]:
    found: dict[str, dict[int, int]] = {}
    for row, line in enumerate(_EXCLUSIVE_WORDS.sections[""]):
        for place, words in enumerate(line.split()):
            for word in words.split("|"):
                found.setdefault(word, {})[row] = place
    return found
