"""One digester at work on one file, and its result for metrics and the log."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from chyme.core.pipeline.digest_state import Verdict
from chyme.digester import Digester
from chyme.model import Digest, File, Lease, Status

log = logging.getLogger(__name__)

COMPLETED, SKIPPED, FAILED, AGAIN, GIVEN_BACK = "completed", "skipped", "failed", "again", "given-back"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One digester at work on one file."""

    lease: Lease
    file: File
    digester: Digester
    outputs: tuple[str, ...]
    run_id: str
    number: int  # which attempt at these outputs it is, counted from 1
    input_hash: str
    inputs: tuple[str, ...]  # the available outputs that it reads
    seconds: float
    started: datetime
    before: dict[str, Digest]  # its rows before it started

    @property
    def scratch_key(self) -> str | None:
        """The name of its kept scratch folder; None for a digester that starts from nothing each time."""
        if not self.digester.runs.keeps_scratch:
            return None
        return f"{self.file.id}-{self.input_hash[:16]}-{self.digester.recipe}"


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """How one attempt ended."""

    path: str
    digester: str
    lane: int
    outputs: int
    outcome: str  # completed, skipped, failed, again (will be retried), given-back (interrupted)
    category: str | None
    error: str | None
    attempt: int
    run_id: str
    seconds: float
    worker: str | None = None  # who ran it; None: this machine


def summarize_attempt(
    attempt: Attempt, verdicts: Sequence[Verdict], seconds: float, given_back: bool, worker: str | None = None
) -> AttemptResult:
    """The result of an attempt: that of its worst output."""
    worst = max(verdicts, key=_badness)
    return AttemptResult(
        path=attempt.file.path,
        digester=attempt.digester.name,
        lane=int(attempt.digester.runs.lane),
        outputs=len(verdicts),
        outcome=GIVEN_BACK if given_back else _outcome(worst),
        category=str(worst.category) if worst.category else None,
        error=worst.error,
        attempt=attempt.number,
        run_id=attempt.run_id,
        seconds=seconds,
        worker=worker,
    )


def _badness(verdict: Verdict) -> int:
    return (COMPLETED, SKIPPED, AGAIN, FAILED).index(_outcome(verdict))


def _outcome(verdict: Verdict) -> str:
    if verdict.status is Status.COMPLETED:
        return COMPLETED
    if verdict.status is Status.SKIPPED:
        return SKIPPED
    return FAILED if verdict.status is Status.FAILED and verdict.settled else AGAIN


def log_attempt(vault: str, result: AttemptResult) -> None:
    """Write a log line: a warning if the attempt failed."""
    is_failure = result.outcome in (FAILED, AGAIN)
    fields = {
        "vault": vault,
        "path": result.path,
        "digester": result.digester,
        "outcome": result.outcome,
        "attempt": result.attempt,
        "run": result.run_id,
        "seconds": round(result.seconds, 3),
    }
    if result.worker:
        fields["worker"] = result.worker
    if result.category:
        fields |= {"category": result.category, "error": result.error}
    if not is_failure:
        log.info("%s: %s %s in %.2f s", result.path, result.digester, result.outcome, result.seconds, extra=fields)
        return
    log.warning(
        "%s: %s failed after %.2f s (%s, attempt %d%s): %s",
        *(result.path, result.digester, result.seconds, result.category, result.attempt),
        "; it will be tried again" if result.outcome == AGAIN else "",
        _without_name(result),
        extra=fields,
    )


def _without_name(result: AttemptResult) -> str:
    """The error without the file's name, which the log line already contains."""
    name = result.path.rpartition("/")[2]
    return (result.error or "").removeprefix(f"{result.path}: ").removeprefix(f"{name}: ")
