"""What is reported about the workers of a vault: who is there, what each does, and why some get no work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

MAX_REASONS = 3  # in one line


class WorkerState(StrEnum):
    """Whether a worker gets work."""

    LIVE = "live"
    SILENT = "silent"  # nothing was heard of it for a while
    SET_ASIDE = "set aside"  # it failed too often, and gets no more work


@dataclass(frozen=True, slots=True)
class RunReport:
    """An attempt that runs on a worker."""

    run: str
    digester: str
    path: str
    seconds: float | None  # since it began; None while the file is still on its way
    fraction: float = 0.0  # how much of it is done


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """One process of a worker."""

    name: str
    instance: str
    host: str
    version: str
    state: WorkerState
    places: int
    slowness: float  # how many times the usual seconds its attempts may take
    running: tuple[RunReport, ...]
    done: int
    failed: int
    lost: int  # attempts it vanished with
    late: int  # answers that came when they were not wanted any more
    heard_seconds_ago: float
    set_aside: str | None  # why it gets no more work, and the way out
    makes: tuple[str, ...]
    misfits: Mapping[str, str]  # digesters that it does not make, with the reason


@dataclass(frozen=True, slots=True)
class FitReport:
    """Digesters whose work no worker may have, all for the same reasons."""

    digesters: tuple[str, ...]
    known: int  # workers
    reasons: tuple[tuple[str, int], ...]  # with the number of workers, most frequent first

    def describe(self) -> str:
        """Return a line such as `image-ocr, tags: 0 of 2 workers fit, because: 2 × not among --only`."""
        line = (
            f"{', '.join(self.digesters)}: 0 of {_count(self.known, 'worker')} {'fits' if self.known == 1 else 'fit'}"
        )
        if not self.reasons:
            return line
        why = [f"{count} × {reason}" for reason, count in self.reasons[:MAX_REASONS]]
        others = len(self.reasons) - MAX_REASONS
        return f"{line}, because: {'; '.join(why)}" + (f"; and {_count(others, 'other reason')}" if others > 0 else "")


@dataclass(frozen=True, slots=True)
class WorkersSummary:
    """The workers of a vault in a few figures and a line."""

    connected: bool
    problem: str | None  # why there is no connection
    connections: int  # how often there came to be one, so that also a short break is seen
    live: int
    silent: int
    set_aside: int
    running: int  # attempts on workers
    unfit: int  # digesters that no worker makes
    summary: str


@dataclass(frozen=True, slots=True)
class WorkersReport:
    """All workers of a vault, as its coordinator sees them."""

    vault: str  # its name for workers
    connected: bool
    problem: str | None
    waits_for_workers: bool  # what may run on workers never runs here
    workers: tuple[WorkerReport, ...]
    waiting: Mapping[str, int]  # digester → attempts that wait for a place, here or elsewhere
    late: int  # answers that came when they were not wanted any more, of all workers there ever were
    unfit: tuple[FitReport, ...]
    connections: int = 0  # how often there came to be one

    def with_fractions(self, fractions: Mapping[tuple[str, str], float]) -> WorkersReport:
        """Return the same with how much of each run is done, by path and digester."""
        workers = (
            replace(
                worker,
                running=tuple(
                    replace(run, fraction=fractions.get((run.path, run.digester), 0.0)) for run in worker.running
                ),
            )
            for worker in self.workers
        )
        return replace(self, workers=tuple(workers))

    def count(self, state: WorkerState) -> int:
        """Count the workers in this state."""
        return sum(worker.state is state for worker in self.workers)

    @property
    def running(self) -> int:
        """How many attempts run on workers."""
        return sum(len(worker.running) for worker in self.workers)

    def summarize(self) -> WorkersSummary:
        """Return the figures, and a line that says them."""
        return WorkersSummary(
            self.connected,
            self.problem,
            self.connections,
            live=self.count(WorkerState.LIVE),
            silent=self.count(WorkerState.SILENT),
            set_aside=self.count(WorkerState.SET_ASIDE),
            running=self.running,
            unfit=sum(len(unfit.digesters) for unfit in self.unfit),
            summary=self._summary_line(),
        )

    def _summary_line(self) -> str:
        if not self.connected:
            reason = f" ({self.problem})" if self.problem else ""
            rest = "what only workers may do waits" if self.waits_for_workers else "digestion goes on here"
            return f"not connected to NATS{reason}; {rest}"
        parts = [_count(len(self.workers), "worker")]
        for state in (WorkerState.SILENT, WorkerState.SET_ASIDE):
            if count := self.count(state):
                parts[0] += f", {count} {state}"
        running = self.running
        parts.append(f"{_count(running, 'attempt')} {'runs' if running == 1 else 'run'} elsewhere")
        return f"connected to NATS; {'; '.join(parts)}"

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            "enabled": True,
            "vault": self.vault,
            **asdict(self.summarize()),
            "waits_for_workers": self.waits_for_workers,
            "workers": [_worker_json(worker) for worker in self.workers],
            "waiting": dict(self.waiting),
            "late": self.late,
            "fit": [unfit.describe() for unfit in self.unfit],
        }


def _worker_json(worker: WorkerReport) -> dict[str, Any]:
    lists = {"running": [asdict(run) for run in worker.running], "makes": list(worker.makes)}
    return {**asdict(worker), "state": worker.state.value, **lists}


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def explain_fit(workers: Sequence[WorkerReport], digesters: Sequence[str]) -> tuple[FitReport, ...]:
    """For those of these digesters that no worker makes now, why."""
    unfit: dict[tuple[tuple[str, int], ...], list[str]] = {}  # reasons → digesters
    for digester in digesters:
        if not any(worker.state is WorkerState.LIVE and digester in worker.makes for worker in workers):
            reasons = Counter(_misfit(worker, digester) for worker in workers)
            unfit.setdefault(tuple(reasons.most_common()), []).append(digester)
    return tuple(FitReport(tuple(names), len(workers), reasons) for reasons, names in unfit.items())


def _misfit(worker: WorkerReport, digester: str) -> str:
    """Why this worker does not make it."""
    if worker.state is not WorkerState.LIVE:
        return str(worker.state)
    return worker.misfits.get(digester, "has not reported yet what it can make")
