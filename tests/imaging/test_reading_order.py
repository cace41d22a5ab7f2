"""Lines of a page in the order in which people read them, whichever way the page is turned."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import pytest

from chyme.imaging.ocr.reading_order import Quad, direction, gap, order_lines

ASPECT = 0.7  # of an upright sheet


def line(left: float, top: float, width: float, height: float = 0.02) -> Quad:
    return (left, top), (left + width, top), (left + width, top + height), (left, top + height)


def turned(quads: list[Quad], degrees: float, aspect: float = ASPECT) -> list[Quad]:
    """The same page, turned about its middle; what leaves the sheet does not matter here."""
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    found: list[Quad] = []
    for quad in quads:
        corners = [((x - 0.5) * aspect, y - 0.5) for x, y in quad]
        back = [((x * cosine - y * sine) / aspect + 0.5, x * sine + y * cosine + 0.5) for x, y in corners]
        found.append((back[0], back[1], back[2], back[3]))
    return found


def order(quads: list[Quad], aspect: float = ASPECT) -> list[int]:
    return [index for paragraph in order_lines(quads, aspect) for row in paragraph for index in row]


def prose(left: float, top: float, width: float, count: int) -> list[Quad]:
    """Lines of running text; every fifth is the short last line of its paragraph."""
    return [line(left, top + 0.03 * at, width * (0.4 if at % 5 == 4 else 0.97)) for at in range(count)]


COLUMN = prose(0.1, 0.1, 0.8, 12)
TWO = [*prose(0.08, 0.2, 0.4, 14), *prose(0.54, 0.2, 0.4, 11)]
THREE = [*prose(0.03, 0.2, 0.29, 9), *prose(0.36, 0.2, 0.29, 9), *prose(0.69, 0.2, 0.29, 9)]
TABLE = [
    line(left, 0.1 + 0.05 * row, width)
    for row in range(8)
    for left, width in ((0.1, 0.15 + 0.02 * (row % 3)), (0.45, 0.08), (0.6, 0.06), (0.8, 0.09))
]
HEADED = [line(0.1, 0.05, 0.8, 0.04), *TWO]
TITLE_BETWEEN = [
    *prose(0.08, 0.1, 0.4, 9),
    *prose(0.54, 0.1, 0.4, 9),
    line(0.15, 0.42, 0.7, 0.035),
    *prose(0.08, 0.5, 0.4, 9),
    *prose(0.54, 0.5, 0.4, 9),
]
COLUMN_WITH_TABLE = [
    *prose(0.06, 0.1, 0.4, 20),
    *prose(0.54, 0.1, 0.4, 9),
    *(line(left, 0.4 + 0.03 * row, 0.07) for row in range(6) for left in (0.54, 0.65, 0.76, 0.87)),
    *prose(0.54, 0.62, 0.4, 4),
]
SIDEBAR = [*prose(0.06, 0.1, 0.55, 15), *(line(0.7, 0.113 + 0.047 * at, 0.1 + 0.02 * (at % 3)) for at in range(9))]
PAGES = {
    "a list beside running text": SIDEBAR,
    "one column": COLUMN,
    "two columns": TWO,
    "three columns": THREE,
    "a table": TABLE,
    "a heading across two columns": HEADED,
    "a title between two pairs of columns": TITLE_BETWEEN,
    "a table in one of two columns": COLUMN_WITH_TABLE,
}


@pytest.mark.parametrize("degrees", [0, 3, -3, 10, 90, 180, 270, 93])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_read_in_the_order_it_was_written_however_it_lies(page: str, degrees: float) -> None:
    quads = PAGES[page]
    shuffled = list(range(len(quads)))
    random.Random(len(quads)).shuffle(shuffled)
    lying = turned([quads[at] for at in shuffled], degrees)
    assert [shuffled[index] for index in order(lying)] == list(range(len(quads)))


@pytest.mark.parametrize("degrees", [0, 4, -12, 90, 176, 181, 270, 275])
def test_the_direction_of_the_writing_is_found_in_spite_of_a_few_lines_that_run_otherwise(degrees: float) -> None:
    lines = [*turned(COLUMN, degrees), *turned([line(0.9, 0.4, 0.2)], degrees + 90)]
    assert direction(lines, ASPECT) == pytest.approx(degrees % 360, abs=0.5)


def test_the_cells_of_a_table_stay_in_their_row() -> None:
    rows = [row for paragraph in order_lines(TABLE, ASPECT) for row in paragraph]
    assert rows == [list(range(first, first + 4)) for first in range(0, 32, 4)]


def test_remarks_that_stand_beside_the_lines_they_belong_to_are_read_with_them() -> None:
    page = [*prose(0.06, 0.1, 0.55, 10), *(line(0.7, 0.1 + 0.03 * at, 0.05) for at in range(10))]
    rows = [row for paragraph in order_lines(page, ASPECT) for row in paragraph]
    assert rows == [[at, at + 10] for at in range(10)]


def test_room_between_lines_begins_a_paragraph() -> None:
    page = [*prose(0.1, 0.1, 0.8, 4), *prose(0.1, 0.26, 0.8, 3)]
    assert order_lines(page, ASPECT) == [[[0], [1], [2], [3]], [[4], [5], [6]]]


def test_larger_letters_are_a_paragraph_of_their_own() -> None:
    page = [line(0.1, 0.068, 0.5, 0.03), *prose(0.1, 0.1, 0.8, 4)]
    assert order_lines(page, ASPECT) == [[[0]], [[1], [2], [3], [4]]]


def test_an_indented_line_begins_a_paragraph() -> None:
    page = [line(0.1 + (0.06 if at == 3 else 0), 0.1 + 0.03 * at, 0.7) for at in range(6)]
    assert order_lines(page, ASPECT) == [[[0], [1], [2]], [[3], [4], [5]]]


def test_the_room_between_two_cells_is_measured_in_heights() -> None:
    assert gap(line(0.1, 0.1, 0.2, 0.02), line(0.4, 0.1, 0.2, 0.02), ASPECT) == pytest.approx(0.1 * ASPECT / 0.02)


@pytest.mark.parametrize("seed", range(60))
def test_every_line_comes_exactly_once_whatever_the_page(seed: int) -> None:
    dice = random.Random(seed)
    quads: list[Quad] = []
    for _ in range(dice.randrange(0, 60)):
        height = dice.choice([0.0, 0.005, 0.02, 0.02, 0.05])
        quads.append(line(dice.random(), dice.random(), dice.choice([0.0, 0.03, 0.2, 0.45, 0.9]), height))
    lying = turned(quads, dice.choice([0, 7, 90, 200]))
    assert sorted(order(lying)) == list(range(len(quads)))


def test_a_page_of_thousands_of_words_is_arranged_at_once() -> None:
    dice = random.Random(1)
    quads = [line(dice.random() * 0.9, dice.random() * 0.95, 0.05, 0.01) for _ in range(4000)]
    assert len(order(quads)) == 4000


def test_lines_of_one_column_are_read_from_top_to_bottom_even_when_their_boxes_touch() -> None:
    quads = [line(0.1, 0.1 + 0.02 * at, 0.8, 0.026) for at in range(20)]
    assert order(quads) == list(range(20))
    assert all(first < second for first, second in pairwise(order(quads)))
