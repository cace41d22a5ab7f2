"""Find the vectors nearest to a given one in pieces: by their signs first if there are many, then by their cosines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from chyme.search.vectors.binary_codes import cosines, count_differing, find_lowest, pack_signs, top_scores
from chyme.search.vectors.segment import Piece

if TYPE_CHECKING:
    from chyme.search.vectors.binary_codes import Floats, Whole

FEW = 5000  # up to so many vectors, multiplying them all is cheapest
SHARE = 0.035  # of all vectors is compared exactly
AT_LEAST = 16  # times the wanted number is compared exactly

Near = list[tuple[int, float]]


def nearest(pieces: Sequence[Piece], query_vector: Floats, count: int, few: int = FEW) -> Near:
    """The ids with the highest cosines, best first."""
    total = sum(map(len, pieces))
    if total <= max(few, count):
        return _rank_all(pieces, [cosines(piece.vectors, query_vector) for piece in pieces], count)
    return _rank_rows(
        pieces, _select_by_signs(pieces, query_vector, max(AT_LEAST * count, round(SHARE * total))), query_vector, count
    )


def nearest_of(pieces: Sequence[Piece], query_vector: Floats, count: int, allowed: Sequence[int]) -> Near:
    """The same among these ascending ids only; all of them are compared exactly."""
    import numpy

    ids = numpy.array(allowed, numpy.int64)
    rows = []
    for piece in pieces:
        positions = piece.ids.searchsorted(ids)
        inside = positions < len(piece)
        positions, wanted = positions[inside], ids[inside]
        rows.append(positions[piece.ids[positions] == wanted])
    return _rank_rows(pieces, rows, query_vector, count)


def _select_by_signs(pieces: Sequence[Piece], query_vector: Floats, wanted: int) -> list[Whole]:
    """The rows of each piece whose signs differ least from the question's."""
    import numpy

    code = pack_signs(query_vector.reshape(1, -1))[:, 0]
    differing = numpy.empty(sum(map(len, pieces)), numpy.uint16)
    begin = 0
    for piece in pieces:
        count_differing(piece.codes, code, differing[begin : begin + len(piece)])
        begin += len(piece)
    rows = find_lowest(differing, wanted)
    ends = numpy.cumsum([len(piece) for piece in pieces])
    parts = numpy.split(rows, rows.searchsorted(ends)[:-1])
    return [part - (end - len(piece)) for part, end, piece in zip(parts, ends, pieces, strict=True)]


def _rank_rows(pieces: Sequence[Piece], rows: Sequence[Whole], query_vector: Floats, count: int) -> Near:
    import numpy

    scores = [cosines(piece.vectors, query_vector, chosen) for piece, chosen in zip(pieces, rows, strict=True)]
    ids = [piece.ids[chosen] for piece, chosen in zip(pieces, rows, strict=True)]
    return top_scores(numpy.concatenate(ids), numpy.concatenate(scores), count) if pieces else []


def _rank_all(pieces: Sequence[Piece], scores: Sequence[Floats], count: int) -> Near:
    import numpy

    return (
        top_scores(numpy.concatenate([piece.ids for piece in pieces]), numpy.concatenate(scores), count)
        if pieces
        else []
    )
