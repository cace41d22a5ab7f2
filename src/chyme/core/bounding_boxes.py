"""Boxes in a picture: four edges in 0..1, mended where that is possible, dropped where it is not."""

from __future__ import annotations

import math
from collections.abc import Sequence

from chyme.model import Box

SMALLEST = 0.001  # of the picture's width or height; less is a line, not a region
DIGITS = 4
_WHOLE = 0.95  # of both sides


def repair_box(edges: Sequence[float]) -> Box | None:
    """Left, top, right, bottom: turned the right way round and cut to the picture; None when nothing is left."""
    if len(edges) != 4 or not all(math.isfinite(edge) for edge in edges):
        return None
    left, right = sorted((edges[0], edges[2]))
    top, bottom = sorted((edges[1], edges[3]))
    left, top, right, bottom = (round(min(1.0, max(0.0, edge)), DIGITS) for edge in (left, top, right, bottom))
    if right - left < SMALLEST or bottom - top < SMALLEST:
        return None
    return left, top, right, bottom


def enclosing_box(boxes: Sequence[Box]) -> Box | None:
    """The smallest box around all."""
    if not boxes:
        return None
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def overlap(one: Box, other: Box) -> float:
    """The shared area as a part of both together, from 0 to 1."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    return shared / (area(one) + area(other) - shared)


def area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def describe_region(box: Box) -> str:
    """The part of the picture a box lies in, in words."""
    if box[2] - box[0] >= _WHOLE and box[3] - box[1] >= _WHOLE:
        return "the whole picture"
    across = ("left", "centre", "right")[min(2, int((box[0] + box[2]) / 2 * 3))]
    down = ("upper", "middle", "lower")[min(2, int((box[1] + box[3]) / 2 * 3))]
    if (down, across) == ("middle", "centre"):
        return "centre"
    return across if down == "middle" else f"{down} {across}"
