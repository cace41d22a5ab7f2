"""The vectors of the last questions, so that who turns a page or types on does not ask again."""

from __future__ import annotations

import threading
from array import array
from collections import OrderedDict

from chyme.search.query_embedding.protocol import QueryVector

MAX_CACHED_QUERIES = 256
LONGEST = 2000  # characters of a question; no embedder looks at more

Key = tuple[str, str]  # the model, the question


def key_of(text: str, model: str) -> Key:
    """By what a question is known: blanks around it, and half characters in it, mean nothing."""
    return model, text.strip()[:LONGEST].encode("utf-8", "replace").decode()


class QueryVectorCache:
    """Any number of threads may call."""

    def __init__(self, kept: int = MAX_CACHED_QUERIES) -> None:
        self._kept = kept
        self._guard = threading.Lock()
        self._found: OrderedDict[Key, tuple[bytes | None, str | None]] = OrderedDict()

    def get(self, key: Key) -> QueryVector | None:
        """What it means, if it was asked lately."""
        with self._guard:
            if key not in self._found:
                return None
            self._found.move_to_end(key)
            row, why_not = self._found[key]
        return QueryVector(None if row is None else tuple(array("f", row)), why_not)

    def put(self, key: Key, meant: QueryVector) -> None:
        row = None if meant.vector is None else array("f", meant.vector).tobytes()  # an eighth of a tuple
        with self._guard:
            self._found[key] = row, meant.why_not
            self._found.move_to_end(key)
            if len(self._found) > self._kept:
                self._found.popitem(last=False)
