"""Whether a file of vectors says what the database says."""

from __future__ import annotations

from sqlite3 import Connection

from chyme.search.tables import vectors
from chyme.search.tables.embedders import Embedder
from chyme.search.vectors.segment import Segment

_PROBES, _PROBED = 5, 8  # places held against the database, and rows at each


def has_dimension(vector: bytes, embedder: Embedder) -> bool:
    """Whether it can be one of the embedder's at all."""
    return len(vector) == 4 * embedder.dimension


def matches_database(db: Connection, embedder: Embedder, segment: Segment) -> bool:
    """Here and there, and at the end: where an older copy took the database's place, ids were given again from some
    point on. Rows the database no longer has prove nothing."""
    last = max(0, len(segment.piece) - _PROBED)
    for place in sorted({last * probe // (_PROBES - 1) for probe in range(_PROBES)}):
        after = int(segment.piece.ids[place]) - 1 if len(segment.piece) else segment.span.low
        for id_, file_id, vector in vectors.list_after(db, embedder.id, after, _PROBED):
            if id_ > segment.span.high:
                break
            if has_dimension(vector, embedder) and not _holds(segment, id_, file_id, vector):
                return False
    return True


def _holds(segment: Segment, id_: int, file_id: int, vector: bytes) -> bool:
    piece = segment.piece
    at = int(piece.ids.searchsorted(id_))
    return (
        at < len(piece)
        and int(piece.ids[at]) == id_
        and int(piece.files[at]) == file_id
        and piece.vectors[at].tobytes() == vector
    )
