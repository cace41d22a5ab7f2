"""A question's vector, and a cache of those of recent questions, for turning pages and further typing."""

from __future__ import annotations

import threading
from array import array
from collections import OrderedDict
from dataclasses import dataclass
from typing import Protocol

MAX_CACHED_QUERIES = 256
LONGEST = 2000  # characters of a question; no embedder reads more
Key = tuple[str, str]  # the model, the question


@dataclass(frozen=True, slots=True)
class QueryVector:
    """A question's vector, or the reason why there is none."""

    vector: tuple[float, ...] | None
    why_not: str | None = None  # for people; None if there is nothing to say


class QueryEmbedder(Protocol):
    """Embeds questions with the model whose vectors they are compared with."""

    def embed(self, text: str, model: str) -> QueryVector:
        """Never raises and never takes long: a search must not wait for a model that does not load."""


def key_of(text: str, model: str) -> Key:
    """The cache key of a question; surrounding whitespace is ignored, lone surrogates are replaced."""
    return model, text.strip()[:LONGEST].encode("utf-8", "replace").decode()


class QueryVectorCache:
    """A thread-safe LRU cache."""

    def __init__(self, capacity: int = MAX_CACHED_QUERIES) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._vectors: OrderedDict[Key, tuple[bytes | None, str | None]] = OrderedDict()

    def get(self, key: Key) -> QueryVector | None:
        """The vector of the question, if it was asked recently."""
        with self._lock:
            if key not in self._vectors:
                return None
            self._vectors.move_to_end(key)
            row, why_not = self._vectors[key]
        return QueryVector(None if row is None else tuple(array("f", row)), why_not)

    def put(self, key: Key, vector: QueryVector) -> None:
        row = None if vector.vector is None else array("f", vector.vector).tobytes()  # an eighth of a tuple's size
        with self._lock:
            self._vectors[key] = row, vector.why_not
            self._vectors.move_to_end(key)
            if len(self._vectors) > self._capacity:
                self._vectors.popitem(last=False)
