"""The vectors nearest to one, among pieces: by their signs first where there are many, then by their cosines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from chyme.search.vectors.binary_codes import cosines, count_differing, find_lowest, pack_signs, top_scores
from chyme.search.vectors.segment import Piece

if TYPE_CHECKING:
    from chyme.search.vectors.binary_codes import Floats, Whole

FEW = 5000  # up to so many it costs least to multiply them all
SHARE = 0.035  # of all is looked at closely
AT_LEAST = 16  # times what is wanted is looked at closely

Near = list[tuple[int, float]]


def nearest(pieces: Sequence[Piece], asked: Floats, count: int, few: int = FEW, share: float = SHARE) -> Near:
    """The ids with the highest cosines, best first."""
    total = sum(map(len, pieces))
    if total <= max(few, count):
        return _best(pieces, [cosines(piece.vectors, asked) for piece in pieces], count)
    return _among(pieces, _close(pieces, asked, max(AT_LEAST * count, round(share * total))), asked, count)


def nearest_of(pieces: Sequence[Piece], asked: Floats, count: int, allowed: Sequence[int]) -> Near:
    """The same among these ids alone, which rise; all of them are looked at closely."""
    import numpy

    ids = numpy.array(allowed, numpy.int64)
    rows = []
    for piece in pieces:
        at = piece.ids.searchsorted(ids)
        inside = at < len(piece)
        at, wanted = at[inside], ids[inside]
        rows.append(at[piece.ids[at] == wanted])
    return _among(pieces, rows, asked, count)


def _close(pieces: Sequence[Piece], asked: Floats, wanted: int) -> list[Whole]:
    """Rows of each piece whose signs differ least from those asked for."""
    import numpy

    code = pack_signs(asked.reshape(1, -1))[:, 0]
    differing = numpy.empty(sum(map(len, pieces)), numpy.uint16)
    begin = 0
    for piece in pieces:
        count_differing(piece.codes, code, differing[begin : begin + len(piece)])
        begin += len(piece)
    rows = find_lowest(differing, wanted)
    ends = numpy.cumsum([len(piece) for piece in pieces])
    parts = numpy.split(rows, rows.searchsorted(ends)[:-1])
    return [part - (end - len(piece)) for part, end, piece in zip(parts, ends, pieces, strict=True)]


def _among(pieces: Sequence[Piece], rows: Sequence[Whole], asked: Floats, count: int) -> Near:
    import numpy

    scores = [cosines(piece.vectors, asked, at) for piece, at in zip(pieces, rows, strict=True)]
    ids = [piece.ids[at] for piece, at in zip(pieces, rows, strict=True)]
    return top_scores(numpy.concatenate(ids), numpy.concatenate(scores), count) if pieces else []


def _best(pieces: Sequence[Piece], scores: Sequence[Floats], count: int) -> Near:
    import numpy

    return (
        top_scores(numpy.concatenate([piece.ids for piece in pieces]), numpy.concatenate(scores), count)
        if pieces
        else []
    )
