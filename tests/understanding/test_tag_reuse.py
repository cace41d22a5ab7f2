"""A tag of the same meaning is found among thousands by the signs of its vector, and no other tag is found."""

from __future__ import annotations

import math
import random

import pytest

from chyme.core.vectors import normalise, pack_vector, unpack_vector
from chyme.understanding.tags.same_meaning import (
    CLOSE,
    RESCORE_COUNT,
    SAME_MEANING,
    KnownTag,
    TagCodes,
    close_pairs,
    find_same_meaning,
    likeness_of,
    may_be_one,
    select_alike,
    sign_bits,
)

Vector = tuple[float, ...]


def random_vector(number: int, size: int = 384) -> Vector:
    generator = random.Random(number)
    return normalise(generator.gauss(0, 1) for _ in range(size))


def vector_near(vector: Vector, cosine: float, number: int = 7) -> Vector:
    """A vector of length 1 with this cosine to the given vector."""
    other = random_vector(number, len(vector))
    along = sum(a * b for a, b in zip(vector, other, strict=True))
    across = normalise(b - along * a for a, b in zip(vector, other, strict=True))
    return tuple(cosine * a + math.sqrt(1 - cosine**2) * b for a, b in zip(vector, across, strict=True))


def test_a_code_has_a_bit_for_each_sign() -> None:
    assert sign_bits((1.0, -1.0, 0.5, 0.0, -0.1, 0.1, 0.2, 0.3)) == bytes([0b10100111])
    assert len(sign_bits(random_vector(1))) == 48


def test_the_nearest_of_thousands_is_among_those_looked_at_closely() -> None:
    crowd = [(number, sign_bits(random_vector(number))) for number in range(2000)]
    for number in range(5000, 5020):
        wanted = random_vector(number)
        near = (9999, sign_bits(vector_near(wanted, SAME_MEANING)))
        assert 9999 in TagCodes([*crowd, near]).near(sign_bits(wanted))


def test_codes_of_another_length_are_passed_over() -> None:
    codes = TagCodes([(1, b"\0" * 16), (2, sign_bits(random_vector(1)))])

    assert codes.near(sign_bits(random_vector(1))) == [2]


def test_a_tag_added_later_is_found_among_the_others() -> None:
    codes = TagCodes([(1, sign_bits(random_vector(1)))])
    assert codes.near(sign_bits(random_vector(2))) == []

    codes.add(2, sign_bits(random_vector(2)))

    assert codes.near(sign_bits(random_vector(2))) == [2]


def test_tags_added_one_by_one_are_found_like_those_known_from_the_start() -> None:
    codes = [(number, sign_bits(vector_near(random_vector(1), 0.85, number))) for number in range(2, 52)]
    grown = TagCodes(codes[:1])
    for tag_id, code in codes[1:]:
        grown.near(code)
        grown.add(tag_id, code)

    found = grown.near(sign_bits(random_vector(1)))

    assert len(found) == RESCORE_COUNT
    assert found == TagCodes(codes).near(sign_bits(random_vector(1)))


def test_only_tags_that_may_be_close_enough_are_unpacked() -> None:
    wanted = random_vector(1)
    vectors = {
        1: vector_near(wanted, SAME_MEANING - 0.02),
        2: vector_near(wanted, SAME_MEANING + 0.0001),
        3: wanted,
        4: random_vector(4),
    }
    stored = [(tag_id, f"tag {tag_id}", pack_vector(vector)) for tag_id, vector in vectors.items()]
    other_model = (5, "short", pack_vector(random_vector(5, 16)))

    alike = select_alike(wanted, [*stored, other_model])

    assert [tag.id for tag in alike] == [2, 3]
    assert alike[1].vector == unpack_vector(pack_vector(wanted))
    assert select_alike(wanted, [other_model]) == []


def test_the_closest_tag_is_reused_and_a_distant_tag_is_not() -> None:
    wanted = random_vector(1)
    near = KnownTag(1, "near", vector_near(wanted, SAME_MEANING + 0.02))
    nearer = KnownTag(2, "nearer", vector_near(wanted, SAME_MEANING + 0.05))
    far = KnownTag(3, "far", vector_near(wanted, SAME_MEANING - 0.02))

    assert find_same_meaning("wanted", wanted, [far, near, nearer]) == nearer
    assert find_same_meaning("wanted", wanted, [far]) is None
    assert find_same_meaning("wanted", wanted, []) is None


@pytest.mark.parametrize(
    ("first", "second"),
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
def test_a_clear_difference_in_letters_outweighs_any_similarity_of_meaning(first: str, second: str) -> None:
    wanted = random_vector(1)
    assert not may_be_one(first, second)
    assert not may_be_one(second, first)
    assert find_same_meaning(first, wanted, [KnownTag(1, second, wanted)]) is None


@pytest.mark.parametrize(
    ("first", "second"),
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
def test_other_differences_in_letters_leave_the_decision_to_the_meaning(first: str, second: str) -> None:
    assert may_be_one(first, second)
    assert may_be_one(second, first)


def test_pairs_that_may_be_one_tag_are_listed_closest_first() -> None:
    base, elsewhere = random_vector(1), random_vector(2)
    tags = [
        KnownTag(1, "car", base),
        KnownTag(2, "automobile", vector_near(base, CLOSE + 0.1)),
        KnownTag(3, "weather", elsewhere),
        KnownTag(4, "climate", vector_near(elsewhere, CLOSE + 0.02)),
        KnownTag(5, "car 2", base),
        KnownTag(6, "rent", random_vector(3)),
    ]
    pairs = close_pairs(tags)

    assert [(pair.one, pair.other) for pair in pairs] == [("car", "automobile"), ("weather", "climate")]
    assert pairs[0].likeness == pytest.approx(CLOSE + 0.1)
    assert likeness_of(base, (1.0,)) == -1.0
