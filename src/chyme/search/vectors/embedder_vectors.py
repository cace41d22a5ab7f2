"""The vectors of one embedder, ready to be searched: mapped files, and the newest in memory."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from sqlite3 import Connection
from typing import TYPE_CHECKING

from chyme.search.tables import vectors
from chyme.search.tables.embedders import Embedder
from chyme.search.vectors.memory_buffer import MemoryBuffer
from chyme.search.vectors.segment import Piece, Segment, Span
from chyme.search.vectors.segment_folder import SegmentFolder, select_merge

if TYPE_CHECKING:
    from chyme.search.vectors.binary_codes import Whole

log = logging.getLogger(__name__)
_MAX_DELETED = 0.2
_LOCK_SECONDS = 2.0  # seconds to wait for another thread that reads a large backlog, before searching without it
_POSITIONS, _ROWS_EACH = 5, 8  # positions compared with the database, and rows at each


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """How many vectors go where."""

    tail: int = 2048  # vectors in memory that are worth a file
    chunk: int = 8192  # vectors that are held in memory, at most, while a backlog is read
    fan: int = 4  # files of one size that are merged into one
    max_file: int = 524_288  # vectors in one file: while it is copied, it takes twice the space


class EmbedderVectors:
    """All vectors of one embedder in the database, except that some may have been deleted since.

    Any number of threads may read the pieces while one updates them.
    """

    def __init__(
        self, folder: SegmentFolder, read: Callable[[], Connection], embedder: Embedder, limits: SizeLimits
    ) -> None:
        self._folder = folder
        self._read = read
        self._embedder = embedder
        self._limits = limits
        self._lock = threading.Lock()
        self._segments: list[Segment] = []
        self._tail = MemoryBuffer(embedder.dimension, limits.tail)
        self._highest = 0
        self._pieces: tuple[Piece, ...] = ()
        self._opened = False

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return self._pieces

    @property
    def highest(self) -> int:
        """Everything up to this id is here."""
        return self._highest

    @property
    def needs_compaction(self) -> bool:
        """Whether there is something for `compact` to do."""
        return len(self._tail) >= self._limits.tail or bool(self._segments_to_merge())

    def refresh(self, max_rows: int | None) -> bool:
        """Read new vectors, at most about `max_rows` rows (None: all); returns whether that was everything."""
        db = self._read()
        if self._opened and vectors.highest_id(db, self._embedder.id) <= self._highest:
            return True
        if not self._lock.acquire(timeout=-1 if max_rows is None else _LOCK_SECONDS):
            return False
        try:
            if not self._opened:
                self._open(db)
            return self._catch_up(db, max_rows)
        finally:
            self._lock.release()

    def _open(self, db: Connection) -> None:
        self._load_segments(db)
        if self._highest > vectors.last_assigned(db):
            log.warning("the database is older than the vectors read from it; they are read again")
            self._start_over()
        self._opened = True

    def _catch_up(self, db: Connection, max_rows: int | None) -> bool:
        count = 0
        while max_rows is None or count < max_rows:
            if len(self._tail) >= self._limits.chunk and not self._flush(db):
                return False  # nothing can be written: what does not fit into memory is not found
            rows = vectors.list_after(db, self._embedder.id, self._highest, self._tail.room)
            if not rows:
                return True
            self._tail.add([row for row in rows if has_dimension(row[2], self._embedder)])
            self._highest = rows[-1][0]
            self._publish()
            count += len(rows)
        return vectors.highest_id(db, self._embedder.id) <= self._highest

    def _flush(self, db: Connection) -> bool:
        """Write the tail to a file; False if that is not possible."""
        try:
            self._folder.write(self._tail_span(), [(piece, _all_rows(piece)) for piece in self._tail.pieces()])
        except OSError:
            return False
        self._load_segments(db)
        return True

    def _tail_span(self) -> Span:
        return Span(_highest_id(self._segments), self._highest)

    def _load_segments(self, db: Connection) -> None:
        """Load the segments that are in the folder now, whichever process wrote them."""
        known = {segment.path: segment for segment in self._segments}
        segments = self._folder.segments(known)
        for segment in segments:
            if known.get(segment.path) is not segment and not matches_database(db, self._embedder, segment):
                log.warning("%s does not agree with the database; all vectors are read again", segment.path.name)
                self._start_over()
                return
        previous_end = _highest_id(self._segments)
        self._segments = segments
        if _highest_id(segments) < previous_end:
            self._drop_tail()
        else:
            self._tail.drop(_highest_id(segments))
            self._highest = max(self._highest, _highest_id(segments))
            self._publish()

    def _start_over(self) -> None:
        self._folder.clear()
        self._segments = []
        self._drop_tail()

    def _drop_tail(self) -> None:
        """Keep only what the files hold; the rest is read again."""
        self._highest = _highest_id(self._segments)
        self._tail = MemoryBuffer(self._embedder.dimension, self._limits.tail)
        self._publish()

    def _publish(self) -> None:
        self._pieces = (*_pieces(self._segments), *self._tail.pieces())

    def compact(self, interrupted: Callable[[], bool] = lambda: False) -> None:
        """Write the tail to a file, merge small files into larger ones, and drop deleted vectors."""
        with self._folder.lock_cleanup() as alone:
            if not alone:
                return  # another process does this
            db = self._read()
            with self._lock:
                self._load_segments(db)
                span, waiting = self._tail_span(), self._tail.pieces()
            if len(self._tail) >= self._limits.tail:
                self._write(db, span, waiting, interrupted)
            self._drop_deleted(db, interrupted)
            while merged := self._segments_to_merge():
                self._write(db, Span(merged[0].span.low, merged[-1].span.high), _pieces(merged), interrupted)
            self._folder.remove_superseded(self._segments)

    def _segments_to_merge(self) -> list[Segment]:
        counts = [len(segment.piece) for segment in self._segments]
        chosen = select_merge(counts, self._limits.tail, self._limits.fan, self._limits.max_file)
        return self._segments[chosen] if chosen else []

    def _drop_deleted(self, db: Connection, interrupted: Callable[[], bool]) -> None:
        total = sum(map(len, self._pieces))
        if total - vectors.count(db, self._embedder.id) <= _MAX_DELETED * total:
            return
        for segment in list(self._segments):
            alive = len(vectors.list_existing(db, self._embedder.id, *segment.span))
            if len(segment.piece) - alive > _MAX_DELETED * len(segment.piece):
                self._write(db, segment.span, [segment.piece], interrupted)

    def _write(self, db: Connection, span: Span, pieces: Sequence[Piece], interrupted: Callable[[], bool]) -> None:
        """Write a file with the remaining rows of these pieces, replacing the files that held them."""
        alive = vectors.list_existing(db, self._embedder.id, *span)
        self._folder.write(span, [(piece, _rows(piece, alive)) for piece in pieces], interrupted)
        with self._lock:
            self._load_segments(db)


def _highest_id(segments: Sequence[Segment]) -> int:
    return segments[-1].span.high if segments else 0


def _pieces(segments: Sequence[Segment]) -> list[Piece]:
    """The pieces of the segments, each row once: neighbours overlap if two processes wrote at the same time."""
    pieces, reached = [], 0
    for segment in segments:
        pieces.append(segment.piece.after(reached))
        reached = segment.span.high
    return pieces


def _all_rows(piece: Piece) -> Whole:
    import numpy

    return numpy.arange(len(piece))


def _rows(piece: Piece, ids: Sequence[int]) -> Whole:
    """The positions of these ids."""
    import numpy

    return numpy.flatnonzero(numpy.isin(piece.ids, numpy.array(ids, numpy.int64), assume_unique=True))


def has_dimension(vector: bytes, embedder: Embedder) -> bool:
    """Whether it can be one of the embedder's vectors at all."""
    return len(vector) == 4 * embedder.dimension


def matches_database(db: Connection, embedder: Embedder, segment: Segment) -> bool:
    """Compare rows at some positions and at the end: if an older copy replaced the database, ids were assigned again
    from some point on. Rows that the database no longer has prove nothing."""
    last = max(0, len(segment.piece) - _ROWS_EACH)
    for position in sorted({last * probe // (_POSITIONS - 1) for probe in range(_POSITIONS)}):
        after = int(segment.piece.ids[position]) - 1 if len(segment.piece) else segment.span.low
        for id_, file_id, vector in vectors.list_after(db, embedder.id, after, _ROWS_EACH):
            if id_ > segment.span.high:
                break
            if has_dimension(vector, embedder) and not _contains(segment, id_, file_id, vector):
                return False
    return True


def _contains(segment: Segment, id_: int, file_id: int, vector: bytes) -> bool:
    piece = segment.piece
    position = int(piece.ids.searchsorted(id_))
    return (
        position < len(piece)
        and int(piece.ids[position]) == id_
        and int(piece.files[position]) == file_id
        and piece.vectors[position].tobytes() == vector
    )
