"""Boxes from models are repaired or dropped, never trusted."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chyme.core.bounding_boxes import describe_region, enclosing_box, overlap, repair_box


@pytest.mark.parametrize(
    ("edges", "box"),
    [
        ((0.1, 0.2, 0.5, 0.6), (0.1, 0.2, 0.5, 0.6)),
        ((-0.3, -1, 0.5, 1.7), (0.0, 0.0, 0.5, 1.0)),
        ((0.5, 0.6, 0.1, 0.2), (0.1, 0.2, 0.5, 0.6)),
        ((0.5, 0.2, 0.1, 0.6), (0.1, 0.2, 0.5, 0.6)),
        ((0.1, 0.2, 0.1, 0.6), None),
        ((1.2, 0.2, 1.5, 0.6), None),
        ((math.nan, 0, 1, 1), None),
        ((0, 0, math.inf, 1), None),
        ((0, 0, 1), None),
    ],
)
def test_a_box_is_cut_to_the_picture_and_turned_the_right_way_round(
    edges: tuple[float, ...], box: tuple[float, ...] | None
) -> None:
    assert repair_box(edges) == box


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=4, max_size=4))
def test_a_repaired_box_is_always_valid(edges: list[float]) -> None:
    box = repair_box(edges)
    if box is not None:
        assert 0 <= box[0] < box[2] <= 1
        assert 0 <= box[1] < box[3] <= 1


def test_overlap_is_a_fraction_of_the_union() -> None:
    assert overlap((0, 0, 0.5, 0.5), (0, 0, 0.5, 0.5)) == 1
    assert overlap((0, 0, 0.5, 0.5), (0.5, 0.5, 1, 1)) == 0
    assert overlap((0, 0, 0.5, 1), (0.25, 0, 0.75, 1)) == pytest.approx(1 / 3)


def test_the_box_around_boxes_holds_them_all() -> None:
    assert enclosing_box([(0.1, 0.5, 0.2, 0.6), (0.3, 0.1, 0.4, 0.9)]) == (0.1, 0.1, 0.4, 0.9)
    assert enclosing_box([]) is None


@pytest.mark.parametrize(
    ("box", "words"),
    [
        ((0, 0, 0.2, 0.2), "upper left"),
        ((0.8, 0.8, 1, 1), "lower right"),
        ((0, 0, 1, 1), "the whole picture"),
        ((0, 0.4, 0.2, 0.6), "left"),
        ((0.4, 0, 0.6, 0.1), "upper centre"),
    ],
)
def test_a_region_is_described_in_words(box: tuple[float, float, float, float], words: str) -> None:
    assert describe_region(box) == words
