"""The newest vectors, in memory until there are enough of them for a file."""

from __future__ import annotations

from collections.abc import Sequence

from chyme.search.vectors.binary_codes import pack_signs, words_for
from chyme.search.vectors.segment import Piece


class MemoryBuffer:
    """Rows are only added after those that another thread may be reading."""

    def __init__(self, dimension: int, capacity: int) -> None:
        self._dimension = dimension
        self._capacity = capacity  # rows per buffer
        self._full: list[Piece] = []
        self._buffer = self._empty(0)
        self._start = self._end = 0  # the used rows of the buffer

    def __len__(self) -> int:
        return sum(map(len, self._full)) + self._end - self._start

    @property
    def room(self) -> int:
        """How many rows may be added at once."""
        return len(self._buffer) - self._end or self._capacity

    def add(self, rows: Sequence[tuple[int, int, bytes]]) -> None:
        """Add vectors with ids above all others: id, file and vector."""
        import numpy

        if self._end == len(self._buffer):
            self._full = self.pieces()
            self._buffer, self._start, self._end = self._empty(self._capacity), 0, 0
        part = self._buffer.between(self._end, self._end + len(rows))
        part.ids[:] = [id_ for id_, _, _ in rows]
        part.files[:] = [file_id for _, file_id, _ in rows]
        vectors = numpy.frombuffer(b"".join(vector for _, _, vector in rows), "<f4")
        part.vectors[:] = vectors.reshape(len(rows), self._dimension)
        part.codes[:] = pack_signs(part.vectors)
        self._end += len(rows)

    def drop(self, up_to: int) -> None:
        """Drop the rows up to this id, which a file holds now."""
        self._full = [remaining for piece in self._full if len(remaining := piece.after(up_to))]
        self._start = self._end - len(self._current().after(up_to))
        if self._start == self._end:
            self._buffer, self._start, self._end = self._empty(0), 0, 0

    def pieces(self) -> list[Piece]:
        """The present rows, lowest id first."""
        return [*self._full, self._current()] if self._start < self._end else list(self._full)

    def _current(self) -> Piece:
        return self._buffer.between(self._start, self._end)

    def _empty(self, capacity: int) -> Piece:
        import numpy

        return Piece(
            numpy.empty(capacity, numpy.int64),
            numpy.empty(capacity, numpy.int64),
            numpy.empty((words_for(self._dimension), capacity), numpy.uint64),
            numpy.empty((capacity, self._dimension), numpy.float32),
        )
