"""Check whether a file of vectors agrees with the database."""

from __future__ import annotations

from sqlite3 import Connection

from chyme.search.tables import vectors
from chyme.search.tables.embedders import Embedder
from chyme.search.vectors.segment import Segment

_POSITIONS, _ROWS_EACH = 5, 8  # positions compared with the database, and rows at each


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
