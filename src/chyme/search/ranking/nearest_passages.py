"""Find the passages that are near enough to a question to count as related."""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection
from typing import TYPE_CHECKING

from chyme.search.index import Index
from chyme.search.ranking.keyword_ranking import Match
from chyme.search.ranking.word_and_meaning_fusion import DEPTH
from chyme.search.tables import vectors
from chyme.search.tables.embedders import Embedder
from chyme.search.tables.keyword_queries import Condition

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]

# The highest cosines of questions about nothing in the vault, by the beginnings of the models' names.
_KNOWN_THRESHOLDS = {"all-minilm-l6-v2": 0.25}
_DEFAULT_THRESHOLD = 0.25  # of the way from an unrelated passage to an identical one
_UNRELATED_SHARE = 0.1  # at least this share of all passages is unrelated to a question
_STRATA, _PER_STRATUM = 20, 10  # passages sampled: some from every part of the vault
_MIN_SAMPLE = 8  # fewer passages say nothing about the others
_PASSAGES = 3 * DEPTH
_MAX_PASSAGES = 16 * _PASSAGES  # a book with thousands of near passages must not hide all other files


class SimilarityThresholds:
    """Knows some models by name; for others it compares the question with a sample of the vault."""

    def __init__(self) -> None:
        self._samples: dict[int, tuple[int, Floats | None]] = {}  # by embedder: its highest id then, and the vectors

    def threshold(self, db: Connection, embedder: Embedder, vector: Sequence[float]) -> float:
        """The least cosine of a passage that may be shown for its meaning alone."""
        known = next(
            (floor for name, floor in _KNOWN_THRESHOLDS.items() if embedder.model.lower().startswith(name)), None
        )
        if known is not None:
            return known
        rows = self._sample(db, embedder)
        if rows is None or rows.shape[1] != len(vector):
            return _DEFAULT_THRESHOLD
        import numpy

        cosines = rows @ numpy.array(vector, numpy.float32)
        unrelated = float(numpy.quantile(cosines, _UNRELATED_SHARE))
        return unrelated + _DEFAULT_THRESHOLD * (1 - unrelated)

    def _sample(self, db: Connection, embedder: Embedder) -> Floats | None:
        """The sample, taken again when the vault has grown by a tenth."""
        highest = vectors.highest_id(db, embedder.id)
        cached = self._samples.get(embedder.id)
        if cached is None or not cached[0] <= highest <= cached[0] * 1.1:
            cached = self._samples[embedder.id] = highest, _read_sample(db, embedder, highest)
        return cached[1]


def _read_sample(db: Connection, embedder: Embedder, highest: int) -> Floats | None:
    import numpy

    found: dict[int, bytes] = {}
    for stratum in range(_STRATA):
        rows = vectors.list_after(db, embedder.id, highest * stratum // _STRATA, _PER_STRATUM)
        found |= {id_: vector for id_, _, vector in rows}
    if len(found) < _MIN_SAMPLE:
        return None
    return numpy.frombuffer(b"".join(found.values()), "<f4").reshape(len(found), -1)


def nearest_passages(
    index: Index, vector: Sequence[float], embedder: Embedder, where: Condition, floor: float
) -> tuple[list[Match], bool]:
    """Passages of at least DEPTH files, if so many are near enough, nearest first; and whether these are all."""
    count = _PASSAGES
    while True:
        found = index.find_by_meaning(vector, embedder, where, count)
        near = [match for match in found if match.score >= floor]
        complete = len(near) < len(found) or len(found) < count
        if complete or count >= _MAX_PASSAGES or len({match.file_id for match in near}) >= DEPTH:
            return near, complete
        count *= 4
