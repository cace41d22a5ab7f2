"""What questions mean, as the endpoint tells that embeds the passages too. Whatever is asked goes there."""

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
from chyme.search.query_embedding.cache import Key, QueryVectorCache, key_of
from chyme.search.query_embedding.protocol import QueryVector

log = logging.getLogger(__name__)

SECONDS = 3.0  # a question may take; passages have all the time that is set
RETRY_PAUSE_SECONDS = 20.0  # seconds for which nobody waits for an endpoint that was too slow


class EndpointQueryEmbedder:
    """Asks in the caller's thread, within budgets, and leaves a provider alone that is paused or at fault."""

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
        self._recent = QueryVectorCache()
        self._guard = threading.Lock()
        self._under_way: dict[Key, Future[QueryVector]] = {}
        self._slow_until = 0.0

    def embed(self, text: str, model: str) -> QueryVector:
        key = key_of(text, model)
        if model != self.model or not key[1]:
            return QueryVector(None, f"{model} cannot be asked any more" if key[1] else None)
        with self._guard:
            known = self._recent.get(key)
            if known is not None:
                return known
            asked = self._under_way.get(key)
            mine = self._under_way[key] = Future() if asked is None else asked
        if asked is not None:
            return self._waited_for(asked)
        try:
            meant = self._asked(key)
        except Exception:
            log.exception("a question could not be asked")
            meant = QueryVector(None, "the question could not be asked; the log tells why")
        finally:
            with self._guard:
                del self._under_way[key]
        mine.set_result(meant)
        return meant

    def _waited_for(self, asked: Future[QueryVector]) -> QueryVector:
        """What somebody else is being told who asks the same."""
        try:
            return asked.result(self._seconds + 2 * PERSONS_WAIT)
        except TimeoutError:
            return self._slow()

    def _asked(self, key: Key) -> QueryVector:
        if time.monotonic() < self._slow_until:
            return self._slow()
        try:
            row = embed_remotely(
                self._settings, [key[1]], self._ledger.calls_for_search(), name=PERSON.name, seconds=self._seconds
            )
        except ChymeError as error:
            if isinstance(error, TimedOut) and error.tried:
                self._slow_until = time.monotonic() + self._rest
                return self._slow()
            return QueryVector(None, str(error).removeprefix(f"{PERSON.name}: "))
        meant = QueryVector(tuple(array("f", row)))
        self._recent.put(key, meant)
        return meant

    def _slow(self) -> QueryVector:
        return QueryVector(None, f"{self.model} does not answer within {self._seconds:g} seconds")
