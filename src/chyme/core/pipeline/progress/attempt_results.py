"""An attempt that is over and written down: for those who count, and as a line of the log."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from chyme.core.pipeline.attempt import Attempt
from chyme.core.pipeline.digest_state import Verdict
from chyme.model import Status

log = logging.getLogger(__name__)

COMPLETED, SKIPPED, FAILED, AGAIN, GIVEN_BACK = "completed", "skipped", "failed", "again", "given-back"


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """How one attempt ended."""

    path: str
    digester: str
    lane: int
    outputs: int
    outcome: str  # completed, skipped, failed, again (to be tried once more), given-back (interrupted)
    category: str | None
    error: str | None
    attempt: int
    run_id: str
    seconds: float


def summarize_attempt(attempt: Attempt, verdicts: Sequence[Verdict], seconds: float, given_back: bool) -> AttemptResult:
    """What came of an attempt: the worst of its outputs speaks for all."""
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
    )


def _badness(verdict: Verdict) -> int:
    return (COMPLETED, SKIPPED, AGAIN, FAILED).index(_outcome(verdict))


def _outcome(verdict: Verdict) -> str:
    if verdict.status is Status.COMPLETED:
        return COMPLETED
    if verdict.status is Status.SKIPPED:
        return SKIPPED
    return FAILED if verdict.status is Status.FAILED and verdict.settled else AGAIN


def log_attempt(vault: str, one: AttemptResult) -> None:
    """A line of the log: a warning where something went wrong."""
    wrong = one.outcome in (FAILED, AGAIN)
    fields = {
        "vault": vault,
        "path": one.path,
        "digester": one.digester,
        "outcome": one.outcome,
        "attempt": one.attempt,
        "run": one.run_id,
        "seconds": round(one.seconds, 3),
    }
    if one.category:
        fields |= {"category": one.category, "error": one.error}
    if not wrong:
        log.info("%s: %s %s in %.2f s", one.path, one.digester, one.outcome, one.seconds, extra=fields)
        return
    log.warning(
        "%s: %s failed after %.2f s (%s, attempt %d%s): %s",
        *(one.path, one.digester, one.seconds, one.category, one.attempt),
        "; it will be tried again" if one.outcome == AGAIN else "",
        _without_name(one),
        extra=fields,
    )


def _without_name(one: AttemptResult) -> str:
    """Errors name the file they are about; a line that has named it need not do so again."""
    name = one.path.rpartition("/")[2]
    return (one.error or "").removeprefix(f"{one.path}: ").removeprefix(f"{name}: ")
