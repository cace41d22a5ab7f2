"""Find passages by meaning: the cache of vectors proposes them, the database decides which are shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from sqlite3 import Connection

from chyme.search.ranking.matches import Match
from chyme.search.tables import vectors
from chyme.search.tables.embedders import Embedder
from chyme.search.tables.keyword_queries import Condition, all_of
from chyme.search.vectors.cache import VectorCache

_ANY = all_of(()).sql
_NOT_ALL = "not all vectors could be read yet; files may be missing that would be found by meaning"
_FIRST_FACTOR, _SECOND_FACTOR = 2, 16  # times the wanted number is fetched: at first, and if that was too little
_FEW, _MANY = 20_000, 200_000  # passages that meet a condition, compared one by one


class SqliteSemanticIndex:
    """The `find_by_meaning` of `Index`, with nothing but the database and its cache of vectors."""

    def __init__(self, read: Callable[[], Connection], cache: VectorCache, few: int = _FEW, many: int = _MANY) -> None:
        self._read = read
        self._cache = cache
        self._few = few
        self._many = many

    def find_by_meaning(self, vector: Sequence[float], embedder: Embedder, where: Condition, count: int) -> list[Match]:
        """Semantic passages nearest to the vector whose files meet the condition, best first; scored by cosine."""
        found, complete = self._find_nearest(vector, embedder, where, count, _FIRST_FACTOR)
        if complete:
            return found
        filtered = where.sql != _ANY
        if filtered and (ids := self._ids_meeting(embedder, where, self._few)) is not None:
            return self._nearest_of(ids, vector, embedder, where, count)
        found, complete = self._find_nearest(vector, embedder, where, count, _SECOND_FACTOR)
        if complete or not filtered or (ids := self._ids_meeting(embedder, where, self._many)) is None:
            return found
        return self._nearest_of(ids, vector, embedder, where, count)

    def meaning_note(self, embedder: Embedder) -> str | None:
        return None if self._cache.is_current(embedder) else _NOT_ALL

    def _find_nearest(
        self, vector: Sequence[float], embedder: Embedder, where: Condition, count: int, factor: int
    ) -> tuple[list[Match], bool]:
        """The nearest passages that meet the condition; and whether these are as many as wanted, or all there are."""
        near = self._cache.nearest(vector, embedder, factor * count)
        found = self._visible_matches(near, where)
        if where.sql == _ANY:
            self._cache.count_deleted(embedder, len(near) - len(found))
        return found[:count], len(found) >= count or len(near) < factor * count

    def _ids_meeting(self, embedder: Embedder, where: Condition, limit: int) -> list[int] | None:
        """All passages of files that meet the condition, lowest id first; None if there are too many."""
        ids = vectors.ids_of_files_where(self._read(), embedder.id, where, limit + 1)
        return sorted(ids) if len(ids) <= limit else None

    def _nearest_of(
        self, ids: Sequence[int], vector: Sequence[float], embedder: Embedder, where: Condition, count: int
    ) -> list[Match]:
        return self._visible_matches(self._cache.nearest(vector, embedder, count, ids), where)

    def _visible_matches(self, near: Sequence[tuple[int, float]], where: Condition) -> list[Match]:
        files = vectors.visible(self._read(), [id_ for id_, _ in near], where)
        return [Match(id_, files[id_], cosine) for id_, cosine in near if id_ in files]
