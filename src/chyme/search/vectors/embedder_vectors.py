"""The vectors of one embedder, ready to be searched: mapped files, and the newest in memory."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from sqlite3 import Connection
from typing import TYPE_CHECKING

from chyme.search.tables import vector_ids, vectors
from chyme.search.tables.embedders import Embedder
from chyme.search.vectors.id_ranges import Span, select_merge
from chyme.search.vectors.memory_buffer import MemoryBuffer
from chyme.search.vectors.segment import Piece, Segment
from chyme.search.vectors.segment_check import has_dimension, matches_database
from chyme.search.vectors.segment_folder import SegmentFolder

if TYPE_CHECKING:
    from chyme.search.vectors.binary_codes import Whole

log = logging.getLogger(__name__)

_MOST_DEAD = 0.2
_PATIENCE = 2.0  # seconds to wait for somebody who reads a large backlog, before what is here must do


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """How many vectors go where."""

    tail: int = 2048  # as many in memory are worth a file
    chunk: int = 8192  # at most so many wait in memory while a backlog is read
    fan: int = 4  # files of one size that become one
    most: int = 524_288  # in one file: while it is copied, its room is taken twice


class EmbedderVectors:
    """Everything the database says about one embedder's vectors, except that some may have gone since.

    Any number of threads may ask for the pieces while one brings them up to date.
    """

    def __init__(
        self, shelf: SegmentFolder, read: Callable[[], Connection], embedder: Embedder, amounts: SizeLimits
    ) -> None:
        self._shelf = shelf
        self._read = read
        self._embedder = embedder
        self._amounts = amounts
        self._guard = threading.Lock()
        self._segments: list[Segment] = []
        self._tail = MemoryBuffer(embedder.dimension, amounts.tail)
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
        """Whether there is something for `tend` to do."""
        return len(self._tail) >= self._amounts.tail or bool(self._to_join())

    def refresh(self, most: int | None) -> bool:
        """Read what is new, at most about so many rows unless that is None; whether that was everything."""
        db = self._read()
        if self._opened and vectors.highest_id(db, self._embedder.id) <= self._highest:
            return True
        if not self._guard.acquire(timeout=-1 if most is None else _PATIENCE):
            return False
        try:
            if not self._opened:
                self._open(db)
            return self._catch_up(db, most)
        finally:
            self._guard.release()

    def _open(self, db: Connection) -> None:
        self._take_from_shelf(db)
        if self._highest > vector_ids.last_assigned(db):
            log.warning("the database is older than the vectors read from it; they are read again")
            self._start_over()
        self._opened = True

    def _catch_up(self, db: Connection, most: int | None) -> bool:
        count = 0
        while most is None or count < most:
            if len(self._tail) >= self._amounts.chunk and not self._flush(db):
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
        """Make a file of the tail; False when there is no writing here."""
        try:
            self._shelf.write(self._tail_span(), [(piece, _all(piece)) for piece in self._tail.pieces()])
        except OSError:
            return False
        self._take_from_shelf(db)
        return True

    def _tail_span(self) -> Span:
        return Span(_reached(self._segments), self._highest)

    def _take_from_shelf(self, db: Connection) -> None:
        """Hold what lies on the shelf now, whoever put it there."""
        known = {segment.path: segment for segment in self._segments}
        segments = self._shelf.segments(known)
        for segment in segments:
            if known.get(segment.path) is not segment and not matches_database(db, self._embedder, segment):
                log.warning("%s does not agree with the database; all vectors are read again", segment.path.name)
                self._start_over()
                return
        before = _reached(self._segments)
        self._segments = segments
        if _reached(segments) < before:
            self._forget_the_rest()
        else:
            self._tail.drop(_reached(segments))
            self._highest = max(self._highest, _reached(segments))
            self._publish()

    def _start_over(self) -> None:
        self._shelf.clear()
        self._segments = []
        self._forget_the_rest()

    def _forget_the_rest(self) -> None:
        """What lies on the shelf is all that is here; the rest is read again."""
        self._highest = _reached(self._segments)
        self._tail = MemoryBuffer(self._embedder.dimension, self._amounts.tail)
        self._publish()

    def _publish(self) -> None:
        self._pieces = (*_pieces(self._segments), *self._tail.pieces())

    def compact(self, interrupted: Callable[[], bool] = lambda: False) -> None:
        """Make a file of the tail, larger files of small ones, and let go of vectors that are gone."""
        with self._shelf.lock_cleanup() as alone:
            if not alone:
                return  # another process is at it
            db = self._read()
            with self._guard:
                self._take_from_shelf(db)
                span, waiting = self._tail_span(), self._tail.pieces()
            if len(self._tail) >= self._amounts.tail:
                self._write(db, span, waiting, interrupted)
            self._let_go(db, interrupted)
            while joined := self._to_join():
                self._write(db, Span(joined[0].span.low, joined[-1].span.high), _pieces(joined), interrupted)
            self._shelf.remove_superseded(self._segments)

    def _to_join(self) -> list[Segment]:
        counts = [len(segment.piece) for segment in self._segments]
        chosen = select_merge(counts, self._amounts.tail, self._amounts.fan, self._amounts.most)
        return self._segments[chosen] if chosen else []

    def _let_go(self, db: Connection, interrupted: Callable[[], bool]) -> None:
        held = sum(map(len, self._pieces))
        if held - vectors.count(db, self._embedder.id) <= _MOST_DEAD * held:
            return
        for segment in list(self._segments):
            alive = len(vector_ids.list_existing(db, self._embedder.id, *segment.span))
            if len(segment.piece) - alive > _MOST_DEAD * len(segment.piece):
                self._write(db, segment.span, [segment.piece], interrupted)

    def _write(self, db: Connection, span: Span, pieces: Sequence[Piece], interrupted: Callable[[], bool]) -> None:
        """A file of what is still there of these pieces, in the place of whatever held them."""
        alive = vector_ids.list_existing(db, self._embedder.id, *span)
        self._shelf.write(span, [(piece, _rows(piece, alive)) for piece in pieces], interrupted)
        with self._guard:
            self._take_from_shelf(db)


def _reached(segments: Sequence[Segment]) -> int:
    return segments[-1].span.high if segments else 0


def _pieces(segments: Sequence[Segment]) -> list[Piece]:
    """What they hold, each row once: neighbours overlap when two processes wrote at the same time."""
    pieces, reached = [], 0
    for segment in segments:
        pieces.append(segment.piece.after(reached))
        reached = segment.span.high
    return pieces


def _all(piece: Piece) -> Whole:
    import numpy

    return numpy.arange(len(piece))


def _rows(piece: Piece, ids: Sequence[int]) -> Whole:
    """Where these ids stand."""
    import numpy

    return numpy.flatnonzero(numpy.isin(piece.ids, numpy.array(ids, numpy.int64), assume_unique=True))
