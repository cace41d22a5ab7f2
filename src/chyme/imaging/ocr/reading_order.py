"""In which order the lines of a page are read: rows, columns, paragraphs, however the page lies.

A line is known by its four corners, in the order in which its text runs; so the corners alone tell whether the page is
skewed or stands on its head. Tables are read row by row, running text column by column.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median, median_low

Point = tuple[float, float]
Quad = tuple[Point, Point, Point, Point]  # top left, top right, bottom right, bottom left, as the text runs
Row = list[int]
Paragraph = list[Row]

SAME_ROW = 0.5  # of the lower line's height: centres that are nearer stand in one row
PROSE_LENGTH = 7.0  # heights; a column of running text has lines of at least this length, as a rule
PROSE_FILL = 0.6  # of the column's width that a line of running text fills, as a rule
PROSE_SHARE = 0.4  # of the rows of a column are such lines: it may hold a table or a list as well
PROSE_PITCH = 2.5  # heights from line to line
ALIGNED = 0.7  # of the lines of one side that have a neighbour at the same height: less, and it is no table
GUTTER = 0.7  # heights; less room is the space between two words
CROSSING = 0.34  # of the lines may cross a gutter: headings and pictures' titles, not the text itself
FEWEST = 3  # lines on each side of a gutter
BREAK = 1.35  # times the usual pitch; more room begins a paragraph
OTHER_SIZE = 1.3  # times the height; a larger or smaller line is a paragraph of its own
INDENT = 1.0  # heights by which the first line of a paragraph is set in
MOST_GUTTERS = 8
DEEPEST = 12  # columns within columns


@dataclass(frozen=True, slots=True)
class _Block:
    """A line as a box in the page's own upright frame."""

    index: int
    left: float
    top: float
    right: float
    bottom: float

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2


def direction(quads: Sequence[Quad], aspect: float = 1.0) -> float:
    """In which direction most of the writing runs: degrees, 90 for downwards. `aspect` is width/height."""
    angles: list[tuple[float, float]] = []
    for quad in quads:
        across, down = (quad[1][0] - quad[0][0]) * aspect, quad[1][1] - quad[0][1]
        length = math.hypot(across, down)
        if length > 0:
            angles.append((math.degrees(math.atan2(down, across)), length))
    if not angles:
        return 0.0
    quarters = [0.0, 0.0, 0.0, 0.0]
    for angle, length in angles:
        quarters[round(angle / 90) % 4] += length
    main = quarters.index(max(quarters)) * 90
    off = sorted((_within(angle - main), length) for angle, length in angles if abs(_within(angle - main)) <= 45)
    half = sum(length for _, length in off) / 2
    for angle, length in off:
        half -= length
        if half <= 0:
            return _within(main + angle) % 360
    return float(main)


def order_lines(quads: Sequence[Quad], aspect: float = 1.0) -> list[Paragraph]:
    """Paragraphs of rows of line numbers, in reading order. Every line comes once. `aspect` is width/height."""
    if not quads:
        return []
    blocks = _upright(quads, aspect, direction(quads, aspect))
    return [paragraph for column in _columns(blocks, 0) for paragraph in _paragraphs(column)]


def gap(left: Quad, right: Quad, aspect: float = 1.0) -> float:
    """The room between two lines that stand in one row, in heights of the left one."""
    height = math.hypot((left[3][0] - left[0][0]) * aspect, left[3][1] - left[0][1])
    ends, begins = _middle(left[1], left[2]), _middle(right[0], right[3])
    room = math.hypot((begins[0] - ends[0]) * aspect, begins[1] - ends[1])
    return room / height if height > 0 else 0.0


def _middle(one: Point, other: Point) -> Point:
    return (one[0] + other[0]) / 2, (one[1] + other[1]) / 2


def _within(angle: float) -> float:
    """The same angle between -180 and 180."""
    return (angle + 180) % 360 - 180


def _upright(quads: Sequence[Quad], aspect: float, angle: float) -> list[_Block]:
    cosine, sine = math.cos(math.radians(-angle)), math.sin(math.radians(-angle))
    blocks: list[_Block] = []
    for index, quad in enumerate(quads):
        turned = [(x * aspect * cosine - y * sine, x * aspect * sine + y * cosine) for x, y in quad]
        across = sorted(x for x, _ in turned)
        down = sorted(y for _, y in turned)
        # The middle of the two outer corners on each side: a line that leans a little is not made higher by that.
        left, right = (across[0] + across[1]) / 2, (across[2] + across[3]) / 2
        top, bottom = (down[0] + down[1]) / 2, (down[2] + down[3]) / 2
        blocks.append(_Block(index, left, top, max(right, left), max(bottom, top)))
    return blocks


def _rows(blocks: Sequence[_Block]) -> list[list[_Block]]:
    """Lines that stand beside each other, from top to bottom, each row from left to right."""
    rows: list[list[_Block]] = []
    for block in sorted(blocks, key=lambda block: (block.middle, block.left)):
        if rows and _beside(rows[-1], block):
            rows[-1].append(block)
        else:
            rows.append([block])
    for row in rows:
        row.sort(key=lambda block: (block.left, block.index))
    return rows


def _beside(row: Sequence[_Block], block: _Block) -> bool:
    middle = sum(other.middle for other in row) / len(row)
    height = min(block.height, *(other.height for other in row))
    if abs(block.middle - middle) > SAME_ROW * height:
        return False
    return all(min(block.right, other.right) - max(block.left, other.left) <= 0.5 * height for other in row)


def _columns(blocks: Sequence[_Block], depth: int) -> list[list[list[_Block]]]:
    """Stretches of rows that are read one after the other."""
    if len(blocks) >= 2 * FEWEST and depth < DEEPEST:
        for at in _gutters(blocks):
            parts = _split(blocks, at, depth)
            if parts is not None:
                return parts
    return [_rows(blocks)]


def _gutters(blocks: Sequence[_Block]) -> list[float]:
    """Places where the page may be parted from top to bottom, the clearest first."""
    room = GUTTER * median(block.height for block in blocks)
    lefts, rights = sorted(block.left for block in blocks), sorted(block.right for block in blocks)
    found: list[tuple[int, float, float]] = []
    for left, right in pairwise(sorted({*lefts, *rights})):
        at = (left + right) / 2
        before, after = bisect_right(rights, at), len(blocks) - bisect_right(lefts, at)
        crossing = len(blocks) - before - after
        if right - left >= room and min(before, after) >= FEWEST and crossing <= CROSSING * len(blocks):
            found.append((crossing, left - right, at))
    return [at for _, _, at in sorted(found)[:MOST_GUTTERS]]


def _split(blocks: Sequence[_Block], at: float, depth: int) -> list[list[list[_Block]]] | None:
    """The page parted at a gutter: between the lines that cross it, the left column comes before the right one."""
    crossing = sorted((block for block in blocks if block.left < at < block.right), key=lambda block: block.middle)
    levels = [block.middle for block in crossing]
    bands: list[tuple[list[_Block], list[_Block]]] = [([], []) for _ in range(len(crossing) + 1)]
    for block in blocks:
        if not block.left < at < block.right:
            bands[bisect_right(levels, block.middle)][block.left >= at].append(block)
    parts: list[list[list[_Block]]] = []
    waiting: list[_Block] = []  # what is read row by row
    for number, (left, right) in enumerate(bands):
        if _are_columns(left, right):
            if waiting:
                parts.append(_rows(waiting))
            parts += [*_columns(left, depth + 1), *_columns(right, depth + 1)]
            waiting = []
        else:
            waiting += [*left, *right]
        waiting += crossing[number : number + 1]
    if not parts:
        return None
    return [*parts, _rows(waiting)] if waiting else parts


def _are_columns(left: Sequence[_Block], right: Sequence[_Block]) -> bool:
    if len(left) < FEWEST or len(right) < FEWEST or not (_prose(left) or _prose(right)):
        return False
    if _prose(left) and _prose(right):
        return True
    fewer, more = sorted((left, right), key=len)
    aligned = sum(any(abs(one.middle - other.middle) < 0.3 * one.height for other in more) for one in fewer)
    return aligned < ALIGNED * len(fewer)


def _prose(blocks: Sequence[_Block]) -> bool:
    """Whether there is running text in this column: long lines that fill it, close to each other."""
    rows = _rows(blocks)
    width = max(block.right for block in blocks) - min(block.left for block in blocks)
    long = [sum(block.width for block in row if block.width >= PROSE_LENGTH * block.height) for row in rows]
    full = [row for row, length in zip(rows, long, strict=True) if length >= PROSE_FILL * width]
    if len(full) < max(FEWEST, PROSE_SHARE * len(rows)):
        return False
    height = median(block.height for row in full for block in row)
    return median(_level(below) - _level(above) for above, below in pairwise(rows)) <= PROSE_PITCH * height


def _level(row: Sequence[_Block]) -> float:
    return sum(block.middle for block in row) / len(row)


def _paragraphs(rows: Sequence[Sequence[_Block]]) -> list[Paragraph]:
    if not rows:
        return []
    heights = [median(block.height for block in row) for row in rows]
    pitches = [_level(below) - _level(above) for above, below in pairwise(rows)]
    close = [pitch for pitch, height in zip(pitches, heights, strict=False) if pitch < PROSE_PITCH * height]
    usual = median_low(close) if close else math.inf
    left = median(row[0].left for row in rows)
    paragraphs: list[Paragraph] = [[[block.index for block in rows[0]]]]
    for at in range(1, len(rows)):
        size = max(heights[at], heights[at - 1]) / max(min(heights[at], heights[at - 1]), 1e-9)
        set_in = rows[at][0].left - left > INDENT * heights[at] >= rows[at - 1][0].left - left
        begins = pitches[at - 1] > BREAK * min(usual, PROSE_PITCH * heights[at]) or size > OTHER_SIZE
        row = [block.index for block in rows[at]]
        if begins or (set_in and len(rows[at]) == 1):
            paragraphs.append([row])
        else:
            paragraphs[-1].append(row)
    return paragraphs
