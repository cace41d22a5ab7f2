"""Claiming a file, moving from one digester to the next, and releasing it: each step is one transaction."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from sqlite3 import Connection

from chyme.core.pipeline.again import make_again
from chyme.core.pipeline.attempt import Attempt
from chyme.core.pipeline.digest_state import NotApplicable, Verdict, Waiting, judge
from chyme.core.pipeline.digester_inputs import StoredSource
from chyme.core.pipeline.output_updates import PreparedOutput, keep_capture, reuse, settle, update_document
from chyme.core.pipeline.plan import Skip, Start, Wait, next_step, readable_inputs
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import digest_queue, digests, events, file_requests, files, leases
from chyme.digester import Digester
from chyme.model import Digest, File, Lane, Lease, Status, iso

LEASE = timedelta(seconds=30)
TURN = timedelta(minutes=10)  # after this time, no further digester of the file starts in this pass


@dataclass(frozen=True, slots=True)
class FilePass:
    """One pass over a file."""

    began: datetime
    asked: bool = False  # requested by a person, who wants it made, not copied
    lanes: frozenset[Lane] = frozenset({Lane.ORDINARY})  # what may be started
    put_off: frozenset[str] = frozenset()  # outputs to be finished when there is nothing else to do


class PassResult(Enum):
    """How a pass over a file ended."""

    DONE = "done"
    CHANGED = "changed"  # the file has changed: scan it again before the next pass
    STOPPED = "stopped"  # chyme is shutting down, or the disk is full


@dataclass(frozen=True, slots=True)
class Claim:
    """A file that this process holds, and the attempt started on it (None: there was nothing to do)."""

    lease: Lease
    attempt: Attempt | None
    file_pass: FilePass


def claim(
    db: Connection, rules: Rules, file_id: int, owner: str, now: datetime, lanes: frozenset[Lane]
) -> Claim | None:
    """Take the file and start its first pending digester; None when another worker has it."""
    lease = leases.take(db, file_id, owner, os.urandom(16).hex(), iso(now), iso(now + LEASE))
    if lease is None:
        return None
    file_pass = FilePass(now, asked=digests.has_request(db, file_id, lanes != {Lane.ORDINARY}), lanes=lanes)
    attempt, file_pass = advance(db, rules, lease, file_pass, now)
    return Claim(lease, attempt, file_pass)


def advance(
    db: Connection,
    rules: Rules,
    lease: Lease,
    file_pass: FilePass,
    now: datetime,
    moved: bool = False,
    known: File | None = None,
) -> tuple[Attempt | None, FilePass]:
    """Settle what needs no work, then start the next digester; if there is none, release the file.

    `moved`: something was settled before, so the document's row must be updated.
    """
    file, at = known or files.by_id(db, lease.file_id), iso(now)
    while True:
        if file is None or file.vanished_at is not None:
            leases.release(db, lease)
            return None, file_pass
        for request_id, again in file_requests.of_file(db, file.id):
            make_again(db, rules, file.id, again, at)
            file_requests.remove(db, request_id)
            file_pass = FilePass(now, asked=True, lanes=file_pass.lanes)
        rows = digests.unskipped_of_file(db, file.id)
        step = next_step(rules.registry, file, rows, at, rules.policy.max_attempts, file_pass.lanes, file_pass.put_off)
        if isinstance(step, Start) and now - file_pass.began > TURN:
            digest_queue.push_back(db, file.id)
            step = None
        match step:
            case None:
                digests.update_lanes(db, file.id, _elsewhere(rules, rows, file_pass.lanes))
                if moved:
                    update_document(db, rules, file, rows, at)
                leases.release(db, lease)
                return None, file_pass
            case Skip(_, outputs) | Wait(_, outputs, _):
                outcome = Waiting(step.upstream) if isinstance(step, Wait) else NotApplicable()
                for name in outputs:
                    attempts = rows[name].attempts if name in rows else 0
                    verdict = judge(outcome, name, attempts, now, rules.policy)
                    _register_missing(db, rules, file, rows, at)
                    settle(db, rules, file, name, verdict, None, rows.get(name), None, at)
                moved = True
            case Start(digester, outputs, input_hash):
                if not file_pass.asked and reuse(db, rules, file, digester, outputs, input_hash, rows, at):
                    moved = True
                    continue
                _register_missing(db, rules, file, rows, at)
                if moved:
                    update_document(db, rules, file, rows, at)
                return _start(db, rules, lease, file, digester, outputs, input_hash, rows, now), file_pass


def _elsewhere(rules: Rules, rows: dict[str, Digest], lanes: frozenset[Lane]) -> dict[str, int]:
    """The unsettled outputs that belong to other lanes, with those lanes."""
    return {
        name: int(digester.runs.lane)
        for digester in rules.registry
        if digester.runs.lane not in lanes
        for name in digester.outputs
        if name in rows and not rows[name].settled
    }


def _register_missing(db: Connection, rules: Rules, file: File, rows: dict[str, Digest], now: str) -> None:
    if any(name not in rows for name in rules.outputs):
        register(db, rules, file, now)


def register(db: Connection, rules: Rules, file: File, now: str) -> None:
    """Add the missing rows of a file: todo or skipped, depending only on its kind."""
    digests.register(db, file.id, file.path, rules.applicable_outputs(file), "not applicable", now)


def _start(
    db: Connection,
    rules: Rules,
    lease: Lease,
    file: File,
    digester: Digester,
    outputs: tuple[str, ...],
    input_hash: str,
    rows: dict[str, Digest],
    now: datetime,
) -> Attempt:
    seconds, at = digester.time_limit(StoredSource(db, rules, file, digester, rows)), iso(now)
    deadline = iso(now + timedelta(seconds=seconds))
    run_id = os.urandom(16).hex()
    number = digests.start(db, file.id, outputs, run_id, digester.recipe, input_hash, deadline, at)
    for name in outputs:
        events.record(db, at, "digest", file.id, file.path, name, "in-progress")
    inputs = readable_inputs(digester, rows)
    before = {name: rows[name] for name in outputs if name in rows}
    return Attempt(lease, file, digester, outputs, run_id, number, input_hash, inputs, seconds, now, before)


def record(
    db: Connection,
    rules: Rules,
    attempt: Attempt,
    verdicts: Sequence[tuple[str, Verdict, PreparedOutput | None]],
    file_pass: FilePass,
    now: datetime,
    took_ms: int,
    worker: str | None = None,
) -> tuple[Attempt | None, FilePass]:
    """Write the verdicts with everything that belongs to them, and start the next digester, in one transaction.
    `worker`: who ran the attempt, if that was another machine.

    A worker that lost its lease changes nothing; if the file has changed meanwhile, the verdicts are dropped.
    """
    if not leases.is_held(db, attempt.lease):
        return None, file_pass
    file, at = files.by_id(db, attempt.file.id), iso(now)
    if file is not None and file.generation == attempt.file.generation:
        rows = digests.of_outputs(db, file.id, attempt.digester.outputs)
        for name, verdict, prepared in verdicts:
            row = rows.get(name)
            if row is None or row.run_id != attempt.run_id:
                continue
            if verdict.status is Status.FAILED and verdict.settled and rules.has_capture(name, rows):
                keep_capture(db, rules, file, name, verdict, took_ms, at)
            else:
                settle(db, rules, file, name, verdict, prepared, row, took_ms, at, attempt, worker)
    unfinished = frozenset(name for name, verdict, _ in verdicts if verdict.unfinished)
    if unfinished:
        file_pass = replace(file_pass, put_off=file_pass.put_off | unfinished)
    return advance(db, rules, attempt.lease, file_pass, now, moved=True, known=file)


def return_attempt(
    db: Connection,
    rules: Rules,
    attempt: Attempt,
    verdicts: Sequence[tuple[str, Verdict, PreparedOutput | None]],
    now: datetime,
    lost: bool = False,
) -> None:
    """Undo an interrupted attempt and release the file: it must be scanned again first. `lost`: a worker vanished."""
    if not leases.is_held(db, attempt.lease):
        return
    rows = digests.of_file(db, attempt.file.id)
    for name, verdict, _ in verdicts:
        row = rows.get(name)
        if row is not None and row.run_id == attempt.run_id:
            if lost:
                digests.count_loss(db, attempt.file.id, [name])
            settle(db, rules, attempt.file, name, verdict, None, row, None, iso(now))
    leases.release(db, attempt.lease)
