"""The reading order of the lines of a page: rows, columns, paragraphs, whatever the orientation of the page.

A line is given by its four corners, in the order in which its text runs; so the corners alone show whether the page is
skewed or upside down. Tables are read row by row, running text column by column.
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

SAME_ROW = 0.5  # of the lower line's height: lines with closer centres are in one row
PROSE_LENGTH = 7.0  # heights; lines of running text are usually at least this long
PROSE_FILL = 0.6  # of the column's width that a line of running text usually fills
PROSE_SHARE = 0.4  # of the rows of a column are such lines: it may also contain a table or a list
PROSE_PITCH = 2.5  # heights from line to line
ALIGNED = 0.7  # of the lines of one side that have a neighbour at the same height; below that it is no table
GUTTER = 0.7  # heights; less space is the space between two words
CROSSING = 0.34  # of the lines may cross a gutter: headings and captions, not the text itself
FEWEST = 3  # lines on each side of a gutter
BREAK = 1.35  # times the usual pitch; more space begins a paragraph
OTHER_SIZE = 1.3  # times the height; a larger or smaller line is its own paragraph
INDENT = 1.0  # heights by which the first line of a paragraph is indented
MAX_GUTTERS = 8
MAX_DEPTH = 12  # levels of columns within columns


@dataclass(frozen=True, slots=True)
class _Block:
    """A line as a box on the page after it was turned upright."""

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
    """The direction of most of the text in degrees, 90 for downwards. `aspect` is width/height."""
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
    deviations = sorted(
        (_normalise_angle(angle - main), length)
        for angle, length in angles
        if abs(_normalise_angle(angle - main)) <= 45
    )
    half = sum(length for _, length in deviations) / 2
    for angle, length in deviations:
        half -= length
        if half <= 0:
            return _normalise_angle(main + angle) % 360
    return float(main)


def order_lines(quads: Sequence[Quad], aspect: float = 1.0) -> list[Paragraph]:
    """Paragraphs of rows of line numbers, in reading order. Every line occurs once. `aspect` is width/height."""
    if not quads:
        return []
    blocks = _turn_upright(quads, aspect, direction(quads, aspect))
    return [paragraph for column in _split_columns(blocks, 0) for paragraph in _group_paragraphs(column)]


def mirror(quad: Quad) -> Quad:
    """The line on a page whose left and right were exchanged, so that what was read from the right comes first."""
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = quad
    return (1 - bx, by), (1 - ax, ay), (1 - dx, dy), (1 - cx, cy)


def gap(left: Quad, right: Quad, aspect: float = 1.0) -> float:
    """The space between two lines in one row, in heights of the left one."""
    height = math.hypot((left[3][0] - left[0][0]) * aspect, left[3][1] - left[0][1])
    left_end, right_start = _middle(left[1], left[2]), _middle(right[0], right[3])
    space = math.hypot((right_start[0] - left_end[0]) * aspect, right_start[1] - left_end[1])
    return space / height if height > 0 else 0.0


def _middle(first: Point, second: Point) -> Point:
    return (first[0] + second[0]) / 2, (first[1] + second[1]) / 2


def _normalise_angle(angle: float) -> float:
    """The same angle between -180 and 180."""
    return (angle + 180) % 360 - 180


def _turn_upright(quads: Sequence[Quad], aspect: float, angle: float) -> list[_Block]:
    cosine, sine = math.cos(math.radians(-angle)), math.sin(math.radians(-angle))
    blocks: list[_Block] = []
    for index, quad in enumerate(quads):
        turned = [(x * aspect * cosine - y * sine, x * aspect * sine + y * cosine) for x, y in quad]
        across = sorted(x for x, _ in turned)
        down = sorted(y for _, y in turned)
        # The middle of the two outer corners on each side, so that a slight slant does not make a line higher.
        left, right = (across[0] + across[1]) / 2, (across[2] + across[3]) / 2
        top, bottom = (down[0] + down[1]) / 2, (down[2] + down[3]) / 2
        blocks.append(_Block(index, left, top, max(right, left), max(bottom, top)))
    return blocks


def _group_rows(blocks: Sequence[_Block]) -> list[list[_Block]]:
    """Lines that are side by side, from top to bottom, each row from left to right."""
    rows: list[list[_Block]] = []
    for block in sorted(blocks, key=lambda block: (block.middle, block.left)):
        if rows and _is_in_row(rows[-1], block):
            rows[-1].append(block)
        else:
            rows.append([block])
    for row in rows:
        row.sort(key=lambda block: (block.left, block.index))
    return rows


def _is_in_row(row: Sequence[_Block], block: _Block) -> bool:
    middle = sum(other.middle for other in row) / len(row)
    height = min(block.height, *(other.height for other in row))
    if abs(block.middle - middle) > SAME_ROW * height:
        return False
    return all(min(block.right, other.right) - max(block.left, other.left) <= 0.5 * height for other in row)


def _split_columns(blocks: Sequence[_Block], depth: int) -> list[list[list[_Block]]]:
    """Groups of rows that are read one after the other."""
    if len(blocks) >= 2 * FEWEST and depth < MAX_DEPTH:
        for gutter in _find_gutters(blocks):
            parts = _split_at_gutter(blocks, gutter, depth)
            if parts is not None:
                return parts
    return [_group_rows(blocks)]


def _find_gutters(blocks: Sequence[_Block]) -> list[float]:
    """Positions where the page may be split from top to bottom, the clearest first."""
    min_width = GUTTER * median(block.height for block in blocks)
    lefts, rights = sorted(block.left for block in blocks), sorted(block.right for block in blocks)
    found: list[tuple[int, float, float]] = []
    for left, right in pairwise(sorted({*lefts, *rights})):
        position = (left + right) / 2
        before, after = bisect_right(rights, position), len(blocks) - bisect_right(lefts, position)
        crossing = len(blocks) - before - after
        if right - left >= min_width and min(before, after) >= FEWEST and crossing <= CROSSING * len(blocks):
            found.append((crossing, left - right, position))
    return [position for _, _, position in sorted(found)[:MAX_GUTTERS]]


def _split_at_gutter(blocks: Sequence[_Block], gutter: float, depth: int) -> list[list[list[_Block]]] | None:
    """Split the page at a gutter: between the lines that cross it, the left column comes before the right one."""
    crossing = sorted((block for block in blocks if block.left < gutter < block.right), key=lambda block: block.middle)
    levels = [block.middle for block in crossing]
    bands: list[tuple[list[_Block], list[_Block]]] = [([], []) for _ in range(len(crossing) + 1)]
    for block in blocks:
        if not block.left < gutter < block.right:
            bands[bisect_right(levels, block.middle)][block.left >= gutter].append(block)
    parts: list[list[list[_Block]]] = []
    row_blocks: list[_Block] = []  # blocks that are read row by row
    for number, (left, right) in enumerate(bands):
        if _are_columns(left, right):
            if row_blocks:
                parts.append(_group_rows(row_blocks))
            parts += [*_split_columns(left, depth + 1), *_split_columns(right, depth + 1)]
            row_blocks = []
        else:
            row_blocks += [*left, *right]
        row_blocks += crossing[number : number + 1]
    if not parts:
        return None
    return [*parts, _group_rows(row_blocks)] if row_blocks else parts


def _are_columns(left: Sequence[_Block], right: Sequence[_Block]) -> bool:
    if len(left) < FEWEST or len(right) < FEWEST or not (_is_prose(left) or _is_prose(right)):
        return False
    if _is_prose(left) and _is_prose(right):
        return True
    smaller, larger = sorted((left, right), key=len)
    aligned = sum(any(abs(block.middle - other.middle) < 0.3 * block.height for other in larger) for block in smaller)
    return aligned < ALIGNED * len(smaller)


def _is_prose(blocks: Sequence[_Block]) -> bool:
    """Whether this column has running text: long lines that fill it, close to each other."""
    rows = _group_rows(blocks)
    width = max(block.right for block in blocks) - min(block.left for block in blocks)
    text_widths = [sum(block.width for block in row if block.width >= PROSE_LENGTH * block.height) for row in rows]
    full_rows = [row for row, length in zip(rows, text_widths, strict=True) if length >= PROSE_FILL * width]
    if len(full_rows) < max(FEWEST, PROSE_SHARE * len(rows)):
        return False
    height = median(block.height for row in full_rows for block in row)
    return median(_row_level(below) - _row_level(above) for above, below in pairwise(rows)) <= PROSE_PITCH * height


def _row_level(row: Sequence[_Block]) -> float:
    return sum(block.middle for block in row) / len(row)


def _group_paragraphs(rows: Sequence[Sequence[_Block]]) -> list[Paragraph]:
    if not rows:
        return []
    heights = [median(block.height for block in row) for row in rows]
    pitches = [_row_level(below) - _row_level(above) for above, below in pairwise(rows)]
    close = [pitch for pitch, height in zip(pitches, heights, strict=False) if pitch < PROSE_PITCH * height]
    usual = median_low(close) if close else math.inf
    left = median(row[0].left for row in rows)
    paragraphs: list[Paragraph] = [[[block.index for block in rows[0]]]]
    for i in range(1, len(rows)):
        height_ratio = max(heights[i], heights[i - 1]) / max(min(heights[i], heights[i - 1]), 1e-9)
        is_indented = rows[i][0].left - left > INDENT * heights[i] >= rows[i - 1][0].left - left
        starts_paragraph = pitches[i - 1] > BREAK * min(usual, PROSE_PITCH * heights[i]) or height_ratio > OTHER_SIZE
        row = [block.index for block in rows[i]]
        if starts_paragraph or (is_indented and len(rows[i]) == 1):
            paragraphs.append([row])
        else:
            paragraphs[-1].append(row)
    return paragraphs
