"""Tell larger engines what changed. The database is the truth, the outbox says which files they know too little of."""

from __future__ import annotations

import contextlib
import fcntl
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from sqlite3 import Connection
from typing import BinaryIO, NoReturn, Protocol

from chyme.core.files.regular_files import open_lock
from chyme.core.store import vault_properties
from chyme.core.store.sqlite.database import Database
from chyme.errors import ChymeError
from chyme.model import iso
from chyme.search.engines.http_client import ServerFailed
from chyme.search.engines.outbox_batch import Batch, batch_of, next_batch
from chyme.search.engines.qdrant import Point
from chyme.search.engines.sync_marker import SyncMarker
from chyme.search.engines.vault_engines import NAME_FIELDS, VaultEngines
from chyme.search.engines.word_encoding import engine_words
from chyme.search.tables import embedders, engine_entries, engine_outbox
from chyme.search.tables.embedders import Embedder

_DOCUMENTS_AT_ONCE, _NUMBERS_AT_ONCE = 2000, 400_000  # in one request
_SHORTEST_REST, _LONGEST_REST = 1.0, 60.0
_LOOK_SECONDS = 0.5  # how often the outbox is looked at: other processes write to it, too
_VISIT_SECONDS = 30.0  # how often the servers are visited when there is nothing to tell them
_LOCK_FILE, _LOCK_SECONDS = "pusher.lock", 0.1
TURN_SECONDS = 10.0  # how long to wait for another process where there is something else to do
_REFUSALS = frozenset({400, 413, 422})  # answers to what will never be taken, whoever sends it again
_MOST_REFUSED = 20  # files; when it is more, it is not about them
_CLOSING_SECONDS = 10.0
_PRIVATE = "engines_private"  # the mark of the patterns by which files were last sorted


@dataclass(frozen=True, slots=True)
class PushState:
    """How far the engines are behind the database."""

    behind: int  # files they have yet to be told of
    since: str | None = None  # when telling them began to fail
    reason: str | None = None


class PusherBusy(ChymeError):
    """Another process tells the engines, and takes whatever is in the outbox."""


class PrivatePaths(Protocol):
    """Whoever knows which files stay on this machine."""

    def __call__(self, path: str) -> bool:
        """Whether the file at this path does."""

    @property
    def fingerprint(self) -> str:
        """What changes when others do."""


class Pusher:
    """Writes entries by our own ids, so that the same again changes nothing: it may die anywhere and begin again."""

    def __init__(
        self,
        database: Database,
        engines: VaultEngines,
        clock: Callable[[], datetime],
        private: PrivatePaths | None = None,
    ) -> None:
        """`private`: which files engines on other machines must not be told of; None where they are on this one."""
        self._database = database
        self._engines = engines
        self._private = private
        self._clock = clock
        self._told = SyncMarker(database, engines)
        self._turn = threading.Lock()  # in this process
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._failure: tuple[str, str] | None = None
        self._visited: float | None = None
        self._set_up_for: set[int] = set()  # embedders

    @property
    def state(self) -> PushState:
        since, reason = self._failure or (None, None)
        return PushState(engine_outbox.count_behind(self._database.read()), since, reason)

    def start(self) -> None:
        """Push whatever changes, until `close`."""
        self._thread = threading.Thread(target=self._keep_pushing, name="pusher", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(_CLOSING_SECONDS)  # whatever a server still does with a request, it will be told again

    def push_all(self, patience: float | None = None) -> int:
        """Tell the engines everything they do not know yet; returns of how many files.

        Raises ServerFailed, also after everything else was told when an engine refuses some files; PusherBusy when
        another process does not come to its end within `patience` seconds.
        """
        told = 0
        refused: dict[int, ServerFailed] = {}
        with self._alone(patience) as alone:
            if alone:
                self._set_up()
            while not self._stopping.is_set() and (batch := self._next_batch(refused)):
                told += self._tell(batch, refused)
        if refused:
            self._tell_of(refused)
        return told

    def rebuild(self) -> int:
        """Make everything in the engines anew; returns of how many files."""
        with self._alone(None) as alone:
            if alone:
                self._database.write(engine_outbox.deactivate)
        return self.push_all()

    def _keep_pushing(self) -> None:
        rest = _SHORTEST_REST
        while not self._stopping.is_set():
            try:
                if self._due():
                    self.push_all(TURN_SECONDS)
                self._failure = None
                rest = _SHORTEST_REST
                self._stopping.wait(_LOOK_SECONDS)
            except PusherBusy:
                self._stopping.wait(_LOOK_SECONDS)
            except Exception as error:  # whatever it is, the next try may go well, and nothing is lost
                self._failure = (self._failure[0] if self._failure else iso(self._clock()), str(error))
                self._stopping.wait(rest)
                rest = min(rest * 2, _LONGEST_REST)

    def _due(self) -> bool:
        long_ago = self._visited is None or time.monotonic() - self._visited > _VISIT_SECONDS
        return long_ago or self._failure is not None or engine_outbox.find_oldest(self._database.read()) is not None

    @contextlib.contextmanager
    def _alone(self, patience: float | None) -> Iterator[bool]:
        """One pusher at a time, in whatever process: a slow one must not bring back what a quick one replaced.

        False when it was closed before its turn came.
        """
        with self._turn, open_lock(self._database.path.with_name(_LOCK_FILE)) as lock:
            until = None if patience is None else time.monotonic() + patience
            while not (alone := _locked(lock)) and not self._stopping.wait(_LOCK_SECONDS):
                if until is not None and time.monotonic() > until:
                    raise PusherBusy("another process is telling the search engines what changed")
            yield alone

    def _set_up(self) -> None:
        """Everything in its place on both servers. First the outbox is filled, then an index is made: a death between
        the two costs work, never an entry."""
        read = self._database.read()
        if not (self._told.is_from_this_database() and engine_outbox.is_active(read)):
            self._database.write(engine_outbox.deactivate)  # until they are told anew, nobody shall ask them
            self._engines.clear()  # what an earlier time, or another state of the vault, left there
            self._database.write(engine_outbox.activate)
            self._told.renew()
        for index, settings in self._engines.indexes.items():
            if not self._engines.words.has_index(index, settings):
                self._database.write(engine_outbox.activate)
                self._engines.words.create_index(index, settings)
        self._sort_out_private()
        self._set_up_for.clear()
        known = embedders.list_all(read)
        wanted = {self._engines.collection(embedder.id) for embedder in known}
        for dropped in self._engines.meaning.collections(self._engines.vectors) - wanted:
            self._engines.meaning.delete_collection(dropped)
        for embedder in known:
            self._set_up_collection(embedder)
        self._visited = time.monotonic()

    def _stays(self, path: str) -> bool:
        return self._private is not None and self._private(path)

    def _sort_out_private(self) -> None:
        """What became private leaves the engines, and what is so no more gets there."""
        db = self._database.read()
        told = self._private.fingerprint if self._private else ""
        if (vault_properties.value_of(db, _PRIVATE) or "") == told:
            return
        kept = engine_outbox.list_local_only(db)
        changed = [id_ for id_, path in engine_entries.paths(db) if self._stays(path) != (id_ in kept)]

        def note(db: Connection) -> None:
            engine_outbox.put(db, changed)
            vault_properties.put(db, _PRIVATE, told)

        self._database.write(note)

    def _set_up_collection(self, embedder: Embedder) -> None:
        collection = self._engines.collection(embedder.id)
        if not self._engines.meaning.has_collection(collection, embedder.dimension):
            affected = engine_entries.files_embedded_by(self._database.read(), embedder.id)
            self._database.write(lambda db: engine_outbox.put(db, affected))
            self._engines.meaning.create_collection(collection, embedder.dimension)
        self._set_up_for.add(embedder.id)

    def _next_batch(self, but: Collection[int]) -> Batch | None:
        with self._database.snapshot() as db:
            return next_batch(db, but, self._stays)

    def _tell(self, batch: Batch, refused: dict[int, ServerFailed]) -> int:
        """Push it, but for files that an engine refuses: these go to the end of the outbox. Returns of how many."""
        self._told.renew()
        try:
            self._push(batch)
        except ServerFailed as error:
            if error.status not in _REFUSALS or len(refused) >= _MOST_REFUSED:
                raise
            if len(batch.files) == 1:
                refused[batch.files[0].file_id] = error
                self._database.write(lambda db: engine_outbox.put(db, [batch.files[0].file_id]))
                return 0
        else:
            return len(batch.files)
        told = 0
        middle = len(batch.files) // 2
        for half in (batch.files[:middle], batch.files[middle:]):
            with self._database.snapshot() as db:
                less = batch_of(db, half, self._stays)
            told += self._tell(less, refused)
        return told

    def _tell_of(self, refused: Mapping[int, ServerFailed]) -> NoReturn:
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
        file_ids = [one.file_id for one in batch.files]
        tasks = [
            *self._replace_documents(self._engines.passages, file_ids, passages),
            *self._replace_documents(self._engines.names, file_ids, names),
        ]
        for embedder, vectors in batch.vectors.items():
            self._replace_points(embedder, file_ids, [Point(*row) for row in vectors])
        self._engines.words.wait_for_tasks(tasks)

        def note(db: Connection) -> None:
            engine_outbox.mark_done(db, batch.files, batch.private)
            self._told.confirm(db)

        self._database.write(note)

    def _replace_documents(
        self, index: str, file_ids: Sequence[int], documents: Sequence[Mapping[str, object]]
    ) -> list[int]:
        words = self._engines.words
        tasks = [
            words.put(index, documents[at : at + _DOCUMENTS_AT_ONCE])
            for at in range(0, len(documents), _DOCUMENTS_AT_ONCE)
        ]
        among = f"file_id IN [{', '.join(map(str, file_ids))}]"
        kept = ", ".join(str(document["id"]) for document in documents)
        return [*tasks, words.delete(index, f"{among} AND id NOT IN [{kept}]" if kept else among)]

    def _replace_points(self, embedder: Embedder, file_ids: Sequence[int], points: Sequence[Point]) -> None:
        if embedder.id not in self._set_up_for:
            self._set_up_collection(embedder)
        collection = self._engines.collection(embedder.id)
        step = max(1, _NUMBERS_AT_ONCE // embedder.dimension)
        for at in range(0, len(points), step):
            self._engines.meaning.put(collection, points[at : at + step])
        self._engines.meaning.delete_except(collection, file_ids, [point.id for point in points])


def _locked(lock: BinaryIO) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
