"""One short stretch of speech and its voice vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of speech; times are seconds into the file."""

    start: float
    end: float
    vector: Sequence[
        float
    ]  # of length 1; an array of float32 where there are many: a tuple takes eight times the memory
