"""Cuts a large picture into overlapping tiles, so that small print is read at full size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from chyme.imaging.decoding.pixel_conversion import fit_size

LONG = 3.0  # a picture this many times longer than wide: its preview is too narrow to be read
LARGER = 1.5  # times the preview; less is not worth reading again
SMALL_PRINT = 18.0  # pixels of the preview; lines lower than this are guessed, not read
TILE, OVERLAP = 1600, 320  # pixels
MAX_TILES = 48

Pixels = tuple[int, int, int, int]  # left, top, right, bottom


@dataclass(frozen=True, slots=True)
class Tile:
    """The area to read, and the part of it whose words count. The cores of all tiles cover the picture once."""

    seen: Pixels
    core: Pixels


def needs_tiles(original: tuple[int, int], preview: tuple[int, int], line_heights: Sequence[float]) -> bool:
    """Whether the original shows more than the preview did. Sizes in pixels, line heights in pixels of the preview."""
    if max(original) < LARGER * max(preview):
        return False
    if max(original) > LONG * min(original):
        return True
    return len(line_heights) >= 3 and median(line_heights) < SMALL_PRINT


def longest_side(size: tuple[int, int]) -> int:
    """The longest side at which a picture is read, so that there are not too many tiles."""
    longest = max(size)
    while len(tiles(*fit_size(size, longest))) > MAX_TILES:
        longest = int(longest * 0.9)
    return longest


def tiles(width: int, height: int) -> list[Tile]:
    """Tiles from top to bottom and left to right; what is on a seam is complete in one of the neighbours."""
    return [
        Tile((left, top, right, bottom), (first, upper, last, lower))
        for top, bottom, upper, lower in _cuts(height)
        for left, right, first, last in _cuts(width)
    ]


def _cuts(length: int) -> list[tuple[int, int, int, int]]:
    """Where tiles begin and end along one side, and where their cores do."""
    count = 1 if length <= TILE else math.ceil(length / (TILE - OVERLAP))
    step = length / count
    seams = [round(step * number) for number in range(count + 1)]
    return [
        (max(0, first - OVERLAP // 2), min(length, last + OVERLAP // 2), first, last) for first, last in pairwise(seams)
    ]
