"""What questions mean, as an embedder tells that runs in a child which does nothing else."""

from __future__ import annotations

import logging
import math
import queue
import tempfile
import threading
import time
from array import array
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import asdict
from pathlib import Path
from typing import Any

from chyme.core.children.launcher import CLOSED
from chyme.core.children.runner import NOBODY, Family, Runner
from chyme.core.children.task import Task
from chyme.errors import ChildCrashed, ChymeError
from chyme.model import Limits, Output, Upstream
from chyme.models.embedding.embed_question import ENTRY, MODEL, NAME, QUESTION, VECTOR
from chyme.models.embedding.passage_embedder import PassageEmbedding
from chyme.models.providers.call_ledger import PERSON
from chyme.search.query_embedding.cache import Key, QueryVectorCache, key_of
from chyme.search.query_embedding.protocol import QueryVector

log = logging.getLogger(__name__)

PATIENCE = 5.0  # seconds somebody waits for an answer, the loading of the model included
SECONDS = 30.0  # after which a child that says nothing is ended
RETRY_PAUSE_SECONDS = 10.0  # seconds for which nobody asks again what failed
IDLE = 600.0  # seconds after which a child that nobody asks is let go
MAX_WAITING_QUERIES = 64  # questions that wait; who comes later is told so
FAMILY = "questions"
LOADING = "the embedder is still being loaded; ask again in a moment"
BUSY = "the embedder is busy; ask again in a moment"
UNREADABLE = "the embedder does not know the script or language of this question"


class ChildQueryEmbedder:
    """Starts its child when it is first asked. Any number of threads may ask; whoever gets impatient is let go, and
    the answer is there when they ask again."""

    def __init__(
        self,
        embedders: Iterable[PassageEmbedding],
        *,
        memory_bytes: int = 1 << 30,
        run_as: tuple[int, int] = NOBODY,
        patience: float = PATIENCE,
        seconds: float = SECONDS,
        rest: float = RETRY_PAUSE_SECONDS,
        entry: str = ENTRY,
        import_from: Sequence[Path] = (),
    ) -> None:
        self._embedders: dict[str, dict[str, Any]] = {}
        for one in embedders:
            self._embedders.setdefault(one.model_name, asdict(one))
        self._memory_bytes = memory_bytes
        self._run_as = run_as
        self._patience = patience
        self._seconds = seconds
        self._rest = rest
        self._entry = entry
        self._import_from = import_from
        self._recent = QueryVectorCache()
        self._queue: queue.SimpleQueue[Key | None] = queue.SimpleQueue()
        self._guard = threading.Lock()
        self._under_way: dict[Key, Future[QueryVector]] = {}
        self._began: float | None = None  # since when the child has been at the present question
        self._loaded: set[str] = set()
        self._failed: dict[str, tuple[float, str]] = {}  # until when nobody asks this model, and why
        self._thread: threading.Thread | None = None
        self._runner: Runner | None = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._closed = False

    @property
    def runner(self) -> Runner | None:
        """What runs the child; None before anybody asked."""
        return self._runner

    def embed(self, text: str, model: str) -> QueryVector:
        key = key_of(text, model)
        if not key[1]:
            return QueryVector(None)
        if model not in self._embedders:
            return QueryVector(None, f"{model}, by which the vault was read, cannot be asked any more")
        answer = self._enqueued(key)
        if isinstance(answer, QueryVector):
            return answer
        try:
            return answer.result(self._time_left())
        except TimeoutError:
            return QueryVector(None, BUSY if model in self._loaded else LOADING)

    def preload(self, model: str) -> None:
        """Load the model in the background."""
        if model in self._embedders and model not in self._loaded:
            self._enqueued((model, ""))

    def close(self) -> None:
        """End the child. Whoever waits is told so."""
        with self._guard:
            self._closed = True
            thread, runner, scratch = self._thread, self._runner, self._scratch
        self._queue.put(None)
        if runner is not None:
            runner.close()
        if thread is not None:
            thread.join()
        with self._guard:
            left = list(self._under_way.values())
            self._under_way.clear()
        for answer in left:
            answer.set_result(QueryVector(None, CLOSED))
        if scratch is not None:
            scratch.cleanup()

    def _resting(self, model: str) -> QueryVector | None:
        until, why_not = self._failed.get(model, (0.0, ""))
        return QueryVector(None, why_not) if time.monotonic() < until else None

    def _time_left(self) -> float:
        """How long to wait. Behind a question that takes its time already, not that time once more."""
        began = self._began
        return self._patience if began is None else max(0.0, began + self._patience - time.monotonic())

    def _enqueued(self, key: Key) -> Future[QueryVector] | QueryVector:
        with self._guard:
            if self._closed:
                return QueryVector(None, CLOSED)
            known = self._recent.get(key) or self._under_way.get(key) or self._resting(key[0])
            if known is not None:
                return known
            if len(self._under_way) >= MAX_WAITING_QUERIES:
                return QueryVector(None, BUSY)
            answer = self._under_way[key] = Future()
            self._queue.put(key)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="chyme-questions", daemon=True)
                self._thread.start()
            return answer

    def _work(self) -> None:
        """Ask one question after the other; after a failure those that wait are told of it at once."""
        while (key := self._queue.get()) is not None:
            meant = self._resting(key[0]) or self._answered(key)
            with self._guard:
                answer = self._under_way.pop(key, None)
            if answer is not None:
                answer.set_result(meant)

    def _answered(self, key: Key) -> QueryVector:
        self._began = time.monotonic()
        try:
            meant = _read(self._asked(key))
        except ChymeError as error:
            return self._give_up(key[0], str(error).removeprefix(f"{PERSON.path}: "))
        except Exception:
            log.exception("a question could not be asked")
            return self._give_up(key[0], "the question could not be asked; the log tells why")
        finally:
            self._began = None
        self._loaded.add(key[0])
        if key[1]:
            self._recent.put(key, meant)
        return meant

    def _give_up(self, model: str, why_not: str) -> QueryVector:
        self._failed[model] = time.monotonic() + self._rest, why_not
        return QueryVector(None, why_not)

    def _asked(self, key: Key) -> list[Output]:
        model, question = key
        runner, scratch = self._started()
        told = (Upstream(QUESTION, question), Upstream(MODEL, model))
        task = Task(NAME, PERSON, None, told, Path(scratch))
        limits = Limits(self._seconds, self._seconds, self._memory_bytes)
        try:
            return runner.run(task, FAMILY, limits)
        except ChildCrashed:  # perhaps it was ended for memory that others needed
            return runner.run(task, FAMILY, limits)

    def _started(self) -> tuple[Runner, str]:
        with self._guard:
            if self._closed:
                raise ChymeError(CLOSED)
            if self._runner is None or self._scratch is None:
                self._scratch = tempfile.TemporaryDirectory(prefix="chyme-questions-")
                family = Family(1, self._memory_bytes, IDLE, memory_setting="embedding_memory_mb")
                self._runner = Runner(
                    self._entry,
                    {"embedders": self._embedders},
                    {FAMILY: family},
                    import_from=self._import_from,
                    run_as=self._run_as,
                )
            return self._runner, self._scratch.name


def _read(outputs: Sequence[Output]) -> QueryVector:
    """What the child found. It may have become anything, so its numbers are looked at."""
    found = [one.data for output in outputs for one in output.artifacts if one.filename == VECTOR]
    if not found:
        return QueryVector(None, UNREADABLE)
    row = array("f")
    if len(found[0]) % row.itemsize == 0:
        row.frombytes(found[0])
    if not row or not all(map(math.isfinite, row)):
        raise ChildCrashed("the embedder gave an answer that makes no sense")
    return QueryVector(tuple(row))
