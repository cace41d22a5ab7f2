"""Objects in a picture, as they are stored."""

from __future__ import annotations

import json

import pytest
from upstreams import upstream

from chyme.model import Box
from chyme.pictures.objects import (
    MAX_OBJECTS,
    PictureObject,
    as_json,
    clean_line,
    describe_position,
    normalise_boxes,
    object_from_detector,
    object_from_model,
    select_objects,
    with_article,
)
from chyme.text.digest_text import extract_text

LEFT: Box = (0.1, 0.1, 0.4, 0.4)


def thing(name: str, confidence: float | None, box: Box | None = LEFT) -> PictureObject:
    return PictureObject(name, "", "", (), box, confidence)


def test_a_detected_thing_is_described_in_plain_words() -> None:
    assert object_from_detector("dog", "animal", 0.9, (0.1, 0.6, 0.3, 0.9)) == PictureObject(
        "dog", "a dog, lower left", "animal", ("dog", "animal"), (0.1, 0.6, 0.3, 0.9), 0.9
    )


def test_a_name_that_is_its_own_category_is_one_tag() -> None:
    person = object_from_detector("person", "person", 0.9, LEFT)
    assert person is not None
    assert person.tags == ("person",)


def test_boxes_outside_or_turned_around_are_mended_and_empty_ones_dropped() -> None:
    mended = object_from_detector("dog", "animal", 0.9, (0.5, 1.2, -0.3, 0.5))
    assert mended is not None
    assert mended.box == (0.0, 0.5, 0.5, 1.0)
    assert object_from_detector("dog", "animal", 0.9, (1.1, 0.1, 1.4, 0.3)) is None
    assert object_from_detector("dog", "animal", 0.9, (float("nan"), 0.1, 0.4, 0.3)) is None


@pytest.mark.parametrize(
    ("name", "category"), [("tv", "electronic"), ("book", "indoor"), ("refrigerator", "appliance")]
)
def test_a_screen_or_book_as_large_as_the_picture_is_a_page_and_not_a_thing(name: str, category: str) -> None:
    assert object_from_detector(name, category, 0.9, (0.01, 0.02, 0.99, 0.98)) is None
    assert object_from_detector(name, category, 0.9, (0.01, 0.02, 0.5, 0.98)) is not None
    assert object_from_detector("cat", "animal", 0.9, (0.01, 0.02, 0.99, 0.98)) is not None


def test_a_thing_seen_twice_is_kept_once_with_the_higher_confidence() -> None:
    near: Box = (0.11, 0.1, 0.41, 0.4)
    apart: Box = (0.6, 0.6, 0.9, 0.9)
    found = select_objects([thing("dog", 0.7, near), thing("dog", 0.9), thing("dog", 0.8, apart)])
    assert [(item.confidence, item.box) for item in found] == [(0.9, LEFT), (0.8, apart)]


def test_two_names_for_one_place_are_one_thing_for_a_detector_but_not_for_a_model() -> None:
    assert [item.name for item in select_objects([thing("bowl", 0.7), thing("cup", 0.9)])] == ["cup"]
    assert [item.name for item in select_objects([thing("man", None), thing("coat", None)])] == ["man", "coat"]


def test_a_large_thing_does_not_hide_a_small_one_of_another_name() -> None:
    assert len(select_objects([thing("couch", 0.9, (0.0, 0.0, 1.0, 1.0)), thing("cat", 0.8)])) == 2


def test_no_more_than_fifty_are_kept() -> None:
    boxes = [(n / 100, 0.0, n / 100 + 0.008, 1.0) for n in range(MAX_OBJECTS + 10)]
    assert len(select_objects([thing("dog", 0.9, box) for box in boxes])) == MAX_OBJECTS


@pytest.mark.parametrize(
    ("box", "words"),
    [
        ((0.0, 0.0, 1.0, 1.0), "filling the picture"),
        ((0.4, 0.4, 0.6, 0.6), "in the middle"),
        ((0.0, 0.0, 0.3, 0.3), "upper left"),
        ((0.7, 0.7, 1.0, 1.0), "lower right"),
        ((0.0, 0.4, 0.3, 0.6), "left"),
        ((0.4, 0.0, 0.6, 0.3), "at the top"),
        ((0.0, 0.7, 1.0, 1.0), "at the bottom"),
    ],
)
def test_whereabouts(box: Box, words: str) -> None:
    assert describe_position(box) == words


def test_articles() -> None:
    assert [with_article(name) for name in ("dog", "apple", "skis", "unicorn")] == [
        "a dog",
        "an apple",
        "skis",
        "a unicorn",
    ]


def test_text_of_a_model_is_cleaned_and_cut() -> None:
    cleaned = object_from_model(
        " Big\n\x1b[31m dog\u202e ", "d" * 5000, "ANIMAL", ["Dog", "dog", "", *map(str, range(20))], LEFT
    )
    assert cleaned is not None
    assert cleaned.name == "Big [31m dog"
    assert len(cleaned.description) == 1000
    assert cleaned.category == "animal"
    assert cleaned.tags == ("dog", *map(str, range(9)))
    assert cleaned.confidence is None


def test_a_thing_without_a_name_is_left_out() -> None:
    assert object_from_model(" \x00 ", "something", "", [], LEFT) is None


def test_surrogates_do_not_survive() -> None:
    assert clean_line("a\ud800b", 10) == "a b"


class TestScales:
    """Which scale the numbers of a model may have, in a picture of 1600 × 1200."""

    size = (1600, 1200)

    def test_parts_of_the_picture_are_taken_and_mended(self) -> None:
        assert normalise_boxes([(0.1, 0.2, 0.5, 0.6), (0.9, 0.5, 0.7, 1.2)], self.size) == [
            (0.1, 0.2, 0.5, 0.6),
            (0.7, 0.5, 0.9, 1.0),
        ]

    def test_thousandths_are_taken_where_they_cannot_be_pixels(self) -> None:
        assert normalise_boxes([(100, 200, 500, 900)], (640, 480)) == [(0.1, 0.2, 0.5, 0.9)]

    def test_pixels_are_taken_where_they_cannot_be_thousandths(self) -> None:
        assert normalise_boxes([(160, 120, 1200, 600), (0, 0, 400, 300)], self.size) == [
            (0.1, 0.1, 0.75, 0.5),
            (0.0, 0.0, 0.25, 0.25),
        ]

    def test_numbers_that_may_be_either_give_no_box(self) -> None:
        assert normalise_boxes([(100, 200, 500, 900)], self.size) == [None]

    def test_numbers_that_mean_the_same_in_both_scales_are_taken(self) -> None:
        assert normalise_boxes([(100, 200, 500, 900)], (1000, 1000)) == [(0.1, 0.2, 0.5, 0.9)]

    def test_numbers_that_can_be_neither_give_no_box(self) -> None:
        assert normalise_boxes([(100, 200, 5000, 9000)], self.size) == [None]

    def test_without_the_pictures_size_only_thousandths_are_possible(self) -> None:
        assert normalise_boxes([(100, 200, 500, 900), (1, 2)], None) == [(0.1, 0.2, 0.5, 0.9), None]

    def test_an_incomplete_box_is_no_box(self) -> None:
        assert normalise_boxes([(0.1, 0.2), (), (0.1, 0.2, 0.5, 0.6)], self.size) == [None, None, (0.1, 0.2, 0.5, 0.6)]


def test_nothing_found_is_no_content() -> None:
    assert as_json([], "detector", "a note") is None


def test_the_content_has_its_promised_shape_and_search_finds_names_and_boxes() -> None:
    dog = object_from_detector("dog", "animal", 0.987, LEFT)
    cat = object_from_model("Katze", "schläft", "Tier", ["cat"], None)
    assert dog is not None
    assert cat is not None
    content = as_json([dog, cat], "detector", "small")
    assert content is not None
    assert json.loads(content) == {
        "objects": [
            {
                "name": "dog",
                "description": "a dog, upper left",
                "category": "animal",
                "tags": ["dog", "animal"],
                "box": [0.1, 0.1, 0.4, 0.4],
                "confidence": 0.99,
            },
            {
                "name": "Katze",
                "description": "schläft",
                "category": "tier",
                "tags": ["cat"],
                "box": None,
                "confidence": None,
            },
        ],
        "engine": "detector",
        "note": "small",
    }
    found = extract_text(upstream("image-objects", content))
    assert found.text.splitlines() == ["dog. a dog, upper left. animal", "Katze. schläft. tier. cat"]
    assert [place.box for place in found.places] == [LEFT, None]
