"""A cache beside the database that finds the nearest vectors fast; it is kept current, and rebuilt when lost."""

from __future__ import annotations

import hashlib
import logging
import re
import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from sqlite3 import Connection

from chyme.core.store import vault_properties
from chyme.errors import UsageError
from chyme.search.tables import embedders, vectors
from chyme.search.tables.embedders import Embedder
from chyme.search.vectors import nearest_neighbours
from chyme.search.vectors.embedder_vectors import EmbedderVectors, SizeLimits
from chyme.search.vectors.segment import Label, WriteInterrupted
from chyme.search.vectors.segment_folder import SegmentFolder

log = logging.getLogger(__name__)

FOLDER = "vectors"
IDENTITY = "identity"  # the vault property that identifies the database
AT_ONCE = 100_000  # vectors one search reads; the rest of a backlog is read in the background
_NAME = re.compile(r"\d+-[0-9a-f]{16}")  # of an embedder's folder
_DELETED_SHARE = 0.1  # share of deleted vectors in results at which they are counted


class VectorCache:
    """Vectors of every embedder, each by itself. Thread-safe; must be closed before the database.

    With `at_once` None, everything is read before the first answer. Without `tended`, nothing runs in the background.
    """

    def __init__(
        self,
        folder: Path,
        read: Callable[[], Connection],
        *,
        at_once: int | None = AT_ONCE,
        amounts: SizeLimits | None = None,
        tended: bool = True,
    ) -> None:
        self._folder = folder
        self._read = read
        self._at_once = at_once
        self._limits = amounts or SizeLimits()
        self._background = tended
        self._lock = threading.Lock()
        self._vectors: dict[int, EmbedderVectors] = {}  # by embedder
        self._deleted_seen: dict[int, int] = {}
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._closing = threading.Event()

    def refresh(self, embedder: Embedder) -> bool:
        """Read new vectors; False if more are left than one search should wait for."""
        cached = self._vectors_of(embedder)
        current = cached.refresh(self._at_once)
        if not current or cached.needs_compaction:
            self._wake_thread()
        return current

    def nearest(
        self, vector: Sequence[float], embedder: Embedder, count: int, allowed: Sequence[int] | None = None
    ) -> list[tuple[int, float]]:
        """Ids of passages and their cosines, best first; only among `allowed` if given, which must be ascending.

        Some may be deleted from the database: check there before showing them.
        """
        import numpy

        query_vector = numpy.array(vector, numpy.float32)
        if query_vector.shape != (embedder.dimension,):
            raise UsageError(
                f"the question's vector has {len(vector)} numbers and those of {embedder.model} have "
                f"{embedder.dimension}; they come from different models and cannot be compared"
            )
        self.refresh(embedder)
        pieces = self._vectors_of(embedder).pieces
        if count < 1:
            return []
        if allowed is not None:
            return nearest_neighbours.nearest_of(pieces, query_vector, count, allowed)
        return nearest_neighbours.nearest(pieces, query_vector, count)

    def is_current(self, embedder: Embedder) -> bool:
        """Whether the cache has everything the database has: not while a long backlog is read, nor if it does not fit
        into memory and nothing can be written."""
        return vectors.highest_id(self._read(), embedder.id) <= self._vectors_of(embedder).highest

    def count(self, embedder: Embedder) -> int:
        """How many vectors are cached, including those deleted from the database since."""
        return sum(map(len, self._vectors_of(embedder).pieces))

    def count_deleted(self, embedder: Embedder, count: int) -> None:
        """Note that a result contained so many vectors that are deleted from the database."""
        if not count:
            return
        threshold = _DELETED_SHARE * self.count(embedder)
        with self._lock:
            seen = self._deleted_seen.get(embedder.id, 0) + count
            self._deleted_seen[embedder.id] = seen if seen < threshold else 0
        if seen >= threshold:
            self._wake_thread()

    def compact(self) -> None:
        """Read the rest of a backlog, write files, merge small ones, and drop deleted vectors."""
        self._remove_unknown()
        for cached in list(self._vectors.values()):
            previous = -1
            while not cached.refresh(self._limits.chunk) and cached.highest != previous and not self._closing.is_set():
                previous = cached.highest
            cached.compact(self._closing.is_set)

    def preload(self, embedder: Embedder) -> None:
        """Read existing vectors in the background, so that the first question need not. From now on, no question waits
        for all of a long backlog either."""
        self._at_once = AT_ONCE
        self._vectors_of(embedder)
        self._wake_thread()

    def clear(self) -> None:
        """Drop everything: the next question reads it again from the database."""
        with self._lock:
            self._vectors.clear()
            shutil.rmtree(self._folder, ignore_errors=True)

    def close(self) -> None:
        self._closing.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def _vectors_of(self, embedder: Embedder) -> EmbedderVectors:
        cached = self._vectors.get(embedder.id)
        if cached is None:
            with self._lock:
                cached = self._vectors.get(embedder.id)
                if cached is None:
                    label = self._label(embedder)
                    folder = SegmentFolder(self._folder / _folder_name(label), label)
                    cached = self._vectors[embedder.id] = EmbedderVectors(folder, self._read, embedder, self._limits)
        return cached

    def _label(self, embedder: Embedder) -> Label:
        identity = vault_properties.value_of(self._read(), IDENTITY) or ""
        return Label(identity, embedder.id, embedder.model, embedder.dimension)

    def _remove_unknown(self) -> None:
        """Remove folders of embedders that the database no longer knows, or of another database."""
        if not self._folder.is_dir():
            return
        known = embedders.list_all(self._read())
        wanted = {_folder_name(self._label(embedder)) for embedder in known}
        for path in self._folder.iterdir():
            if _NAME.fullmatch(path.name) and path.name not in wanted:
                shutil.rmtree(path, ignore_errors=True)
        for id_ in set(self._vectors) - {embedder.id for embedder in known}:
            self._vectors.pop(id_, None)

    def _wake_thread(self) -> None:
        if not self._background or self._closing.is_set():
            return
        self._wake.set()
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._compact_repeatedly, name="vectors", daemon=True)
                self._thread.start()

    def _compact_repeatedly(self) -> None:
        last_warning = ""
        while True:
            self._wake.wait()
            self._wake.clear()
            if self._closing.is_set():
                return
            try:
                self.compact()
                last_warning = ""
            except WriteInterrupted:
                return
            except Exception as error:  # every search may start this again, and the newest vectors are found anyway
                if str(error) != last_warning:
                    log.warning("the cache of vectors in %s cannot be tended: %s", self._folder, error)
                last_warning = str(error)


def _folder_name(label: Label) -> str:
    key = f"{label.database}\0{label.model}\0{label.dimension}"
    return f"{label.embedder}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
