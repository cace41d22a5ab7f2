"""Push changes to the search servers. The database is authoritative; the outbox lists files to be pushed."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from sqlite3 import Connection
from typing import NoReturn, Protocol

from chyme.core.files.untrusted_files import open_lock, try_lock
from chyme.core.store import vault_properties
from chyme.core.store.sqlite.database import Database
from chyme.errors import ChymeError
from chyme.model import iso
from chyme.search.engines.http_client import ServerFailed
from chyme.search.engines.qdrant import Point
from chyme.search.engines.vault_engines import NAME_FIELDS, SyncMarker, VaultEngines
from chyme.search.engines.word_encoding import engine_words
from chyme.search.tables import embedders, engine_entries, engine_outbox
from chyme.search.tables.embedders import Embedder
from chyme.search.tables.engine_entries import Batch, batch_of, next_batch

_MAX_DOCUMENTS, _MAX_NUMBERS = 2000, 400_000  # in one request
_MIN_PAUSE, _MAX_PAUSE = 1.0, 60.0
_POLL_SECONDS = 0.5  # how often the outbox is checked: other processes write to it, too
_CHECK_SECONDS = 30.0  # how often the servers are checked when there is nothing to push
_LOCK_FILE, _LOCK_SECONDS = "pusher.lock", 0.1
TURN_SECONDS = 10.0  # how long to wait for another process if there is other work
_REFUSALS = frozenset({400, 413, 422})  # statuses of requests that would be refused again
_MAX_REFUSED = 20  # files; if there are more, the files are not the cause
_CLOSING_SECONDS = 10.0
_PRIVATE_PATTERNS = "engines_private"  # the vault property with the fingerprint of the patterns applied last


@dataclass(frozen=True, slots=True)
class PushState:
    """How far the engines are behind the database."""

    behind: int  # files that have yet to be pushed
    since: str | None = None  # when pushing began to fail
    reason: str | None = None


class PusherBusy(ChymeError):
    """Another process is pushing to the engines, and takes everything in the outbox."""


class PrivatePaths(Protocol):
    """Knows which files stay on this machine."""

    def __call__(self, path: str) -> bool:
        """Whether the file at this path stays on this machine."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the set of private paths changes."""


class Pusher:
    """Writes entries under our own ids: repeating a write changes nothing, so it may die anywhere and start again."""

    def __init__(
        self,
        database: Database,
        engines: VaultEngines,
        clock: Callable[[], datetime],
        private: PrivatePaths | None = None,
    ) -> None:
        """`private`: which files must not be sent to engines on other machines; None if they are on this one."""
        self._database = database
        self._engines = engines
        self._private = private
        self._clock = clock
        self._sync_marker = SyncMarker(database, engines)
        self._turn_lock = threading.Lock()  # in this process
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._failure: tuple[str, str] | None = None
        self._last_check: float | None = None
        self._ready_embedders: set[int] = set()  # embedders

    @property
    def state(self) -> PushState:
        since, reason = self._failure or (None, None)
        return PushState(engine_outbox.count_behind(self._database.read()), since, reason)

    def start(self) -> None:
        """Push changes until `close`."""
        self._thread = threading.Thread(target=self._keep_pushing, name="pusher", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(_CLOSING_SECONDS)  # a request still running on a server will be repeated

    def push_all(self, patience: float | None = None) -> int:
        """Push everything the engines do not have yet; returns the number of files.

        Raises ServerFailed, also if an engine refuses some files, after everything else was pushed; PusherBusy if
        another process does not finish within `patience` seconds.
        """
        pushed = 0
        refused: dict[int, ServerFailed] = {}
        with self._exclusive(patience) as alone:
            if alone:
                self._set_up()
            while not self._stopping.is_set() and (batch := self._next_batch(refused)):
                pushed += self._push_or_split(batch, refused)
        if refused:
            self._raise_refused(refused)
        return pushed

    def rebuild(self) -> int:
        """Rebuild everything in the engines; returns the number of files."""
        with self._exclusive(None) as alone:
            if alone:
                self._database.write(engine_outbox.deactivate)
        return self.push_all()

    def _keep_pushing(self) -> None:
        pause = _MIN_PAUSE
        while not self._stopping.is_set():
            try:
                if self._is_due():
                    self.push_all(TURN_SECONDS)
                self._failure = None
                pause = _MIN_PAUSE
                self._stopping.wait(_POLL_SECONDS)
            except PusherBusy:
                self._stopping.wait(_POLL_SECONDS)
            except Exception as error:  # whatever the cause, the next try may succeed, and nothing is lost
                self._failure = (self._failure[0] if self._failure else iso(self._clock()), str(error))
                self._stopping.wait(pause)
                pause = min(pause * 2, _MAX_PAUSE)

    def _is_due(self) -> bool:
        long_ago = self._last_check is None or time.monotonic() - self._last_check > _CHECK_SECONDS
        return long_ago or self._failure is not None or bool(engine_outbox.list_changed(self._database.read(), 1))

    @contextlib.contextmanager
    def _exclusive(self, patience: float | None) -> Iterator[bool]:
        """Allow one pusher at a time across all processes: a slow one must not restore what a quick one replaced.

        Yields False if this pusher was closed before its turn came.
        """
        with self._turn_lock, open_lock(self._database.path.with_name(_LOCK_FILE)) as lock:
            deadline = None if patience is None else time.monotonic() + patience
            while not (alone := try_lock(lock)) and not self._stopping.wait(_LOCK_SECONDS):
                if deadline is not None and time.monotonic() > deadline:
                    raise PusherBusy("another process is updating the search engines")
            yield alone

    def _set_up(self) -> None:
        """Create what is missing on both servers. The outbox is filled before an index is created: a crash between the
        two costs work, never an entry."""
        read = self._database.read()
        if not (self._sync_marker.is_from_this_database() and engine_outbox.is_active(read)):
            self._database.write(engine_outbox.deactivate)  # until all is pushed again, searches must not use them
            self._engines.clear()  # entries of an earlier time or of another state of the vault
            self._database.write(engine_outbox.activate)
            self._sync_marker.renew()
        for index, settings in self._engines.indexes.items():
            if not self._engines.words.has_index(index, settings):
                self._database.write(engine_outbox.activate)
                self._engines.words.create_index(index, settings)
        self._update_private()
        self._ready_embedders.clear()
        known = embedders.list_all(read)
        wanted = {self._engines.collection(embedder.id) for embedder in known}
        for dropped in self._engines.meaning.collections(self._engines.vectors) - wanted:
            self._engines.meaning.delete_collection(dropped)
        for embedder in known:
            self._set_up_collection(embedder)
        self._last_check = time.monotonic()

    def _is_private(self, path: str) -> bool:
        return self._private is not None and self._private(path)

    def _update_private(self) -> None:
        """Put files into the outbox that became private, to be removed from the engines, or stopped being private."""
        db = self._database.read()
        fingerprint = self._private.fingerprint if self._private else ""
        if (vault_properties.value_of(db, _PRIVATE_PATTERNS) or "") == fingerprint:
            return
        local_only = engine_outbox.list_local_only(db)
        changed = [id_ for id_, path in engine_entries.paths(db) if self._is_private(path) != (id_ in local_only)]

        def record_change(db: Connection) -> None:
            engine_outbox.put(db, changed)
            vault_properties.put(db, _PRIVATE_PATTERNS, fingerprint)

        self._database.write(record_change)

    def _set_up_collection(self, embedder: Embedder) -> None:
        collection = self._engines.collection(embedder.id)
        if not self._engines.meaning.has_collection(collection, embedder.dimension):
            affected = engine_entries.files_embedded_by(self._database.read(), embedder.id)
            self._database.write(lambda db: engine_outbox.put(db, affected))
            self._engines.meaning.create_collection(collection, embedder.dimension)
        self._ready_embedders.add(embedder.id)

    def _next_batch(self, but: Collection[int]) -> Batch | None:
        with self._database.snapshot() as db:
            return next_batch(db, but, self._is_private)

    def _push_or_split(self, batch: Batch, refused: dict[int, ServerFailed]) -> int:
        """Push the batch; files that an engine refuses go to the end of the outbox. Returns how many were pushed."""
        self._sync_marker.renew()
        try:
            self._push(batch)
        except ServerFailed as error:
            if error.status not in _REFUSALS or len(refused) >= _MAX_REFUSED:
                raise
            if len(batch.files) == 1:
                refused[batch.files[0].file_id] = error
                self._database.write(lambda db: engine_outbox.put(db, [batch.files[0].file_id]))
                return 0
        else:
            return len(batch.files)
        pushed = 0
        middle = len(batch.files) // 2
        for half in (batch.files[:middle], batch.files[middle:]):
            with self._database.snapshot() as db:
                smaller = batch_of(db, half, self._is_private)
            pushed += self._push_or_split(smaller, refused)
        return pushed

    def _raise_refused(self, refused: Mapping[int, ServerFailed]) -> NoReturn:
        file_id, error = next(iter(refused.items()))
        path = dict(engine_entries.paths(self._database.read(), [file_id])).get(
            file_id, f"file {file_id}, which is gone"
        )
        more = f" (and {len(refused) - 1} more files)" if len(refused) > 1 else ""
        raise ServerFailed(f"{path}{more} is refused: {error}", error.status)

    def _push(self, batch: Batch) -> None:
        passages = [
            {"id": f"p{id_}", "file_id": file_id, "tokens": " ".join(engine_words(text))}
            for id_, file_id, text in batch.passages
        ]
        names = [
            {
                "id": f"f{file_id}",
                "file_id": file_id,
                **{field: " ".join(engine_words(text)) for field, text in zip(NAME_FIELDS, texts, strict=True)},
            }
            for file_id, *texts in batch.names
        ]
        file_ids = [file.file_id for file in batch.files]
        tasks = [
            *self._replace_documents(self._engines.passages, file_ids, passages),
            *self._replace_documents(self._engines.names, file_ids, names),
        ]
        for embedder, vectors in batch.vectors.items():
            self._replace_points(embedder, file_ids, [Point(*row) for row in vectors])
        self._engines.words.wait_for_tasks(tasks)

        def mark_pushed(db: Connection) -> None:
            engine_outbox.mark_done(db, batch.files, batch.private)
            self._sync_marker.confirm(db)

        self._database.write(mark_pushed)

    def _replace_documents(
        self, index: str, file_ids: Sequence[int], documents: Sequence[Mapping[str, object]]
    ) -> list[int]:
        words = self._engines.words
        tasks = [
            words.put(index, documents[start : start + _MAX_DOCUMENTS])
            for start in range(0, len(documents), _MAX_DOCUMENTS)
        ]
        among = f"file_id IN [{', '.join(map(str, file_ids))}]"
        kept_ids = ", ".join(str(document["id"]) for document in documents)
        return [*tasks, words.delete(index, f"{among} AND id NOT IN [{kept_ids}]" if kept_ids else among)]

    def _replace_points(self, embedder: Embedder, file_ids: Sequence[int], points: Sequence[Point]) -> None:
        if embedder.id not in self._ready_embedders:
            self._set_up_collection(embedder)
        collection = self._engines.collection(embedder.id)
        step = max(1, _MAX_NUMBERS // embedder.dimension)
        for start in range(0, len(points), step):
            self._engines.meaning.put(collection, points[start : start + step])
        self._engines.meaning.delete_except(collection, file_ids, [point.id for point in points])
