"""Vectors of numbers: unit length, and packing for the database."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence

Vector = tuple[float, ...]


def normalise(vector: Iterable[float]) -> Vector:
    """The vector scaled to length 1; a zero vector stays as it is."""
    values = tuple(vector)
    length = math.hypot(*values)
    return tuple([value / length for value in values]) if length > 0 else values


def pack_vector(vector: Sequence[float]) -> bytes:
    """float32, little-endian."""
    return struct.pack(f"<{len(vector)}f", *vector)


def unpack_vector(data: bytes) -> Vector:
    return struct.unpack(f"<{len(data) // 4}f", data)
