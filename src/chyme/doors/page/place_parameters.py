"""The place in a file that the address asks for."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass

from fastapi import Request

from chyme.model import Box

LONGEST = 500  # characters of a query
_MAX_NUMBER = 2**53


@dataclass(frozen=True, slots=True)
class PlaceParameters:
    """A place in a file, as given in the address; invalid parts are ignored."""

    question: str = ""
    page: int = 1
    seconds: float | None = None
    box: Box | None = None
    source: str = ""
    start: int | None = None
    end: int | None = None
    whole: bool = False  # show a long text whole, not only its beginning


def parse_place(request: Request) -> PlaceParameters:
    """Parse the place from the address."""
    query = request.query_params
    start, end = _parse_int(query.get("start")), _parse_int(query.get("end"))
    if start is None or end is None or end <= start:
        start = end = None
    seconds = _parse_float(query.get("t", ""))
    return PlaceParameters(
        query.get("q", "")[:LONGEST],
        max(_parse_int(query.get("page")) or 1, 1),
        max(seconds, 0.0) if seconds is not None else None,
        _parse_box(query.get("box", "")),
        query.get("source", ""),
        start,
        end,
        query.get("all") == "1",
    )


def _parse_int(text: str | None) -> int | None:
    if not text or not text.isascii() or not text.isdecimal() or len(text) > 15:
        return None
    return min(int(text), _MAX_NUMBER)


def _parse_float(text: str) -> float | None:
    with contextlib.suppress(ValueError):
        number = float(text[:20])
        return number if math.isfinite(number) else None
    return None


def _parse_box(text: str) -> Box | None:
    edges = [_parse_float(edge) for edge in text.split(",")]
    if len(edges) != 4 or any(edge is None or not 0 <= edge <= 1 for edge in edges):
        return None
    left, top, right, bottom = (edge or 0.0 for edge in edges)
    return (left, top, right, bottom) if left < right and top < bottom else None
