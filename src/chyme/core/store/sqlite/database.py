"""Open a vault's database: connections, migrations, and the cases that are refused."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from chyme.core.files.permissions import FILE_MODE, make_private_state, tighten_file
from chyme.core.store.sqlite import damage, read_only
from chyme.core.store.sqlite.presence import Presence
from chyme.core.store.sqlite.writer import Writer, explain_disk
from chyme.errors import ChymeError, DatabaseDamaged, DiskFull, VaultError, VaultGone

T = TypeVar("T")

log = logging.getLogger(__name__)

FILE_NAME = "vault.db"
SCHEMA = "migrations"  # the folder with its migrations
BUSY_SECONDS = 30.0
READER_CACHE_KB = 1_000  # one per reading thread; the system caches the file anyway
WRITER_CACHE_KB = 24_000
MAX_SPARE = 16  # connections that are kept open for the next thread that reads
CHECKPOINT_PAGES = 8_000  # many commits change the same index pages; checkpointed together, each is written once
FULL_LOG_SECONDS = 60.0  # between two log lines about a full disk
LARGE_DATABASE = 100 << 20  # bytes from which a slow migration is announced in the log
UNSAFE_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "ncpfs", "davfs", "beegfs"}
)
UNSAFE_FUSE = ("fuse.sshfs", "fuse.rclone", "fuse.s3fs", "fuse.davfs", "fuse.glusterfs", "fuse.cephfs", "fuse.gcsfuse")


class Database:
    """One vault's database: many readers, one writer thread."""

    def __init__(
        self,
        folder: Path,
        on_commit: Callable[[], None] | None = None,
        *,
        file_name: str = FILE_NAME,
        schema: str = SCHEMA,
        root: Path | None = None,
    ) -> None:
        """`root`: the vault's folder; nothing is written while it is missing."""
        self.path = folder / file_name
        _make_folder(folder, self.path)
        refuse_network_file_system(folder)
        damage.refuse_lost(self.path)
        self.read_only = not read_only.is_writable(self.path)  # existing content can be read, but nothing changed
        if self.read_only:
            _check_schema(self.path, schema)
        else:
            _migrate(self.path, schema)
        self._full_logged = -FULL_LOG_SECONDS
        self.damaged: DatabaseDamaged | None = None  # set once damage was found
        self._local = threading.local()
        self._readers: dict[threading.Thread, sqlite3.Connection] = {}
        self._spare: list[sqlite3.Connection] = []  # of threads that wait
        self._guard = threading.Lock()
        self._version_reader: sqlite3.Connection | None = None
        self._version_guard = threading.Lock()
        self.presence = Presence(self.path, root)
        self._writer = (
            None
            if self.read_only
            else Writer(lambda: _connect_writer(self.path), on_commit, self.presence.require, self.explain)
        )

    def read(self) -> sqlite3.Connection:
        """This thread's read-only connection."""
        db: sqlite3.Connection | None = getattr(self._local, "db", None)
        if db is None:
            db = self._take_spare() or self._connect_reader()
            self._local.db = db
            with self._guard:
                for ended in [thread for thread in self._readers if not thread.is_alive()]:
                    self._readers.pop(ended).close()  # threads of servers come and go
                self._readers[threading.current_thread()] = db
        return db

    def _take_spare(self) -> sqlite3.Connection | None:
        if not self._spare:
            return None
        self.presence.require()  # it would go on to read a database that was deleted or moved
        with self._guard:
            return self._spare.pop() if self._spare else None

    def rest(self) -> None:
        """This thread will wait for something and read nothing meanwhile: its connection may be used by others.

        A connection takes a third of a megabyte, and many threads may wait. Call it only where no query is under way.
        """
        db: sqlite3.Connection | None = getattr(self._local, "db", None)
        if db is None or self.read_only:
            return
        self._local.db = None
        with self._guard:
            self._readers.pop(threading.current_thread(), None)
            if len(self._spare) < MAX_SPARE:
                self._spare.append(db)
                return
        db.close()

    def _connect_reader(self) -> sqlite3.Connection:
        if self.read_only:
            return read_only.connect_read_only(self.path)
        self.presence.require()  # otherwise an empty database would be created in its place
        db = connect(self.path, create=False)
        db.execute("PRAGMA query_only = ON")
        db.execute("PRAGMA wal_autocheckpoint = 0")
        return db

    def version(self) -> int:
        """A number that changes with every commit, by any connection of any process. It means nothing elsewhere."""
        with self._version_guard:
            if self._version_reader is None:
                self._version_reader = self._connect_reader()  # a number belongs to its connection: one for all threads
            return int(self._version_reader.execute("PRAGMA data_version").fetchone()[0])

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Several reads of the same state."""
        db = self.read()
        db.execute("BEGIN")
        try:
            yield db
        finally:
            db.execute("COMMIT")

    def write(self, work: Callable[[sqlite3.Connection], T], size: int = 0) -> T:
        """Run `work` on the writer thread; return once it is durable. See Writer.write."""
        return self.submit(work, size).result()

    def submit(self, work: Callable[[sqlite3.Connection], T], size: int = 0) -> Future[T]:
        """Like `write`, without waiting. Refuses to write to a database that is known to be damaged."""
        if self.damaged is not None:
            raise self.damaged
        if self._writer is None:
            raise read_only.read_only_error(self.path)
        return self._writer.submit(work, size)

    def checkpoint(self) -> None:
        """Move everything from the write-ahead log into the database and empty the log."""
        if self._writer is None:
            raise read_only.read_only_error(self.path)
        self._writer.run_outside_transaction(lambda db: db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())

    def explain(self, error: BaseException) -> BaseException:
        """Return an error that people can read. Damage is remembered, and logged the first time."""
        if not damage.is_damage(error):
            return explain_disk(error)
        damaged = damage.damage_error(self.path, damage.describe(self.path, error))
        damaged.__cause__ = error
        return self._remember_damage(damaged)

    def log_failure(self, where: logging.Logger, what: str, error: Exception) -> None:
        """Log what failed, with the stack trace if the error is not one of ours. Damage is logged only once."""
        explained = self.explain(error)
        if isinstance(explained, DatabaseDamaged | VaultGone) or (
            isinstance(explained, DiskFull) and not self._should_log_full_disk()
        ):
            return
        if isinstance(explained, ChymeError):
            where.warning("%s: %s", what, explained)
        elif not self.presence.find_problem():  # otherwise its scratch folder went with the vault
            where.error(what, exc_info=error)

    def _should_log_full_disk(self) -> bool:
        """Whether a full disk was not logged within the last minute."""
        last_logged, now = self._full_logged, time.monotonic()
        if now - last_logged < FULL_LOG_SECONDS:
            return False
        self._full_logged = now
        return True

    def quick_check(self, seconds: float) -> DatabaseDamaged | None:
        """Look for damage for at most `seconds`. Damage found is remembered."""
        if self.damaged is None:
            problem = damage.quick_check(self.read(), seconds)
            if problem is not None:
                self.note_damage(problem)
        return self.damaged

    def note_damage(self, problem: str) -> DatabaseDamaged:
        """Remember that the database is damaged in this way."""
        return self._remember_damage(damage.damage_error(self.path, f"is damaged ({problem})"))

    def _remember_damage(self, damaged: DatabaseDamaged) -> DatabaseDamaged:
        with self._guard:
            is_first, self.damaged = self.damaged is None, self.damaged or damaged
        if is_first:
            damage.log.error("%s", damaged)
        return damaged

    @property
    def commits(self) -> int:
        return self._writer.commits if self._writer is not None else 0

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        with self._guard:
            for db in (*self._readers.values(), *self._spare):
                db.close()
            self._readers.clear()
            self._spare.clear()
        with self._version_guard:
            if self._version_reader is not None:
                self._version_reader.close()
                self._version_reader = None


def connect(path: Path, cache_kb: int = READER_CACHE_KB, *, create: bool = True) -> sqlite3.Connection:
    """A connection with the settings that every part of chyme expects."""
    address = f"file:{quote(os.fsencode(path))}?mode={'rwc' if create else 'rw'}"
    db = sqlite3.connect(address, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, uri=True)
    try:
        tighten_file(path)  # before its journal is created, which gets the same mode
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA foreign_keys = ON")
        db.execute(f"PRAGMA cache_size = -{cache_kb:d}")
        db.execute("PRAGMA temp_store = MEMORY")
        db.execute("PRAGMA secure_delete = ON")  # purged content must not remain in free pages
    except BaseException:
        db.close()
        raise
    return db


def _connect_writer(path: Path) -> sqlite3.Connection:
    db = connect(path, WRITER_CACHE_KB)
    db.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES:d}")
    return db


def refuse_network_file_system(folder: Path) -> None:
    """Raise an error on network file systems: WAL needs shared memory, which they do not provide."""
    kind = file_system_of(folder, _read_mounts())
    if kind in UNSAFE_FILE_SYSTEMS or kind.startswith(UNSAFE_FUSE):
        raise VaultError(
            f"{folder} is on a network file system ({kind}), where SQLite can lose data; "
            "keep the database on a local disk: set state_dir (CHYME_STATE_DIR) to a local folder"
        )


def file_system_of(folder: Path, mounts: list[tuple[str, str]]) -> str:
    """The type of the file system that contains `folder`, or ''."""
    longest, kind = "", ""
    target = str(folder.resolve())
    for mount_point, mount_type in mounts:
        inside = target == mount_point or target.startswith(mount_point.rstrip("/") + "/")
        if inside and len(mount_point) >= len(longest):
            longest, kind = mount_point, mount_type
    return kind


def _read_mounts() -> list[tuple[str, str]]:
    try:
        lines = Path("/proc/self/mounts").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return []
    fields = [line.split(" ") for line in lines]
    return [(_unescape(field[1]), field[2]) for field in fields if len(field) > 2]


def _unescape(mount_point: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), mount_point)


def migrations(schema: str = SCHEMA) -> list[tuple[int, str, str]]:
    """All migrations as (number, name, script), in order."""
    folder = resources.files("chyme.core.store") / schema
    names = sorted(item.name for item in folder.iterdir() if item.name.endswith(".sql"))
    return [(int(name.split("_")[0]), name, (folder / name).read_text(encoding="utf-8")) for name in names]


def _make_folder(folder: Path, path: Path) -> None:
    try:
        make_private_state(folder)  # it contains the text of every file
    except OSError as error:
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise read_only.read_only_error(path) from error
        raise VaultError(f"{folder}: cannot be made ({error.strerror})") from error


def _check_schema(path: Path, schema: str) -> None:
    """Check that a database that cannot be migrated has the current schema."""
    if not path.exists():
        raise read_only.read_only_error(path)
    with damage.explain_errors(path), contextlib.closing(read_only.connect_read_only(path)) as db:
        damage.refuse_foreign(db, path, schema)
        version, newest = int(db.execute("PRAGMA user_version").fetchone()[0]), migrations(schema)[-1][0]
    if version != newest:
        raise VaultError(
            f"{path} is read-only, and of another version (schema {version}, this chyme needs {newest}); "
            "open the vault once where it can be written"
        )


def _migrate(path: Path, schema: str) -> None:
    """Migrate the database to the current schema, after making a dated copy of an existing vault."""
    try:
        with damage.explain_errors(path):
            with contextlib.closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as db:
                damage.refuse_foreign(db, path, schema)
            with contextlib.closing(connect(path)) as db:
                _run_migrations(db, path, migrations(schema))
    except sqlite3.Error as error:
        raise VaultError(f"{path} cannot be opened as a database of chyme's: {error}") from error


def _run_migrations(db: sqlite3.Connection, path: Path, all_migrations: list[tuple[int, str, str]]) -> None:
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    newest = all_migrations[-1][0]
    if version > newest:
        raise VaultError(
            f"{path} was written by a newer chyme (schema {version}, this one knows {newest}); upgrade chyme"
        )
    pending = [migration for migration in all_migrations if migration[0] > version]
    if pending and version > 0:
        if path.stat().st_size >= LARGE_DATABASE:
            log.warning("%s is brought up to date, with a copy of it before; this may take a minute", path)
        _back_up(db, path, version)  # once for all: a failed step is rolled back, and copying a large vault is slow
    for number, name, script in pending:
        _apply(db, number, name, script)


def _back_up(db: sqlite3.Connection, path: Path, version: int) -> None:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    copy = path.with_name(f"{path.stem}.schema{version}.{stamp}.db")
    copy.touch(mode=FILE_MODE)
    db.execute("VACUUM INTO ?", (os.fspath(copy),))


def _apply(db: sqlite3.Connection, number: int, name: str, script: str) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        current: int = db.execute("PRAGMA user_version").fetchone()[0]
        if current < number:  # another process may have been faster
            for statement in _statements(script):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {number:d}")
        db.execute("COMMIT")
    except BaseException as error:
        if db.in_transaction:
            db.execute("ROLLBACK")
        if isinstance(error, sqlite3.Error):
            raise VaultError(f"migration {name} failed and was undone: {error}") from error
        raise


def _statements(script: str) -> Iterator[str]:
    """Yield whole statements, so that a script runs inside our transaction (executescript would commit it)."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            if statement.strip():
                yield statement
            statement = ""
