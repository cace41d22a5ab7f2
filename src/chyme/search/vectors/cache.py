"""Where the nearest vectors are found fast: a cache beside the database, kept current and made anew when lost."""

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
IDENTITY = "identity"  # the mark that tells one database from all others
AT_ONCE = 100_000  # vectors one search reads; the rest of a backlog is read while it is answered without them
_NAME = re.compile(r"\d+-[0-9a-f]{16}")  # of an embedder's folder
_DEAD_SEEN = 0.1  # of all vectors: seen so many that are gone, it is time to count them


class VectorCache:
    """Vectors of every embedder, each by itself. Threads may share it; must be closed, before the database is.

    `at_once` None reads all there is before the first answer. Without `tended`, nothing is done in the background.
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
        self._amounts = amounts or SizeLimits()
        self._tended = tended
        self._guard = threading.Lock()
        self._held: dict[int, EmbedderVectors] = {}  # by embedder
        self._dead: dict[int, int] = {}
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._closing = threading.Event()

    def refresh(self, embedder: Embedder) -> bool:
        """Read what is new; False when more is left than one search should wait for."""
        held = self._held_of(embedder)
        current = held.refresh(self._at_once)
        if not current or held.needs_compaction:
            self._tend_soon()
        return current

    def nearest(
        self, vector: Sequence[float], embedder: Embedder, count: int, allowed: Sequence[int] | None = None
    ) -> list[tuple[int, float]]:
        """Ids of passages and their cosines, best first; among `allowed` alone, if given, which must rise.

        Some may be gone from the database: whoever shows them asks there first.
        """
        import numpy

        asked = numpy.array(vector, numpy.float32)
        if asked.shape != (embedder.dimension,):
            raise UsageError(
                f"the question's vector has {len(vector)} numbers and those of {embedder.model} have "
                f"{embedder.dimension}; they come from different models and cannot be compared"
            )
        self.refresh(embedder)
        pieces = self._held_of(embedder).pieces
        if count < 1:
            return []
        if allowed is not None:
            return nearest_neighbours.nearest_of(pieces, asked, count, allowed)
        return nearest_neighbours.nearest(pieces, asked, count)

    def is_current(self, embedder: Embedder) -> bool:
        """Whether everything is held that the database has: not while a long backlog is read, nor when it does not fit
        into memory and nothing can be written."""
        return vectors.highest_id(self._read(), embedder.id) <= self._held_of(embedder).highest

    def count(self, embedder: Embedder) -> int:
        """How many vectors are held, with those that are gone from the database since."""
        return sum(map(len, self._held_of(embedder).pieces))

    def count_deleted(self, embedder: Embedder, count: int) -> None:
        """Somebody was given so many that are gone from the database."""
        if not count:
            return
        enough = _DEAD_SEEN * self.count(embedder)
        with self._guard:
            seen = self._dead.get(embedder.id, 0) + count
            self._dead[embedder.id] = seen if seen < enough else 0
        if seen >= enough:
            self._tend_soon()

    def compact(self) -> None:
        """Read what is left of a backlog, write files, join small ones, and let go of what is gone."""
        self._remove_unknown()
        for held in list(self._held.values()):
            before = -1
            while not held.refresh(self._amounts.chunk) and held.highest != before and not self._closing.is_set():
                before = held.highest
            held.compact(self._closing.is_set)

    def preload(self, embedder: Embedder) -> None:
        """Read what is there in the background, so that the first question need not. From now on none waits for all
        of a long backlog, either."""
        self._at_once = AT_ONCE
        self._held_of(embedder)
        self._tend_soon()

    def clear(self) -> None:
        """Keep nothing: the next question finds everything read anew from the database."""
        with self._guard:
            self._held.clear()
            shutil.rmtree(self._folder, ignore_errors=True)

    def close(self) -> None:
        self._closing.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def _held_of(self, embedder: Embedder) -> EmbedderVectors:
        held = self._held.get(embedder.id)
        if held is None:
            with self._guard:
                held = self._held.get(embedder.id)
                if held is None:
                    label = self._label(embedder)
                    shelf = SegmentFolder(self._folder / _name(label), label)
                    held = self._held[embedder.id] = EmbedderVectors(shelf, self._read, embedder, self._amounts)
        return held

    def _label(self, embedder: Embedder) -> Label:
        identity = vault_properties.value_of(self._read(), IDENTITY) or ""
        return Label(identity, embedder.id, embedder.model, embedder.dimension)

    def _remove_unknown(self) -> None:
        """Folders of embedders that the database no longer knows, or of another database."""
        if not self._folder.is_dir():
            return
        known = embedders.list_all(self._read())
        wanted = {_name(self._label(embedder)) for embedder in known}
        for path in self._folder.iterdir():
            if _NAME.fullmatch(path.name) and path.name not in wanted:
                shutil.rmtree(path, ignore_errors=True)
        for id_ in set(self._held) - {embedder.id for embedder in known}:
            self._held.pop(id_, None)

    def _tend_soon(self) -> None:
        if not self._tended or self._closing.is_set():
            return
        self._wake.set()
        with self._guard:
            if self._thread is None:
                self._thread = threading.Thread(target=self._keep_tending, name="vectors", daemon=True)
                self._thread.start()

    def _keep_tending(self) -> None:
        complained = ""
        while True:
            self._wake.wait()
            self._wake.clear()
            if self._closing.is_set():
                return
            try:
                self.compact()
                complained = ""
            except WriteInterrupted:
                return
            except Exception as error:  # every search may wake us, and the newest vectors are found all the same
                if str(error) != complained:
                    log.warning("the cache of vectors in %s cannot be tended: %s", self._folder, error)
                complained = str(error)


def _name(label: Label) -> str:
    told = f"{label.database}\0{label.model}\0{label.dimension}"
    return f"{label.embedder}-{hashlib.sha256(told.encode()).hexdigest()[:16]}"
