"""How near a passage must be to a question to have anything to do with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from sqlite3 import Connection
from typing import TYPE_CHECKING

from chyme.search.tables import vectors
from chyme.search.tables.embedders import Embedder

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]

# Cosines at which questions about nothing in the vault end, by the beginnings of the models' names.
_KNOWN = {"all-minilm-l6-v2": 0.25}
_UNKNOWN = 0.25  # what is left of the way from a passage that has nothing to do with the question to an equal one
_UNRELATED = 0.1  # of all passages at least so many have nothing to do with a question
_STRATA, _OF_EACH = 20, 10  # passages compared: some from every part of the vault
_FEWEST = 8  # fewer passages tell nothing about the others


@dataclass(frozen=True, slots=True)
class _Sample:
    highest: int
    rows: Floats | None


class SimilarityThresholds:
    """Knows models by name; others by how near a sample of the vault is to the question."""

    def __init__(self) -> None:
        self._samples: dict[int, _Sample] = {}

    def threshold(self, db: Connection, embedder: Embedder, vector: Sequence[float]) -> float:
        """The least cosine of a passage that may be shown for its meaning alone."""
        known = next((floor for name, floor in _KNOWN.items() if embedder.model.lower().startswith(name)), None)
        if known is not None:
            return known
        rows = self._sample(db, embedder)
        if rows is None or rows.shape[1] != len(vector):
            return _UNKNOWN
        import numpy

        cosines = rows @ numpy.array(vector, numpy.float32)
        unrelated = float(numpy.quantile(cosines, _UNRELATED))
        return unrelated + _UNKNOWN * (1 - unrelated)

    def _sample(self, db: Connection, embedder: Embedder) -> Floats | None:
        """Taken again when the vault has grown by a tenth."""
        highest = vectors.highest_id(db, embedder.id)
        held = self._samples.get(embedder.id)
        if held is None or not held.highest <= highest <= held.highest * 1.1:
            held = self._samples[embedder.id] = _Sample(highest, _rows(db, embedder, highest))
        return held.rows


def _rows(db: Connection, embedder: Embedder, highest: int) -> Floats | None:
    import numpy

    found: dict[int, bytes] = {}
    for stratum in range(_STRATA):
        rows = vectors.list_after(db, embedder.id, highest * stratum // _STRATA, _OF_EACH)
        found |= {id_: vector for id_, _, vector in rows}
    if len(found) < _FEWEST:
        return None
    return numpy.frombuffer(b"".join(found.values()), "<f4").reshape(len(found), -1)
