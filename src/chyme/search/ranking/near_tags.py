"""Find files by the meaning of their tags: a file tagged veterinarian is an answer to "animal doctor"."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from sqlite3 import Connection
from typing import TYPE_CHECKING

from chyme.search.query_embedding.query_vectors import QueryVector
from chyme.search.ranking.word_and_meaning_fusion import DEPTH, NearFile
from chyme.search.tables import tag_vectors
from chyme.search.tables.embedders import Embedder
from chyme.search.tables.keyword_queries import Condition
from chyme.search.vectors import binary_codes
from chyme.understanding.tags.vectors import EMBEDDING_TEMPLATE

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]

Embed = Callable[[str, str], QueryVector]  # a text and a model
MAX_TAGS = 5000  # tags on most files that are compared, 1.5 KB each
NEAR_TAG = 0.40  # cosine: questions about other things reach .27, other words for a tag .40 to .80
MAX_BY_HAND = 12  # newest tags given by hand alone that a search embeds after a change, some 5 ms each
_MAX_NEAR = 5  # nearest tags whose files are found
_BEHIND_BEST = 0.1  # cosine by which a tag may be farther than the nearest one


@dataclass(frozen=True, slots=True)
class NearTag:
    """A tag that means something near to the question."""

    name: str
    cosine: float


@dataclass(frozen=True, slots=True)
class _Tags:
    """The tags of one model as they were at one moment."""

    version: str
    model: str
    names: tuple[str, ...]
    vectors: Floats | None


class TagMeanings:
    """Finds near tags; their vectors are read again after a change. Thread-safe.

    Tags have vectors of the built-in model only: with another embedder there are no near tags.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tags: _Tags | None = None

    def files_near(
        self, db: Connection, vector: Sequence[float], embedder: Embedder, where: Condition, embed: Embed
    ) -> dict[int, NearTag]:
        """Files that meet the condition and have a tag near to the question, each with its nearest tag.

        `embed`: embeds tags that people gave and no digest has embedded.
        """
        near = self._near_tags(db, vector, embedder, embed)
        found: dict[int, NearTag] = {}
        if near:
            for file_id, name in tag_vectors.files_with(db, list(near), where, DEPTH):
                found.setdefault(file_id, near[name])
        return found

    def _near_tags(
        self, db: Connection, vector: Sequence[float], embedder: Embedder, embed: Embed
    ) -> dict[str, NearTag]:
        import numpy

        tags = self._read(db, embedder, embed)
        if tags.vectors is None or tags.vectors.shape[1] != len(vector):
            return {}
        cosines = binary_codes.cosines(tags.vectors, numpy.array(vector, numpy.float32))
        best = numpy.argsort(-cosines, kind="stable")[:_MAX_NEAR]
        least = max(NEAR_TAG, float(cosines[best[0]]) - _BEHIND_BEST)
        near = [NearTag(tags.names[at], float(cosines[at])) for at in best if cosines[at] >= least]
        return {tag.name: tag for tag in near}

    def _read(self, db: Connection, embedder: Embedder, embed: Embed) -> _Tags:
        import numpy

        version = tag_vectors.version(db)
        with self._lock:
            known = self._tags
        if known is not None and (known.version, known.model) == (version, embedder.model):
            return known
        width = 4 * embedder.dimension
        rows = [(name, row) for name, row in tag_vectors.most_used(db, embedder.model, MAX_TAGS) if len(row) == width]
        for name in tag_vectors.given_by_hand(db, MAX_BY_HAND):
            own = embed(EMBEDDING_TEMPLATE.format(name), embedder.model).vector
            if own is not None and len(own) == embedder.dimension:
                rows.append((name, numpy.array(own, "<f4").tobytes()))
        vectors = numpy.frombuffer(b"".join(row for _, row in rows), "<f4").reshape(len(rows), -1) if rows else None
        read = _Tags(version, embedder.model, tuple(name for name, _ in rows), vectors)
        with self._lock:
            self._tags = read
        return read


def add_tagged(near: Sequence[NearFile], tagged: Mapping[int, NearTag], floor: float) -> list[NearFile]:
    """The near files together with those that have a near tag, best first.

    A tag is a word or two: it counts by how much nearer it is than a tag must be, above the floor of passages.
    """
    scores = {file_id: min(1.0, floor + tag.cosine - NEAR_TAG) for file_id, tag in tagged.items()}
    known = {file.file_id for file in near}
    merged = [
        replace(file, score=max(file.score, scores[file.file_id]), tag=tagged[file.file_id].name)
        if file.file_id in tagged
        else file
        for file in near
    ]
    merged += [
        NearFile(file_id, scores[file_id], (), tag.name) for file_id, tag in tagged.items() if file_id not in known
    ]
    return sorted(merged, key=lambda file: (-file.score, file.file_id))
