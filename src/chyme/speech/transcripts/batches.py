"""Cut a long list of texts into batches that are sent one at a time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence


def batches(texts: Sequence[str], characters: int, count: int) -> Iterator[range]:
    """Yield the positions of each batch: at most `count` texts, and `characters` unless one text alone has more."""
    start = length = 0
    for index, text in enumerate(texts):
        if index > start and (length + len(text) > characters or index - start >= count):
            yield range(start, index)
            start, length = index, 0
        length += len(text)
    if start < len(texts):
        yield range(start, len(texts))


def key_of(*parts: object) -> str:
    """A name for a batch, derived from everything that affects its answer."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
