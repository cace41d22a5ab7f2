"""A tag that means the same is found among thousands by its signs, and only then."""

from __future__ import annotations

import math
import random

import pytest

from chyme.core.vectors import normalise
from chyme.understanding.tags.same_meaning import (
    CLOSE,
    SAME_MEANING,
    KnownTag,
    close_pairs,
    find_same_meaning,
    likeness_of,
    may_be_one,
    nearest,
    sign_bits,
)

Vector = tuple[float, ...]


def somewhere(number: int, size: int = 384) -> Vector:
    made = random.Random(number)
    return normalise(made.gauss(0, 1) for _ in range(size))


def beside(vector: Vector, cosine: float, number: int = 7) -> Vector:
    """A vector of length 1 that is so near."""
    other = somewhere(number, len(vector))
    along = sum(a * b for a, b in zip(vector, other, strict=True))
    across = normalise(b - along * a for a, b in zip(vector, other, strict=True))
    return tuple(cosine * a + math.sqrt(1 - cosine**2) * b for a, b in zip(vector, across, strict=True))


def test_a_code_has_a_bit_for_each_sign() -> None:
    assert sign_bits((1.0, -1.0, 0.5, 0.0, -0.1, 0.1, 0.2, 0.3)) == bytes([0b10100111])
    assert len(sign_bits(somewhere(1))) == 48


def test_the_nearest_of_thousands_is_among_those_looked_at_closely() -> None:
    crowd = [(number, sign_bits(somewhere(number))) for number in range(2000)]
    for number in range(5000, 5020):
        wanted = somewhere(number)
        assert 9999 in nearest(sign_bits(wanted), [*crowd, (9999, sign_bits(beside(wanted, SAME_MEANING)))])


def test_codes_of_another_length_are_passed_over() -> None:
    assert nearest(sign_bits(somewhere(1)), [(1, b"\0" * 16), (2, sign_bits(somewhere(1)))]) == [2]


def test_the_closest_is_reused_and_what_is_too_far_is_not() -> None:
    wanted = somewhere(1)
    near = KnownTag(1, "near", beside(wanted, SAME_MEANING + 0.02))
    nearer = KnownTag(2, "nearer", beside(wanted, SAME_MEANING + 0.05))
    far = KnownTag(3, "far", beside(wanted, SAME_MEANING - 0.02))

    assert find_same_meaning("wanted", wanted, [far, near, nearer]) == nearer
    assert find_same_meaning("wanted", wanted, [far]) is None
    assert find_same_meaning("wanted", wanted, []) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("form 1", "form 2"),
        ("2024 taxes", "2023 taxes"),
        ("covid", "covid 19"),
        ("world war i", "second world war"),
        ("tax", "tax law"),  # narrower
        ("work contract", "contract"),
        ("landlord", "tenant"),
        ("husband", "wife"),
        ("june report", "july report"),
        ("income", "expenses"),
        ("profit", "nonprofit"),
        ("buyer", "buying"),
        ("sweden", "swedish"),
        ("france", "french"),
    ],
)
def test_letters_that_say_otherwise_outweigh_any_likeness(one: str, other: str) -> None:
    wanted = somewhere(1)
    assert not may_be_one(one, other)
    assert not may_be_one(other, one)
    assert find_same_meaning(one, wanted, [KnownTag(1, other, wanted)]) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("car", "automobile"),
        ("world war ii", "second world war"),
        ("fall", "autumn"),
        ("picture of the day", "day pictures"),
        ("mobile phone", "smartphone"),
        ("iso 9001", "iso-9001"),
        ("spending", "expenditure"),
    ],
)
def test_letters_that_say_nothing_leave_it_to_the_meaning(one: str, other: str) -> None:
    assert may_be_one(one, other)
    assert may_be_one(other, one)


def test_pairs_that_may_be_one_are_told_the_closest_first() -> None:
    base, elsewhere = somewhere(1), somewhere(2)
    tags = [
        KnownTag(1, "car", base),
        KnownTag(2, "automobile", beside(base, CLOSE + 0.1)),
        KnownTag(3, "weather", elsewhere),
        KnownTag(4, "climate", beside(elsewhere, CLOSE + 0.02)),
        KnownTag(5, "car 2", base),
        KnownTag(6, "rent", somewhere(3)),
    ]
    pairs = close_pairs(tags)

    assert [(pair.one, pair.other) for pair in pairs] == [("car", "automobile"), ("weather", "climate")]
    assert pairs[0].likeness == pytest.approx(CLOSE + 0.1)
    assert likeness_of(base, (1.0,)) == -1.0
