"""Which place of a file somebody wants to see."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass

from fastapi import Request

from chyme.model import Box

LONGEST = 500  # characters of a question
_FAR = 2**53


@dataclass(frozen=True, slots=True)
class PlaceParameters:
    """A place, as far as the address tells it; what makes no sense in it is passed over."""

    question: str = ""
    page: int = 1
    seconds: float | None = None
    box: Box | None = None
    source: str = ""
    start: int | None = None
    end: int | None = None
    whole: bool = False  # not only the beginning of a long text


def parse_place(request: Request) -> PlaceParameters:
    """What the address asks for."""
    told = request.query_params
    start, end = _number(told.get("start")), _number(told.get("end"))
    if start is None or end is None or end <= start:
        start = end = None
    seconds = _fraction(told.get("t", ""))
    return PlaceParameters(
        told.get("q", "")[:LONGEST],
        max(_number(told.get("page")) or 1, 1),
        max(seconds, 0.0) if seconds is not None else None,
        _box(told.get("box", "")),
        told.get("source", ""),
        start,
        end,
        told.get("all") == "1",
    )


def _number(text: str | None) -> int | None:
    if not text or not text.isascii() or not text.isdecimal() or len(text) > 15:
        return None
    return min(int(text), _FAR)


def _fraction(text: str) -> float | None:
    with contextlib.suppress(ValueError):
        number = float(text[:20])
        return number if math.isfinite(number) else None
    return None


def _box(text: str) -> Box | None:
    edges = [_fraction(edge) for edge in text.split(",")]
    if len(edges) != 4 or any(edge is None or not 0 <= edge <= 1 for edge in edges):
        return None
    left, top, right, bottom = (edge or 0.0 for edge in edges)
    return (left, top, right, bottom) if left < right and top < bottom else None
