"""Ids of new rows that stand next to each other in an index."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator


def new_ids(count: int) -> Iterator[str]:
    """Unique ids of new rows: UUIDs of version 7, which begin with the time.

    New rows thus stand next to each other in the index of ids. Random ids would change another page of it each.
    """
    time_part = f"{time.time_ns() // 1_000_000 & 0xFFFF_FFFF_FFFF:012x}"
    prefix, random_part = f"{time_part[:8]}-{time_part[8:]}-7", os.urandom(10 * count).hex()
    for start in range(0, len(random_part), 20):
        digits = random_part[start : start + 20]
        yield f"{prefix}{digits[:3]}-{'89ab'[int(digits[3], 16) & 3]}{digits[4:7]}-{digits[7:19]}"
