"""Find the tag of the vault that means the same as a proposed one, so that it is reused."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

from chyme.core.vectors import Vector
from chyme.understanding.tags.lexical_differences import may_be_one

# Measured with all-MiniLM-L6-v2 on 161 pairs of equal tags and 273 pairs of different ones: .90 joins 94 and none,
# .86 joins 114 and none, but among all other tags it joins more that are merely close.
SAME_MEANING = 0.90  # cosine from which on one tag replaces the other
CLOSE = 0.80  # cosine from which on a person is asked whether two tags are one
RESCORE_COUNT = 32  # nearest tags by sign bits whose vectors are compared
_MAX_DIFFERENT = 0.3  # share of signs that may differ: close tags differ in a fifth of them, and chance adds little


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
    bits = 0
    for value in vector:
        bits = bits << 1 | (value > 0)
    return bits.to_bytes((len(vector) + 7) // 8, "big")


def nearest(code: bytes, known: Iterable[TagBits], limit: int = RESCORE_COUNT) -> list[int]:
    """The ids of the tags whose signs differ least. Fast enough for thousands of tags, many times a second."""
    bits, read, size = int.from_bytes(code, "big"), int.from_bytes, len(code)
    found = [((bits ^ read(other, "big")).bit_count(), id_) for id_, other in known if len(other) == size]
    return [id_ for _, id_ in heapq.nsmallest(limit, found)]


def find_same_meaning(
    tag: str, vector: Vector, known: Iterable[KnownTag], enough: float = SAME_MEANING
) -> KnownTag | None:
    """The closest tag with the same meaning; None if there is none."""
    alike = [
        (likeness, -candidate.id, candidate)
        for candidate in known
        if (likeness := likeness_of(vector, candidate.vector)) >= enough and may_be_one(tag, candidate.name)
    ]
    return max(alike)[2] if alike else None


def likeness_of(one: Vector, other: Vector) -> float:
    """The cosine of two vectors of length 1."""
    return 1 - math.dist(one, other) ** 2 / 2 if len(one) == len(other) else -1.0


def close_pairs(known: Sequence[KnownTag], enough: float = CLOSE) -> list[Pair]:
    """All pairs that may be one tag, the closest first. Sign bits exclude distant pairs; they seldom err by so much."""
    coded = [(tag, int.from_bytes(sign_bits(tag.vector), "big")) for tag in known]
    found = []
    for (tag, bits), (other, other_bits) in combinations(coded, 2):
        if (bits ^ other_bits).bit_count() > _MAX_DIFFERENT * len(tag.vector):
            continue
        likeness = likeness_of(tag.vector, other.vector)
        if likeness >= enough and may_be_one(tag.name, other.name):
            found.append(Pair(tag.name, other.name, likeness))
    return sorted(found, key=lambda pair: (-pair.likeness, pair.one, pair.other))
