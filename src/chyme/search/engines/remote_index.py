"""Search with the larger engines: Meilisearch by words, Qdrant by meaning; the database decides what is shown."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from sqlite3 import Connection

from chyme.search.engines.http_client import ServerFailed
from chyme.search.engines.keyword_search import find_by_words
from chyme.search.engines.vault_engines import VaultEngines
from chyme.search.index import Index, KeywordMatches
from chyme.search.query.parser import Query
from chyme.search.ranking.keyword_ranking import Match
from chyme.search.tables import engine_outbox, keyword_queries, vectors
from chyme.search.tables.embedders import Embedder
from chyme.search.tables.keyword_queries import Condition

REST_SECONDS = 10.0
_MAX_BEHIND = 1000  # files the engines may be behind; these are looked up in the vault's own index
_MAX_LISTED = 5000  # the most that are listed in an engine's filter
_POINT_LIMITS = (200, 1000, 5000)  # numbers of points to fetch, growing while too few of them meet the conditions
_ANY = keyword_queries.all_of(()).sql


class RemoteIndex:
    """An `Index` on both servers. If they are unreachable or far behind, the vault's own index answers, with a note."""

    def __init__(
        self,
        read: Callable[[], Connection],
        local: Index,
        engines: VaultEngines,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._local = local
        self._engines = engines
        self._words_breaker, self._meaning_breaker = _CircuitBreaker(monotonic), _CircuitBreaker(monotonic)

    def find_by_words(self, query: Query, where: Condition, last: int) -> KeywordMatches:
        db = self._read()
        if not query.terms:
            return self._local.find_by_words(query, where, last)
        unpushed, why_not = _unpushed_files(db, self._words_breaker)
        if why_not is None:
            try:
                found = find_by_words(db, self._engines, query, where, _files_if_few(db, where), last, unpushed)
            except ServerFailed as error:
                why_not = self._words_breaker.record_failure(error)
            else:
                has_local_only = unpushed or engine_outbox.list_local_only(db)
                return self._add_unpushed(found, query, where, last) if has_local_only else found
        local = self._local.find_by_words(query, where, last)
        note = f"{why_not}; the vault's own index answered"
        return KeywordMatches(local.files, local.total, local.exact, (*local.notes, note))

    def find_by_meaning(self, vector: Sequence[float], embedder: Embedder, where: Condition, count: int) -> list[Match]:
        db = self._read()
        unpushed, why_not = _unpushed_files(db, self._meaning_breaker)
        if why_not is not None:
            return self._local.find_by_meaning(vector, embedder, where, count)
        try:
            found = self._find_nearest(vector, embedder, where, count, unpushed)
        except ServerFailed as error:
            self._meaning_breaker.record_failure(error)
            return self._local.find_by_meaning(vector, embedder, where, count)
        if unpushed or engine_outbox.list_local_only(db):
            found += self._local.find_by_meaning(vector, embedder, _and_not_pushed(where), count)
            found.sort(key=lambda match: (-match.score, match.passage_id))
        return found[:count]

    def meaning_note(self, embedder: Embedder) -> str | None:
        """Why the vault's own vectors answer, if they do."""
        _, why_not = _unpushed_files(self._read(), self._meaning_breaker)
        if why_not is None:
            return None
        return self._local.meaning_note(embedder) or f"{why_not}; the vault's own index answered"

    def _add_unpushed(self, found: KeywordMatches, query: Query, where: Condition, last: int) -> KeywordMatches:
        """Add files that were not pushed yet. Both scores are BM25 over much the same texts, so they can be mixed."""
        local = self._local.find_by_words(query, _and_not_pushed(where), last)
        files = sorted((*found.files, *local.files), key=lambda file: (-file.score, file.file_id))
        return KeywordMatches(tuple(files[:last]), found.total + local.total, found.exact and local.exact, found.notes)

    def _find_nearest(
        self, vector: Sequence[float], embedder: Embedder, where: Condition, count: int, excluded: Collection[int]
    ) -> list[Match]:
        db = self._read()
        among = _files_if_few(db, where)
        if among is not None and not among:
            return []
        collection = self._engines.collection(embedder.id)
        found: list[Match] = []
        for limit in (count, *(limit for limit in _POINT_LIMITS if limit > count)):
            near = self._engines.meaning.find_nearest(collection, vector, limit, among)
            visible = vectors.visible(db, [match.passage_id for match in near], where)
            found = [
                match
                for match in near
                if visible.get(match.passage_id) == match.file_id and match.file_id not in excluded
            ]
            if len(found) >= count or len(near) < limit:
                break
        return found


class _CircuitBreaker:
    """After a failure, no request is made for a while, so that searches stay quick."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._until = 0.0
        self._reason = ""

    @property
    def reason(self) -> str | None:
        """Why no request is made now."""
        return self._reason if self._reason and self._monotonic() < self._until else None

    def record_failure(self, error: ServerFailed) -> str:
        self._reason, self._until = str(error), self._monotonic() + REST_SECONDS
        return self._reason


def _unpushed_files(db: Connection, breaker: _CircuitBreaker) -> tuple[set[int], str | None]:
    """Files whose present state the engines do not have; or why the engines are not asked at all."""
    if breaker.reason:
        return set(), breaker.reason
    unpushed = {changed.file_id for changed in engine_outbox.list_changed(db, _MAX_BEHIND + 1)}
    if len(unpushed) > _MAX_BEHIND or not engine_outbox.is_active(db):
        return set(), "the search engines have yet to be told of many files"
    return unpushed, None


def _and_not_pushed(where: Condition) -> Condition:
    """Also: files whose present state the engines do not have, or which they must not have at all."""
    unpushed = Condition("shelf.file_id IN (SELECT file_id FROM outbox UNION ALL SELECT file_id FROM kept_here)")
    return keyword_queries.all_of([where, unpushed])


def _files_if_few(db: Connection, where: Condition) -> list[int] | None:
    """The files that meet the condition if they are few; None if they are many."""
    if where.sql == _ANY:
        return None
    files = keyword_queries.files_that_meet(db, where, _MAX_LISTED + 1)
    return files if len(files) <= _MAX_LISTED else None
