"""Cut a long list of texts into batches that are sent one at a time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence


def batches(texts: Sequence[str], characters: int, count: int) -> Iterator[range]:
    """The positions of each batch: at most `count`, and no more than `characters` unless one text alone has more."""
    start = length = 0
    for at, text in enumerate(texts):
        if at > start and (length + len(text) > characters or at - start >= count):
            yield range(start, at)
            start, length = at, 0
        length += len(text)
    if start < len(texts):
        yield range(start, len(texts))


def key_of(*parts: object) -> str:
    """A name for a batch by everything that changes its answer."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
