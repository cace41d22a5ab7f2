"""Search by larger engines: Meilisearch finds words, Qdrant meaning; the database says what is shown."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from sqlite3 import Connection

from chyme.search.engines.http_client import ServerFailed
from chyme.search.engines.keyword_search import find_by_words
from chyme.search.engines.vault_engines import VaultEngines
from chyme.search.index import Index, KeywordMatches
from chyme.search.query.parser import Query
from chyme.search.ranking.matches import Match
from chyme.search.tables import engine_outbox, engine_result_checks, keyword_queries, vectors
from chyme.search.tables.embedders import Embedder
from chyme.search.tables.keyword_queries import Condition

REST_SECONDS = 10.0
_MOST_BEHIND = 1000  # files the engines may lack; these are looked up in the vault's own index
_FEW_FILES = 5000  # so many may be named to an engine
_LOOKS = (200, 1000, 5000)  # points taken, growing while too few of them meet the conditions
_ANY = keyword_queries.all_of(()).sql


class RemoteIndex:
    """An `Index` on both servers. Where they are away or far behind, the vault's own index answers and it says so."""

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
        self._words, self._meaning = _Breaker(monotonic), _Breaker(monotonic)

    def find_by_words(self, query: Query, where: Condition, last: int) -> KeywordMatches:
        db = self._read()
        if not query.terms:
            return self._local.find_by_words(query, where, last)
        waiting, why_not = _waiting(db, self._words)
        if why_not is None:
            try:
                found = find_by_words(db, self._engines, query, where, _few(db, where), last, waiting)
            except ServerFailed as error:
                why_not = self._words.failed(error)
            else:
                unknown = waiting or engine_outbox.list_local_only(db)
                return self._with_waiting(found, query, where, last) if unknown else found
        known = self._local.find_by_words(query, where, last)
        note = f"{why_not}; the vault's own index answered"
        return KeywordMatches(known.files, known.total, known.exact, (*known.notes, note))

    def find_by_meaning(self, vector: Sequence[float], embedder: Embedder, where: Condition, count: int) -> list[Match]:
        db = self._read()
        waiting, why_not = _waiting(db, self._meaning)
        if why_not is not None:
            return self._local.find_by_meaning(vector, embedder, where, count)
        try:
            found = self._near(db, vector, embedder, where, count, waiting)
        except ServerFailed as error:
            self._meaning.failed(error)
            return self._local.find_by_meaning(vector, embedder, where, count)
        if waiting or engine_outbox.list_local_only(db):
            found += self._local.find_by_meaning(vector, embedder, _and_waiting(where), count)
            found.sort(key=lambda match: (-match.score, match.passage_id))
        return found[:count]

    def meaning_note(self, embedder: Embedder) -> str | None:
        """Why the vault's own vectors answer, if they do."""
        _, why_not = _waiting(self._read(), self._meaning)
        if why_not is None:
            return None
        return self._local.meaning_note(embedder) or f"{why_not}; the vault's own index answered"

    def _with_waiting(self, found: KeywordMatches, query: Query, where: Condition, last: int) -> KeywordMatches:
        """Both scores are BM25 over much the same texts, so they may stand in one list."""
        fresh = self._local.find_by_words(query, _and_waiting(where), last)
        files = sorted((*found.files, *fresh.files), key=lambda file: (-file.score, file.file_id))
        return KeywordMatches(tuple(files[:last]), found.total + fresh.total, found.exact and fresh.exact, found.notes)

    def _near(
        self,
        db: Connection,
        vector: Sequence[float],
        embedder: Embedder,
        where: Condition,
        count: int,
        but: Collection[int],
    ) -> list[Match]:
        among = _few(db, where)
        if among is not None and not among:
            return []
        collection = self._engines.collection(embedder.id)
        found: list[Match] = []
        for look in (count, *(look for look in _LOOKS if look > count)):
            near = self._engines.meaning.find_nearest(collection, vector, look, among)
            known = vectors.visible(db, [point.id for point in near], where)
            found = [
                Match(point.id, point.file_id, point.score)
                for point in near
                if known.get(point.id) == point.file_id and point.file_id not in but
            ]
            if len(found) >= count or len(near) < look:
                break
        return found


class _Breaker:
    """After a failure nobody asks again for a while, so that searches stay quick."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._until = 0.0
        self._reason = ""

    @property
    def reason(self) -> str | None:
        """Why not to ask now."""
        return self._reason if self._reason and self._monotonic() < self._until else None

    def failed(self, error: ServerFailed) -> str:
        self._reason, self._until = str(error), self._monotonic() + REST_SECONDS
        return self._reason


def _waiting(db: Connection, breaker: _Breaker) -> tuple[set[int], str | None]:
    """Files of which the engines do not know the present state; or why they are not asked at all."""
    if breaker.reason:
        return set(), breaker.reason
    waiting = {dirty.file_id for dirty in engine_outbox.list_changed(db, _MOST_BEHIND + 1)}
    if len(waiting) > _MOST_BEHIND or not engine_outbox.is_active(db):
        return set(), "the search engines have yet to be told of many files"
    return waiting, None


def _and_waiting(where: Condition) -> Condition:
    return keyword_queries.all_of([where, engine_result_checks.not_pushed_yet()])


def _few(db: Connection, where: Condition) -> list[int] | None:
    """The files that meet the condition, when they are few; None when they are many."""
    if where.sql == _ANY:
        return None
    files = engine_result_checks.files_that_meet(db, where, _FEW_FILES + 1)
    return files if len(files) <= _FEW_FILES else None
