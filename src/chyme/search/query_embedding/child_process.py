"""Embed questions with a model in a child process that does nothing else."""

from __future__ import annotations

import logging
import math
import queue
import threading
import time
from array import array
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

from chyme.core.children.places import Family
from chyme.core.children.runner import NOBODY, Runner
from chyme.core.children.slot import CLOSED
from chyme.core.children.task import Task
from chyme.core.files.temporary_folder import LockedFolder
from chyme.errors import ChildCrashed, ChymeError
from chyme.model import Limits, Output, Upstream
from chyme.models.embedding.embed_question import ENTRY, MODEL, NAME, QUESTION, VECTOR
from chyme.models.embedding.passage_embedder import PassageEmbedding
from chyme.models.picture_models.folder import PictureModelSettings
from chyme.models.providers.call_ledger import PERSON
from chyme.search.query_embedding.query_vectors import Key, QueryVector, QueryVectorCache, key_of
from chyme.search.query_embedding.unreadable_questions import explain_unreadable

log = logging.getLogger(__name__)

PATIENCE = 5.0  # seconds a caller waits for an answer, including the loading of the model
SECONDS = 30.0  # after which a silent child is killed
RETRY_PAUSE_SECONDS = 10.0  # seconds without requests after a failure
IDLE = 600.0  # seconds after which an idle child is ended
MAX_WAITING_QUERIES = 64  # questions in the queue; further ones are rejected as busy
FAMILY = "questions"
LOADING = "the embedder is still being loaded; ask again in a moment"
BUSY = "the embedder is busy; ask again in a moment"


class ChildQueryEmbedder:
    """Starts its child on the first question. Thread-safe. A caller whose patience ends gets no vector, but the answer
    is cached for the next time."""

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
        picture_models: Mapping[str, PictureModelSettings] = MappingProxyType({}),
    ) -> None:
        self._embedders: dict[str, dict[str, Any]] = {}
        for embedder in embedders:
            self._embedders.setdefault(embedder.model_name, asdict(embedder))
        self._picture_models = {model: asdict(settings) for model, settings in picture_models.items()}
        self._memory_bytes = memory_bytes
        self._run_as = run_as
        self._patience = patience
        self._seconds = seconds
        self._rest = rest
        self._entry = entry
        self._import_from = import_from
        self._cache = QueryVectorCache()
        self._queue: queue.SimpleQueue[Key | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._pending: dict[Key, Future[QueryVector]] = {}
        self._question_started: float | None = None  # when the child began with the present question
        self._loaded: set[str] = set()
        self._failed: dict[str, tuple[float, str]] = {}  # until when this model is not asked, and why
        self._thread: threading.Thread | None = None
        self._runner: Runner | None = None
        self._scratch: LockedFolder | None = None
        self._closed = False

    @property
    def runner(self) -> Runner | None:
        """Runs the child; None before the first question."""
        return self._runner

    def embed(self, text: str, model: str) -> QueryVector:
        key = key_of(text, model)
        if not key[1]:
            return QueryVector(None)
        if model not in self._embedders and model not in self._picture_models:
            return QueryVector(None, f"{model}, which embedded this vault, cannot be asked any more")
        answer = self._enqueue(key)
        if isinstance(answer, QueryVector):
            return answer
        try:
            return answer.result(self._time_left())
        except TimeoutError:
            return QueryVector(None, BUSY if model in self._loaded else LOADING)

    def preload(self, model: str) -> None:
        """Load the model in the background."""
        if model in self._embedders and model not in self._loaded:
            self._enqueue((model, ""))

    def close(self) -> None:
        """End the child. Callers that wait get an answer that says so."""
        with self._lock:
            self._closed = True
            thread, runner, scratch = self._thread, self._runner, self._scratch
        self._queue.put(None)
        if runner is not None:
            runner.close()
        if thread is not None:
            thread.join()
        with self._lock:
            unanswered = list(self._pending.values())
            self._pending.clear()
        for answer in unanswered:
            answer.set_result(QueryVector(None, CLOSED))
        if scratch is not None:
            scratch.remove()

    def _recent_failure(self, model: str) -> QueryVector | None:
        until, why_not = self._failed.get(model, (0.0, ""))
        return QueryVector(None, why_not) if time.monotonic() < until else None

    def _time_left(self) -> float:
        """How long to wait. The time that the present question has already taken is deducted."""
        started = self._question_started
        return self._patience if started is None else max(0.0, started + self._patience - time.monotonic())

    def _enqueue(self, key: Key) -> Future[QueryVector] | QueryVector:
        with self._lock:
            if self._closed:
                return QueryVector(None, CLOSED)
            existing = self._cache.get(key) or self._pending.get(key) or self._recent_failure(key[0])
            if existing is not None:
                return existing
            if len(self._pending) >= MAX_WAITING_QUERIES:
                return QueryVector(None, BUSY)
            answer = self._pending[key] = Future()
            self._queue.put(key)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="chyme-questions", daemon=True)
                self._thread.start()
            return answer

    def _work(self) -> None:
        """Ask one question after the other; after a failure those that wait get the same answer at once."""
        while (key := self._queue.get()) is not None:
            vector = self._recent_failure(key[0]) or self._answer(key)
            with self._lock:
                answer = self._pending.pop(key, None)
            if answer is not None:
                answer.set_result(vector)

    def _answer(self, key: Key) -> QueryVector:
        self._question_started = time.monotonic()
        try:
            vector = _parse_outputs(self._run_child(key)) or QueryVector(None, explain_unreadable(key[1]))
        except ChymeError as error:
            return self._give_up(key[0], str(error).removeprefix(f"{PERSON.path}: "))
        except Exception:
            log.exception("a question could not be asked")
            return self._give_up(key[0], "the question could not be asked; the log says why")
        finally:
            self._question_started = None
        self._loaded.add(key[0])
        if key[1]:
            self._cache.put(key, vector)
        return vector

    def _give_up(self, model: str, why_not: str) -> QueryVector:
        self._failed[model] = time.monotonic() + self._rest, why_not
        return QueryVector(None, why_not)

    def _run_child(self, key: Key) -> list[Output]:
        model, question = key
        runner, scratch = self._ensure_started()
        inputs = (Upstream(QUESTION, question), Upstream(MODEL, model))
        task = Task(NAME, PERSON, None, inputs, scratch)
        limits = Limits(self._seconds, self._seconds, self._memory_bytes)
        try:
            return runner.run(task, FAMILY, limits)
        except ChildCrashed:  # perhaps it was ended for memory that others needed
            return runner.run(task, FAMILY, limits)

    def _ensure_started(self) -> tuple[Runner, Path]:
        with self._lock:
            if self._closed:
                raise ChymeError(CLOSED)
            if self._runner is None or self._scratch is None:
                self._scratch = LockedFolder("chyme-questions-", self._run_as)
                family = Family(1, self._memory_bytes, IDLE, memory_setting="embedding_memory_mb")
                self._runner = Runner(
                    self._entry,
                    {"embedders": self._embedders, "picture_models": self._picture_models},
                    {FAMILY: family},
                    import_from=self._import_from,
                    run_as=self._run_as,
                    copies=False,
                )
            return self._runner, self._scratch.path


def _parse_outputs(outputs: Sequence[Output]) -> QueryVector | None:
    """The child's vector, or None if it could not read the question. It may have been compromised, so its numbers are
    checked."""
    found = [artifact.data for output in outputs for artifact in output.artifacts if artifact.filename == VECTOR]
    if not found:
        return None
    row = array("f")
    if len(found[0]) % row.itemsize == 0:
        row.frombytes(found[0])
    if not row or not all(map(math.isfinite, row)):
        raise ChildCrashed("the embedder gave an answer that makes no sense")
    return QueryVector(tuple(row))
