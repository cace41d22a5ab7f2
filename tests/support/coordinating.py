"""A vault in a temporary folder, a clock that tests move, and digesters that tests control."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType

import pytest
from upstreams import TRAITS

from chyme.application.recorders import recorders_of
from chyme.core.children.task import Task
from chyme.core.files.vault_folder import Vault
from chyme.core.pipeline.attempt_runner import Allowance
from chyme.core.pipeline.coordinator import Coordinator
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.pipeline.retry_policy import RetryPolicy
from chyme.core.pipeline.transitions import PassResult
from chyme.core.store import digests, documents, file_requests, files
from chyme.core.store.sqlite.database import Database
from chyme.digester import PREPARING, WITHOUT, Digester, Makes, Source
from chyme.errors import DigestError
from chyme.model import Again, File, Lane, Limits, Output, iso
from chyme.models.providers.call_ledger import CallLedger
from chyme.models.providers.daily_budget import Allowance as Spending
from chyme.vault.file_registry import FileRegistry
from chyme.vault.private_files import PrivateFiles
from chyme.vault.watch.scanner import Scanner

Made = Callable[[Source], list[Output]]


class Clock:
    """Stands still until `forward` is called."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class ScriptedDigester(Digester):
    """A digester that does what the test specifies, and counts its calls."""

    label = "told"
    description = "for tests"
    name = "told"

    def __init__(
        self,
        name: str,
        make: Made | None = None,
        reads: tuple[str, ...] = (),
        outputs: tuple[str, ...] = (),
        applies: Callable[[File], bool] = lambda _file: True,
        reusable: bool = True,
        waits: bool = False,
        lane: Lane = Lane.ORDINARY,
        captures: bool = False,
        prepare: Callable[[Source], None] | None = None,
        provider: str | None = None,
        instead: Made | None = None,
        optional_reads: frozenset[str] = frozenset(),
    ) -> None:
        self.name = name  # type: ignore[misc]
        self.outputs = outputs or (name,)
        self.traits = {output: TRAITS.get(output, Makes()) for output in self.outputs}
        self.reads = reads
        self.inputs = replace(self.inputs, optional=optional_reads)
        self.runs = replace(self.runs, lane=lane, waits=waits, prepares=prepare is not None)
        self.promises = replace(self.promises, reusable=reusable, captures=captures, falls_back=instead is not None)
        self.provider = provider
        self._instead = instead or super().without_model
        self._prepare = prepare or super().prepare
        self.make = make or (lambda source: [Output(name, f"{name} of {source.file.hash[:8]}")])
        self.applies = applies
        self.calls = 0

    def can_digest(self, file: File) -> bool:
        return self.applies(file)

    def prepare(self, source: Source) -> None:
        self._prepare(source)

    def asks(self, file: File) -> str | None:
        return self.provider

    def without_model(self, source: Source) -> list[Output]:
        return self._instead(source)

    def digest(self, source: Source) -> list[Output]:
        self.calls += 1
        return self.make(source)


class InThread:
    """Runs a digester where it is called: the runner's contract without its processes."""

    def __init__(self, registry: tuple[Digester, ...]) -> None:
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
        if task.digester.endswith(PREPARING):
            self._registry[task.digester.removesuffix(PREPARING)].prepare(task)
            return []
        if task.digester.endswith(WITHOUT):
            return self._registry[task.digester.removesuffix(WITHOUT)].without_model(task)
        return self._registry[task.digester].digest(replace(task, report=on_progress))

    def run_many(
        self, tasks: Sequence[Task], family: str, limits: Limits, on_start: Callable[[], None] | None = None
    ) -> list[list[Output] | DigestError]:
        if on_start is not None:
            on_start()
        return self._registry[tasks[0].digester].digest_many(tasks)


class Bench:
    """A vault with all its parts, and short methods to query it."""

    def __init__(
        self,
        root: Path,
        clock: Clock,
        *registry: Digester,
        policy: RetryPolicy | None = None,
        allowed: Mapping[str, Spending] = MappingProxyType({}),
    ) -> None:
        self.root = root
        self.clock = clock
        self.vault = Vault(root)
        self.database = Database(root / ".chyme")
        self.rules = Rules(registry, policy or RetryPolicy(), recorders_of())
        self.intake = FileRegistry(self.database, self.rules, clock)
        self.scanner = Scanner(self.vault, self.database, self.intake, wall=lambda: 4e9)
        scratch = root / ".chyme/scratch"
        scratch.mkdir(exist_ok=True)
        self.ledger = CallLedger(self.database, clock, allowed, PrivateFiles(root))
        self.coordinator = Coordinator(
            *(self.database, self.rules, InThread(registry), self.vault, scratch, clock),
            *(lambda _: Allowance(1 << 30), self.ledger),
        )

    def close(self) -> None:
        self.coordinator.close()
        self.database.close()

    @property
    def db(self) -> sqlite3.Connection:
        return self.database.read()

    def drop(self, name: str, text: str | bytes = "hello") -> int:
        """Put a file into the vault and register it."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        self.scanner.scan()
        return self.file(name).id

    def file(self, name: str) -> File:
        found = files.by_path(self.db, name)
        assert found is not None, f"{name} is not known"
        return found

    def file_of(self, file_id: int) -> File:
        found = files.by_id(self.db, file_id)
        assert found is not None
        return found

    def process(self, file_id: int, again: Again | None = None) -> PassResult | None:
        """Run a file through its digesters, after storing the request `again`. None if another worker has the file."""
        if again is not None:
            self.database.write(lambda db: file_requests.add(db, file_id, again, iso(self.clock())))
        (claim,) = self.coordinator.claim([file_id], frozenset(Lane))
        return None if claim is None else self.coordinator.run_claims([claim])[file_id]

    def digest(self, file_id: int, name: str) -> tuple[str, str | None, int]:
        row = digests.of_file(self.db, file_id)[name]
        return str(row.status), row.error_category, row.attempts

    def content(self, file_id: int, name: str) -> str | None:
        return digests.content(self.db, file_id, name)

    def state(self, file_id: int) -> str:
        row = documents.of_file(self.db, file_id)
        assert row is not None
        return row.state


def fails(error: DigestError) -> Made:
    def make(_source: Source) -> list[Output]:
        raise error

    return make


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def bench(tmp_path: Path, clock: Clock) -> Iterator[Callable[..., Bench]]:
    """Opens a vault with the given digesters."""
    opened: list[Bench] = []

    def open_bench(*registry: Digester, policy: RetryPolicy | None = None) -> Bench:
        root = tmp_path / "vault"
        root.mkdir(exist_ok=True)
        opened.append(Bench(root, clock, *registry, policy=policy))
        return opened[-1]

    yield open_bench
    for each in opened:
        each.close()
