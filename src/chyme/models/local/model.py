"""The model of our own: a server in a child, started when it is needed, asked by one at a time."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace

from chyme.errors import ChymeError, DigestError, EngineUnavailable
from chyme.models.local.fair_lock import CLOSED, FairLock
from chyme.models.local.server_process import ServerProcess
from chyme.models.local.settings import LocalSettings
from chyme.models.providers.endpoints import OPENAI, Endpoint

AGAIN_SECONDS = 60.0  # a start that failed is not tried again before
CLOSE_SECONDS = 10.0

__all__ = ["LocalModel", "LocalSettings", "close_all", "get_shared_model", "take_turn"]

log = logging.getLogger(__name__)


class LocalModel:
    """One server for all threads. It lives while it is asked, and never longer than this process."""

    def __init__(self, settings: LocalSettings) -> None:
        self._settings = settings
        self._turns = FairLock()
        self._wishes: queue.SimpleQueue[Future[ServerProcess] | None] = queue.SimpleQueue()
        self._server: ServerProcess | None = None  # belongs to whoever's turn it is
        self._used_at = 0.0
        self._failed: tuple[float, DigestError] | None = None
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._closed = False

    @contextlib.contextmanager
    def turn(self, name: str = "") -> Iterator[Endpoint]:
        """Where to ask, as soon as it is this thread's turn, in the order they came; until then no time runs.

        A thread that has its turn may take it again. `name` is the file's, for messages. EngineUnavailable or
        ChildCrashed when the server cannot be started, ChymeError when chyme is shutting down.
        """
        with self._turns.acquire():
            server = self._running(name)
            weights = self._settings.weights
            try:
                yield Endpoint(server.url, weights.engine, server.key, self._settings.seconds, "llm", "text", own=True)
            finally:
                self._used_at = time.monotonic()

    @property
    def pid(self) -> int | None:
        """The server's process, while there is one."""
        server = self._server
        return server.pid if server is not None and server.alive() else None

    def close(self) -> None:
        """End the server. Whoever waits for a turn, or asks for one later, hears that chyme is shutting down."""
        self._turns.close()
        with self._starting:
            self._closed = True
            thread = self._thread
        self._wishes.put(None)
        if thread is not None:
            thread.join(CLOSE_SECONDS)

    def _running(self, name: str) -> ServerProcess:
        server = self._server
        if server is not None and server.is_answering():
            server.read_output()
            return server
        if self._failed is not None and time.monotonic() < self._failed[0]:
            before = self._failed[1]
            raise type(before)(f"{name}: {before}", retry_after=before.retry_after)
        missing = self._settings.missing
        if missing:
            raise EngineUnavailable(f"{name}: the local model cannot run: {missing}")
        try:
            server = self._wished()
        except DigestError as error:
            self._failed = time.monotonic() + AGAIN_SECONDS, error
            raise type(error)(f"{name}: {error}", retry_after=error.retry_after) from error
        self._failed = None
        return server

    def _wished(self) -> ServerProcess:
        wish: Future[ServerProcess] = Future()
        with self._starting:
            if self._closed:
                raise ChymeError(CLOSED)
            if self._thread is None:
                self._thread = threading.Thread(target=self._keep, name="chyme-local-model", daemon=True)
                self._thread.start()
            self._wishes.put(wish)
        return wish.result()

    def _keep(self) -> None:
        """Start servers and let idle ones go, in a thread that lives on: the kernel ends them when it ends."""
        while True:
            patience = max(0.05, self._settings.idle_seconds / 4)
            try:
                wish = self._wishes.get(timeout=patience if self._server is not None else None)
            except queue.Empty:
                self._let_idle_go()
                continue
            if wish is None:
                break
            self._bury()
            try:
                self._server = self._started()
                wish.set_result(self._server)
            except BaseException as error:
                wish.set_exception(error)
        self._bury()

    def _started(self) -> ServerProcess:
        settings = self._settings
        began = time.monotonic()
        server = ServerProcess()
        try:
            server.wait_until_ready(
                {
                    "capability": settings.capability,
                    "weights_dir": settings.weights_dir,
                    "threads": settings.threads,
                    "context": settings.context,
                    "answer": settings.answer,
                    "memory_bytes": settings.memory_bytes,
                    "run_as": list(settings.run_as),
                },
                settings.start_seconds,
            )
        except BaseException:
            server.dispose()
            raise
        log.info("%s is ready after %.1f seconds", settings.weights.engine, time.monotonic() - began)
        return server

    def _let_idle_go(self) -> None:
        with self._turns.try_acquire() as free:
            if free and time.monotonic() - self._used_at > self._settings.idle_seconds:
                self._bury()

    def _bury(self) -> None:
        if self._server is not None:
            self._server.dispose()
            self._server = None


_shared: dict[LocalSettings, LocalModel] = {}
_sharing = threading.Lock()


def get_shared_model(settings: LocalSettings) -> LocalModel:
    """The one model of this process that is run so."""
    with _sharing:
        return _shared.setdefault(settings, LocalModel(settings))


def close_all() -> None:
    """End every server of this process; the next turn starts anew."""
    with _sharing:
        models = list(_shared.values())
        _shared.clear()
    for model in models:
        model.close()


@contextlib.contextmanager
def take_turn(endpoint: Endpoint, name: str) -> Iterator[Endpoint]:
    """The endpoint as it can be asked: our own model's once it is our turn, others as they are."""
    if endpoint.local is None:
        yield endpoint
        return
    with get_shared_model(endpoint.local).turn(name) as there:
        yield replace(endpoint, url=there.url, model=there.model, key=there.key, provider=OPENAI, own=True, local=None)
