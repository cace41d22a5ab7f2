"""Boxes in a picture: four edges from 0 to 1; invalid boxes are repaired where possible and dropped otherwise."""

from __future__ import annotations

import math
from collections.abc import Sequence

from chyme.model import Box

SMALLEST = 0.001  # of the picture's width or height; anything thinner is a line, not a region
DIGITS = 4
_WHOLE = 0.95  # of both sides


def repair_box(edges: Sequence[float]) -> Box | None:
    """Left, top, right, bottom in the right order and clipped to the picture; None when nothing is left."""
    if len(edges) != 4 or not all(math.isfinite(edge) for edge in edges):
        return None
    left, right = sorted((edges[0], edges[2]))
    top, bottom = sorted((edges[1], edges[3]))
    left, top, right, bottom = (round(min(1.0, max(0.0, edge)), DIGITS) for edge in (left, top, right, bottom))
    if right - left < SMALLEST or bottom - top < SMALLEST:
        return None
    return left, top, right, bottom


def enclosing_box(boxes: Sequence[Box]) -> Box | None:
    """The smallest box that contains all boxes."""
    if not boxes:
        return None
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def overlap(first: Box, second: Box) -> float:
    """Intersection over union, from 0 to 1."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    return shared / (area(first) + area(second) - shared)


def area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def describe_region(box: Box) -> str:
    """Name the part of the picture that holds the middle of the box."""
    if box[2] - box[0] >= _WHOLE and box[3] - box[1] >= _WHOLE:
        return "the whole picture"
    across = ("left", "centre", "right")[min(2, int((box[0] + box[2]) / 2 * 3))]
    down = ("upper", "middle", "lower")[min(2, int((box[1] + box[3]) / 2 * 3))]
    if (down, across) == ("middle", "centre"):
        return "centre"
    return across if down == "middle" else f"{down} {across}"
