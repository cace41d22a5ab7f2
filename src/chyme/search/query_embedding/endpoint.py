"""Embed questions with the endpoint that also embeds the passages. Every question is sent there."""

from __future__ import annotations

import logging
import threading
import time
from array import array
from concurrent.futures import Future

from chyme.errors import ChymeError, TimedOut
from chyme.models.embedding.passage_embedder import PassageEmbedding
from chyme.models.embedding.remote_service import embed_remotely
from chyme.models.providers.call_ledger import PERSON, PERSONS_WAIT, CallLedger
from chyme.search.query_embedding.query_vectors import Key, QueryVector, QueryVectorCache, key_of

log = logging.getLogger(__name__)

SECONDS = 3.0  # for one question; passages have the configured time
RETRY_PAUSE_SECONDS = 20.0  # seconds without requests after the endpoint was too slow


class EndpointQueryEmbedder:
    """Asks in the caller's thread, within budgets, and skips a provider that is paused or failing."""

    def __init__(
        self,
        settings: PassageEmbedding,
        ledger: CallLedger,
        seconds: float = SECONDS,
        rest: float = RETRY_PAUSE_SECONDS,
    ) -> None:
        self.model = settings.model_name
        self._settings = settings
        self._ledger = ledger
        self._seconds = min(seconds, settings.seconds)
        self._rest = rest
        self._cache = QueryVectorCache()
        self._lock = threading.Lock()
        self._pending: dict[Key, Future[QueryVector]] = {}
        self._slow_until = 0.0

    def embed(self, text: str, model: str) -> QueryVector:
        key = key_of(text, model)
        if model != self.model or not key[1]:
            return QueryVector(None, f"{model} cannot be asked any more" if key[1] else None)
        with self._lock:
            known = self._cache.get(key)
            if known is not None:
                return known
            pending = self._pending.get(key)
            future = self._pending[key] = Future() if pending is None else pending
        if pending is not None:
            return self._wait_for(pending)
        try:
            vector = self._request(key)
        except Exception:
            log.exception("a question could not be asked")
            vector = QueryVector(None, "the question could not be asked; the log says why")
        finally:
            with self._lock:
                del self._pending[key]
        future.set_result(vector)
        return vector

    def _wait_for(self, pending: Future[QueryVector]) -> QueryVector:
        """The answer to the same question of another thread."""
        try:
            return pending.result(self._seconds + 2 * PERSONS_WAIT)
        except TimeoutError:
            return self._too_slow()

    def _request(self, key: Key) -> QueryVector:
        if time.monotonic() < self._slow_until:
            return self._too_slow()
        try:
            row = embed_remotely(
                self._settings, [key[1]], self._ledger.calls_for_search(), name=PERSON.name, seconds=self._seconds
            )
        except ChymeError as error:
            if isinstance(error, TimedOut) and error.tried:
                self._slow_until = time.monotonic() + self._rest
                return self._too_slow()
            return QueryVector(None, str(error).removeprefix(f"{PERSON.name}: "))
        vector = QueryVector(tuple(array("f", row)))
        self._cache.put(key, vector)
        return vector

    def _too_slow(self) -> QueryVector:
        return QueryVector(None, f"{self.model} does not answer within {self._seconds:g} seconds")
