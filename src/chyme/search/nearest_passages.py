"""The passages that are near enough to what is meant."""

from __future__ import annotations

from collections.abc import Sequence

from chyme.search.index import Index
from chyme.search.ranking.fusion import DEPTH
from chyme.search.ranking.matches import Match
from chyme.search.tables.embedders import Embedder
from chyme.search.tables.keyword_queries import Condition

_PASSAGES = 3 * DEPTH
_MOST = 16 * _PASSAGES  # a book of thousands of passages that are all near must not hide all other files


def nearest_passages(
    index: Index, vector: Sequence[float], embedder: Embedder, where: Condition, floor: float
) -> tuple[list[Match], bool]:
    """Passages of at least DEPTH files, if so many are near enough, nearest first; whether these are all."""
    count = _PASSAGES
    while True:
        found = index.find_by_meaning(vector, embedder, where, count)
        near = [match for match in found if match.score >= floor]
        everything = len(near) < len(found) or len(found) < count
        if everything or count >= _MOST or len({match.file_id for match in near}) >= DEPTH:
            return near, everything
        count *= 4
