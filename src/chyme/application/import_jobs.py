"""Imports of uploaded exports: received, counted, started, and continued after a restart, in a thread of their own."""

from __future__ import annotations

import logging
import os
import shutil
import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from queue import SimpleQueue
from sqlite3 import Connection

from chyme.core.files.permissions import make_private_folder
from chyme.errors import ChymeError, NotFound, UsageError
from chyme.imports.entries import SOURCES
from chyme.imports.exports import entries_of
from chyme.imports.importing import Importer, ImportOptions, ImportStopped
from chyme.imports.summary import ImportSummary
from chyme.imports.tables import import_runs
from chyme.imports.tables.import_runs import ImportRun
from chyme.model import iso
from chyme.vault.file_names import safe_file_name
from chyme.vault.intake.new_files import folder_parts
from chyme.vault.open_vault import OpenVault
from chyme.vault.safe_move import NEW_FILE

__all__ = ["ImportJobs", "ImportRun", "ImportUpload"]

log = logging.getLogger(__name__)

FOLDER = "imports"  # of the state folder, where uploaded exports lie until their import ends
MODE = 0o600
MAX_OPEN = 10  # imports that are not finished; each keeps an upload on the disk
KEEP_CHECKED_FOR = timedelta(days=1)
CHECKING, CHECKED, RUNNING = "checking", "checked", "running"
DONE, FAILED, CANCELLED = "done", "failed", "cancelled"
OPEN = (CHECKING, CHECKED, RUNNING)


class ImportUpload:
    """One export on its way: feed it the body in pieces, then `finish`. Must be closed; blocks on the disk."""

    def __init__(self, jobs: ImportJobs, vault: OpenVault, folder: Path, name: str, length: int | None) -> None:
        self._jobs = jobs
        self._vault = vault
        self._size = 0
        vault.upload_limits.check_size(length or 0)
        vault.upload_limits.check_disk(folder, length or 0, vault.folder.root.name)
        self._path = folder / f"upload-{os.urandom(8).hex()}"
        self._stream = os.fdopen(os.open(self._path, NEW_FILE, MODE), "wb")
        self.name = name

    def feed(self, data: bytes) -> None:
        """Store the next piece of the body."""
        self._size += len(data)
        self._vault.upload_limits.check_size(self._size)
        self._vault.upload_limits.check_disk(self._path.parent, 0, self._vault.folder.root.name)
        self._stream.write(data)

    def finish(self, source: str, folder: str, dry_run: bool) -> ImportRun:
        """Begin to count, or to import."""
        if not self._size:
            raise UsageError("the body is empty; send the export as it is")
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()
        return self._jobs.add(source, self.name, folder, self._path, dry_run=dry_run)

    def close(self) -> None:
        """Remove what was not handed on."""
        self._stream.close()
        self._path.unlink(missing_ok=True)


class ImportJobs:
    """The imports of one vault, one at a time."""

    def __init__(self, vault: OpenVault, importer: Importer, clock: Callable[[], datetime]) -> None:
        self._vault = vault
        self._importer = importer
        self._clock = clock
        self._folder = vault.state / FOLDER
        self._queue: SimpleQueue[int | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._guard = threading.Lock()
        self._closing = threading.Event()
        self._cancelled: set[int] = set()

    def receive(self, source: str, name: str, folder: str, length: int | None) -> ImportUpload:
        """Prepare for an upload. Raises UsageError for what would be refused after it."""
        if source not in SOURCES:
            raise UsageError(f"{source[:50]!r}: chyme imports from {', '.join(SOURCES)}")
        folder_parts(self._vault, folder)
        open_runs = sum(run.state in OPEN for run in self.list_runs())
        if open_runs >= MAX_OPEN:
            raise UsageError(f"{open_runs} imports are not finished; wait, or cancel some")
        self._vault.database.presence.require()
        make_private_folder(self._folder)
        return ImportUpload(
            self, self._vault, self._folder, safe_file_name(name.replace("\\", "/").rpartition("/")[2]), length
        )

    def add(self, source: str, name: str, folder: str, upload: Path, *, dry_run: bool) -> ImportRun:
        """Add an import of a received file, and begin."""
        now, state = iso(self._clock()), CHECKING if dry_run else RUNNING

        def write(db: Connection) -> int:
            return import_runs.add(db, source, name, folder, state, now)

        run_id = self._vault.database.write(write)
        make_private_folder(self._folder / str(run_id))
        upload.replace(self._folder / str(run_id) / name)
        self._enqueue(run_id)
        return self.run(run_id)

    def run(self, run_id: int) -> ImportRun:
        """One import and how far it is."""
        found = import_runs.by_id(self._vault.database.read(), run_id)
        if found is None:
            raise NotFound(f"there is no import {run_id}; see which there are")
        return found

    def list_runs(self) -> Sequence[ImportRun]:
        """All imports, newest first."""
        return import_runs.list_all(self._vault.database.read())

    def start(self, run_id: int) -> ImportRun:
        """Import what was counted. An import that runs or is done stays as it is."""
        self.run(run_id)
        if self._change(run_id, (CHECKED,), RUNNING):
            self._enqueue(run_id)
        elif self.run(run_id).state not in (RUNNING, DONE):
            raise UsageError(f"import {run_id} is {self.run(run_id).state}; upload the export again")
        return self.run(run_id)

    def cancel(self, run_id: int) -> ImportRun:
        """End an import after its current batch. What it has imported stays."""
        self.run(run_id)
        self._cancelled.add(run_id)
        if self._change(run_id, OPEN, CANCELLED, finished=True):
            self._remove_upload(run_id)
        return self.run(run_id)

    def resume(self) -> None:
        """Continue what a restart interrupted; forget what was counted long ago and never started."""
        limit = iso(self._clock() - KEEP_CHECKED_FOR)
        for run in reversed(self.list_runs()):
            if run.state in (CHECKING, RUNNING):
                self._enqueue(run.id)
            elif run.state == CHECKED and run.created_at < limit:
                self.cancel(run.id)
        known = {str(run.id) for run in self.list_runs() if run.state in OPEN}
        if self._folder.is_dir():
            for path in self._folder.iterdir():  # of a crash between upload and row
                if path.name not in known:
                    shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)

    def close(self) -> None:
        """Stop after the current batch; the next start goes on."""
        self._closing.set()
        self._queue.put(None)
        if self._thread is not None:
            self._thread.join()

    def _enqueue(self, run_id: int) -> None:
        with self._guard:
            if self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(target=self._work, name="chyme-imports", daemon=True)
                self._thread.start()
        self._queue.put(run_id)

    def _work(self) -> None:
        while (run_id := self._queue.get()) is not None and not self._closing.is_set():
            try:
                self._run(run_id)
            except ImportStopped:
                pass
            except ChymeError as error:
                self._end(run_id, FAILED, str(error))
            except Exception as error:  # without this thread no import would ever end
                self._vault.database.log_failure(log, "an import failed", error)
                explained = self._vault.database.explain(error)
                known = isinstance(explained, ChymeError)
                self._end(run_id, FAILED, str(explained) if known else "unexpected error; see the log of the server")

    def _run(self, run_id: int) -> None:
        run = self.run(run_id)
        if run.state not in (CHECKING, RUNNING):
            return
        path = self._folder / str(run_id) / run.name
        if not path.is_file():
            raise UsageError("the uploaded export is gone; upload it again")

        def report(summary: ImportSummary) -> None:
            self._vault.database.write(lambda db: import_runs.set_summary(db, run_id, summary))

        options = ImportOptions(run.source, run.folder, dry_run=run.state == CHECKING)
        with entries_of(run.source, path) as entries:
            report(
                self._importer.run(
                    entries, options, report, lambda: self._closing.is_set() or run_id in self._cancelled
                )
            )
        if options.dry_run:
            self._change(run_id, (CHECKING,), CHECKED)
        else:
            self._end(run_id, DONE)

    def _end(self, run_id: int, state: str, problem: str | None = None) -> None:
        try:
            self._change(run_id, (CHECKING, RUNNING), state, problem=problem, finished=True)
            self._remove_upload(run_id)
        except ChymeError as error:  # the database is gone; the next start goes on
            log.warning("import %s: %s", run_id, error)

    def _change(
        self, run_id: int, leaves: Sequence[str], state: str, *, problem: str | None = None, finished: bool = False
    ) -> bool:
        now = iso(self._clock()) if finished else None
        return self._vault.database.write(
            lambda db: import_runs.change_state(db, run_id, leaves, state, problem=problem, finished_at=now)
        )

    def _remove_upload(self, run_id: int) -> None:
        shutil.rmtree(self._folder / str(run_id), ignore_errors=True)
