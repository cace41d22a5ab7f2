"""Reuse before invention: which tag of the vault means what a new one would mean."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

from chyme.speech.people.voice_matching import Vector
from chyme.understanding.tags.lexical_differences import may_be_one

# Measured with all-MiniLM-L6-v2 on 161 pairs of tags that are one and 273 that are not: at .90 it joins 94 and none,
# at .86 114 and none, but more of those that merely stand close among all the others.
SAME_MEANING = 0.90  # cosine from which on one tag stands for the other
CLOSE = 0.80  # from which on a person is asked whether two are one
RESCORE_COUNT = 32  # nearest by signs alone, looked at closely
_FARTHEST = 0.3  # share of signs that may differ: what is close differs in a fifth of them, and chance adds little


TagBits = tuple[int, bytes]  # a tag by the signs of its vector; plain, because thousands are read at once


class KnownTag(NamedTuple):
    """A tag with what it means."""

    id: int
    name: str
    vector: Vector


class Pair(NamedTuple):
    """Two tags that may be one."""

    one: str
    other: str
    likeness: float


def sign_bits(vector: Sequence[float]) -> bytes:
    """A bit for each sign; what differs in few of them is near."""
    bits = 0
    for value in vector:
        bits = bits << 1 | (value > 0)
    return bits.to_bytes((len(vector) + 7) // 8, "big")


def nearest(code: bytes, known: Iterable[TagBits], most: int = RESCORE_COUNT) -> list[int]:
    """The tags whose signs differ least, at most so many. Written for thousands of them, many times a second."""
    ours, read, size = int.from_bytes(code, "big"), int.from_bytes, len(code)
    found = [((ours ^ read(theirs, "big")).bit_count(), id_) for id_, theirs in known if len(theirs) == size]
    return [id_ for _, id_ in heapq.nsmallest(most, found)]


def find_same_meaning(
    tag: str, vector: Vector, known: Iterable[KnownTag], enough: float = SAME_MEANING
) -> KnownTag | None:
    """The tag that means the same, and most so; None when it must be a new one."""
    alike = [
        (likeness, -one.id, one)
        for one in known
        if (likeness := likeness_of(vector, one.vector)) >= enough and may_be_one(tag, one.name)
    ]
    return max(alike)[2] if alike else None


def likeness_of(one: Vector, other: Vector) -> float:
    """The cosine of two vectors of length 1."""
    return 1 - math.dist(one, other) ** 2 / 2 if len(one) == len(other) else -1.0


def close_pairs(known: Sequence[KnownTag], enough: float = CLOSE) -> list[Pair]:
    """All that may be one, the closest first. Signs sort out what is far: they seldom deceive by so much."""
    coded = [(one, int.from_bytes(sign_bits(one.vector), "big")) for one in known]
    found = []
    for (one, ours), (other, theirs) in combinations(coded, 2):
        if (ours ^ theirs).bit_count() > _FARTHEST * len(one.vector):
            continue
        likeness = likeness_of(one.vector, other.vector)
        if likeness >= enough and may_be_one(one.name, other.name):
            found.append(Pair(one.name, other.name, likeness))
    return sorted(found, key=lambda pair: (-pair.likeness, pair.one, pair.other))
