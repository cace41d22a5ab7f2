"""A vault in a temporary folder: its files are really digested and searched, and digestions are counted."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from waiting import wait_until

from chyme.application import consistency_checks
from chyme.application.recorders import recorders_of
from chyme.core.children.task import Task
from chyme.core.files.vault_folder import Vault
from chyme.core.pipeline.attempt_runner import Allowance
from chyme.core.pipeline.coordinator import Coordinator
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.pipeline.retry_policy import RetryPolicy
from chyme.core.pipeline.transitions import PassResult
from chyme.core.store import digest_queue, digests, files
from chyme.core.store.sqlite.database import Database
from chyme.digester import Digester, Promises, Source
from chyme.errors import DigestError
from chyme.model import Artifact, File, Lane, Limits, Output
from chyme.models.providers.call_ledger import CallLedger
from chyme.search.search import Search
from chyme.search.search_keyword import SearchKeyword
from chyme.search.sqlite_index import SqliteIndex
from chyme.vault.file_registry import FileRegistry
from chyme.vault.watch.pending_files import ScanReport
from chyme.vault.watch.scanner import Scanner
from chyme.vault.watch.watcher import Watcher


class Keeper(Digester):
    """Stores a copy of the file as an artifact, and remembers which contents it was given."""

    name = "keeper"
    label = "keeper"
    description = "for tests"
    promises = Promises(reusable=False)

    def __init__(self) -> None:
        self.given: list[bytes] = []
        self.meanwhile: Callable[[], None] = lambda: None

    def can_digest(self, file: File) -> bool:
        return True

    def digest(self, source: Source) -> list[Output]:
        with source.open() as stream:
            data = stream.read()
        self.given.append(data)
        self.meanwhile()
        return [Output("keeper", data.decode(errors="replace"), (Artifact("copy.txt", data + b" kept" * 20),))]


class InThread:
    """Runs a digester in the calling thread: the runner's contract without its processes."""

    def __init__(self, *registry: Digester) -> None:
        self._registry = {digester.name: digester for digester in registry}

    def run(
        self,
        task: Task,
        family: str,
        limits: Limits,
        on_progress: Callable[[float], None] | None = None,
        on_start: Callable[[], None] | None = None,
    ) -> list[Output]:
        if on_start is not None:
            on_start()
        return self._registry[task.digester].digest(task)

    def run_many(
        self, tasks: Sequence[Task], family: str, limits: Limits, on_start: Callable[[], None] | None = None
    ) -> list[list[Output] | DigestError]:
        return self._registry[tasks[0].digester].digest_many(tasks)


class Folder:
    """One vault. `still`: every file counts as still at once, so that a single scan takes it."""

    def __init__(self, root: Path, still: bool = True) -> None:
        root.mkdir(exist_ok=True)
        self.root = root
        self.now = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
        self.vault = Vault(root)
        self.database = Database(root / ".chyme")
        self.keeper = Keeper()
        search = SearchKeyword()
        self.rules = Rules((self.keeper, search), RetryPolicy(jitter=0), recorders_of())
        self.intake = FileRegistry(self.database, self.rules, lambda: self.now)
        self.scanner = Scanner(self.vault, self.database, self.intake, (lambda: 4e9) if still else time.time)
        scratch = root / ".chyme/scratch"
        scratch.mkdir(exist_ok=True)
        self.coordinator = Coordinator(
            self.database, self.rules, InThread(self.keeper, search), self.vault, scratch, lambda: self.now,
            lambda _: Allowance(1 << 30), CallLedger(self.database, lambda: self.now, {}),
        )  # fmt: skip
        self.watcher: Watcher | None = None

    def close(self) -> None:
        self.stop()
        self.coordinator.close()
        self.database.close()

    def watch(self) -> Watcher:
        """Notice changes by events from now on."""
        self.watcher = Watcher(os.fspath(self.root), self.scanner, lambda: None, 3600)
        self.watcher.start()
        return self.watcher

    def stop(self) -> None:
        if self.watcher is not None:
            self.watcher.close()
            self.watcher = None

    @property
    def db(self) -> sqlite3.Connection:
        return self.database.read()

    def put(self, name: str, text: str = "") -> Path:
        """Write a file without notifying the scanner."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text or f"text of {name}", encoding="utf-8")
        return path

    def scan(self) -> ScanReport:
        return self.scanner.scan()

    def digest(self) -> int:
        """Digest all that is due. Returns how many files the keeper was given."""
        before = len(self.keeper.given)
        while due := digest_queue.list_due(self.db, self.now.isoformat(), 100):
            for each in due:
                self.process(each.file_id)
        return len(self.keeper.given) - before

    def process(self, file_id: int) -> PassResult | None:
        """Run the digesters of a file. None: another worker has claimed it."""
        (claim,) = self.coordinator.claim([file_id], frozenset(Lane))
        return None if claim is None else self.coordinator.run_claims([claim])[file_id]

    def take_in(self) -> int:
        """Scan and digest."""
        self.scan()
        return self.digest()

    def paths(self) -> list[str]:
        """The paths of all files that are visible to people."""
        return sorted(file.path for file in files.below(self.db, ""))

    def file(self, path: str) -> File:
        found = files.by_path(self.db, path)
        assert found is not None, f"{path} is not known; there are {self.paths()}"
        return found

    def id(self, path: str) -> int:
        return self.file(path).id

    def kept(self, path: str) -> str | None:
        return digests.content(self.db, self.id(path), "keeper")

    def found(self, words: str) -> list[str]:
        """Paths that a search for these words finds."""
        search = Search(self.database.read, SqliteIndex(self.database.read))
        return sorted(hit.path for hit in search.search(words, limit=500).hits)

    def problems(self) -> list[str]:
        """Inconsistencies in the database, including artifacts without a digest."""
        return list(self.database.write(consistency_checks.find_problems))

    def row(self, statement: str, *values: Any) -> Any:
        return self.db.execute(statement, values).fetchone()

    def forward(self, days: float) -> None:
        self.now += timedelta(days=days)


until = wait_until
