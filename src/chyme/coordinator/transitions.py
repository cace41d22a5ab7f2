"""Everything that changes a digest, each as part of one transaction on the writer thread."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from sqlite3 import Connection

from chyme.coordinator import joining, tagging
from chyme.coordinator.prepared import Prepared
from chyme.coordinator.rules import Rules
from chyme.coordinator.upstream import StoredSource
from chyme.decide.documents import STAYS, standing
from chyme.decide.judge import NotApplicable, Verdict, Waiting, judge
from chyme.decide.plan import Skip, Start, Wait, next_step, with_siblings
from chyme.digester import Digester
from chyme.errors import Category
from chyme.model import THUMBNAIL, Digest, File, Kind, Lane, Lease, Status, Wish, iso
from chyme.store import (
    ai_calls,
    ai_providers,
    digests,
    documents,
    events,
    files,
    locks,
    passages,
    places,
    projection,
    queue,
    requests,
    sqlar,
)

TAGS, TAG_VECTORS = "tags", "tag-embeddings"
DESCRIBING = frozenset({*projection.CLASSIFIERS, TAGS})
LEASE = timedelta(seconds=30)
TURN = timedelta(minutes=10)  # a file's turn: after it no further digester starts in this pass


@dataclass(frozen=True, slots=True)
class Attempt:
    """One digester at work on one file."""

    lease: Lease
    file: File
    digester: Digester
    outputs: tuple[str, ...]
    run_id: str
    attempts: dict[str, int]
    input_hash: str
    inputs: tuple[str, ...]  # the outputs it reads that are there
    seconds: float
    started: datetime
    before: dict[str, Digest]  # its rows before it began


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass over a file: what was asked for and when it began."""

    began: datetime
    asked: bool = False  # by a person, who wants it made, not copied
    wanted: frozenset[str] | None = None
    lanes: frozenset[Lane] = frozenset({Lane.ORDINARY})  # what may begin


@dataclass(frozen=True, slots=True)
class Claim:
    """A file that is ours for a while, and what is begun with it (None: there was nothing to do)."""

    lease: Lease
    attempt: Attempt | None
    turn: Pass


def claim(
    db: Connection, rules: Rules, file_id: int, owner: str, wish: Wish | None, now: datetime, lanes: frozenset[Lane]
) -> Claim | int | None:
    """Take the file and begin with it; when it is taken, the wish is noted (its id) or nothing happens (None)."""
    lease = locks.take(db, file_id, owner, uuid.uuid4().hex, iso(now), iso(now + LEASE))
    if lease is None:
        return None if wish is None else requests.add(db, file_id, wish, iso(now))
    turn = Pass(now, asked=lanes != {Lane.ORDINARY} and digests.asked_for(db, file_id), lanes=lanes)
    if wish is not None:
        apply_wish(db, rules, file_id, wish, iso(now))
        wanted = with_siblings(rules.registry, wish.only) if wish.only else None
        turn = Pass(now, asked=True, wanted=wanted, lanes=lanes)
    attempt, turn = advance(db, rules, lease, turn, now)
    return Claim(lease, attempt, turn)


def apply_wish(db: Connection, rules: Rules, file_id: int, wish: Wish, now: str) -> int:
    """What a person asked for: reset the chosen digests, or give failed ones their attempts back. Returns how many."""
    file = files.by_id(db, file_id)
    if file is None:
        return 0
    chosen = with_siblings(rules.registry, wish.only) if wish.only else frozenset(rules.outputs)
    if wish.reset:
        changed = len(reset(db, rules, file, chosen, digests.PERSON, now))
    else:
        changed = digests.retry_failed(db, [file_id], chosen, now)
    if changed:
        project(db, rules, file, digests.of_file(db, file_id), now)
    return changed


def reset(db: Connection, rules: Rules, file: File, outputs: Iterable[str], priority: int, now: str) -> list[str]:
    """Back to todo, with all that was made gone; only captures stay, until there are others."""
    changed = digests.reset(db, file.id, outputs, priority, now, rules.captures)
    for name in changed:
        if name not in rules.captures:
            sqlar.remove(db, file.path, name)
            places.remove(db, file.id, name)
            passages.remove(db, file.id, name)
            documents.hide_face(db, file.id, name)
        events.tell(db, now, "digest", file.id, file.path, name, "todo")
    if TAGS in changed:
        tagging.forgotten(db, file.id)
    if DESCRIBING.intersection(changed):
        projection.describe(db, file.id, now)
    return changed


def advance(
    db: Connection,
    rules: Rules,
    lease: Lease,
    turn: Pass,
    now: datetime,
    moved: bool = False,
    known: File | None = None,
) -> tuple[Attempt | None, Pass]:
    """Settle what needs no work, then begin the next digester; without one, release the file.

    `moved`: something was settled before, so the document's row must follow.
    """
    file = known or files.by_id(db, lease.file_id)
    while True:
        if file is None or file.vanished_at is not None:
            locks.release(db, lease)
            return None, turn
        for request_id, wish in requests.of_file(db, file.id):
            apply_wish(db, rules, file.id, wish, iso(now))
            requests.remove(db, request_id)
            turn = Pass(now, asked=True, lanes=turn.lanes)
        rows = digests.of_file(db, file.id)
        step = next_step(rules.registry, file, rows, iso(now), turn.wanted, rules.policy.max_attempts, turn.lanes)
        if isinstance(step, Start) and now - turn.began > TURN:
            queue.push_back(db, file.id)
            step = None
        match step:
            case None:
                digests.relane(db, file.id, _elsewhere(rules, rows, turn.lanes))
                if moved:
                    project(db, rules, file, rows, iso(now))
                locks.release(db, lease)
                return None, turn
            case Skip(_, outputs) | Wait(_, outputs, _):
                outcome = Waiting(step.upstream) if isinstance(step, Wait) else NotApplicable()
                for name in outputs:
                    attempts = rows[name].attempts if name in rows else 0
                    verdict = judge(outcome, name, attempts, now, rules.policy)
                    _register_missing(db, rules, file, rows, iso(now))
                    settle(db, rules, file, name, verdict, None, rows.get(name), None, iso(now))
                moved = True
            case Start(digester, outputs, input_hash):
                if not turn.asked and reuse(db, rules, file, digester, outputs, input_hash, rows, iso(now)):
                    moved = True
                    continue
                _register_missing(db, rules, file, rows, iso(now))
                if moved:
                    project(db, rules, file, rows, iso(now))
                return _start(db, lease, file, digester, outputs, input_hash, rows, now), turn


def _elsewhere(rules: Rules, rows: dict[str, Digest], lanes: frozenset[Lane]) -> dict[str, int]:
    """The outputs that are to be made in another lane than these."""
    return {
        name: int(digester.lane)
        for digester in rules.registry
        if digester.lane not in lanes
        for name in digester.outputs
        if name in rows and not rows[name].settled
    }


def _register_missing(db: Connection, rules: Rules, file: File, rows: dict[str, Digest], now: str) -> None:
    if any(name not in rows for name in rules.outputs):
        register(db, rules, file, now)


def register(db: Connection, rules: Rules, file: File, now: str) -> None:
    """Write all rows a file should have: todo or skipped, by its kind alone."""
    digests.register(db, file.id, file.path, rules.applying(file), "not applicable", now)


def _start(
    db: Connection,
    lease: Lease,
    file: File,
    digester: Digester,
    outputs: tuple[str, ...],
    input_hash: str,
    rows: dict[str, Digest],
    now: datetime,
) -> Attempt:
    seconds = digester.time_limit(StoredSource(db, file, digester))
    deadline = iso(now + timedelta(seconds=seconds))
    run_id = uuid.uuid4().hex
    digests.start(db, file.id, outputs, run_id, digester.recipe, input_hash, deadline, iso(now))
    attempts = {name: (rows[name].attempts if name in rows else 0) + 1 for name in outputs}
    for name in outputs:
        events.tell(db, iso(now), "digest", file.id, file.path, name, "in-progress")
    inputs = tuple(name for name in digester.reads if name in rows and rows[name].status is Status.COMPLETED)
    before = {name: rows[name] for name in outputs if name in rows}
    return Attempt(lease, file, digester, outputs, run_id, attempts, input_hash, inputs, seconds, now, before)


def record(
    db: Connection,
    rules: Rules,
    attempt: Attempt,
    verdicts: Sequence[tuple[str, Verdict, Prepared | None]],
    turn: Pass,
    now: datetime,
    took_ms: int,
) -> tuple[Attempt | None, Pass]:
    """Write the verdicts and all that belongs to them, and begin the next digester: one transaction.

    A worker that lost its lease, or whose file has changed meanwhile, changes nothing.
    """
    if not locks.held(db, attempt.lease):
        return None, turn
    file = files.by_id(db, attempt.file.id)
    if file is not None and file.generation == attempt.file.generation:
        rows = digests.of_file(db, file.id)
        for name, verdict, prepared in verdicts:
            row = rows.get(name)
            if row is None or row.run_id != attempt.run_id:
                continue
            if verdict.status is Status.FAILED and verdict.settled and rules.has_capture(name, rows):
                keep_capture(db, rules, file, name, verdict, took_ms, iso(now))
            else:
                settle(db, rules, file, name, verdict, prepared, row, took_ms, iso(now), attempt)
    return advance(db, rules, attempt.lease, turn, now, moved=True, known=file)


def settle(
    db: Connection,
    rules: Rules,
    file: File,
    name: str,
    verdict: Verdict,
    prepared: Prepared | None,
    before: Digest | None,
    duration: int | None,
    now: str,
    attempt: Attempt | None = None,
) -> None:
    """One output takes its new state, with its content, and its readers learn of it."""
    old_hash = before.content_hash if before else None
    new_hash = None
    if verdict.status is Status.COMPLETED and prepared is not None and attempt is not None:
        stays = verdict.provider is not None and _made_by_its_model(attempt, name)
        new_hash = old_hash if stays else prepared.content_hash
        if stays:
            digests.keep_without(db, file.id, name, attempt.input_hash, duration, now)
        else:
            _complete(db, rules, file, name, prepared, attempt, before, duration, now)
        if verdict.error is not None:
            _note_without(db, file, name, verdict, stays, now)
    else:
        digests.settle_otherwise(
            db, file.id, name, verdict.status, verdict.settled, verdict.attempts, verdict.error,
            verdict.category, verdict.retry_at, duration, now, verdict.provider,
        )  # fmt: skip
        joining.settled_without(db, file, name, verdict)
    events.tell(db, now, "digest", file.id, file.path, name, verdict.status, verdict.error)
    if verdict.settled:
        if attempt is not None and verdict.retry_at is None:
            ai_calls.forget_responses(db, file.id, attempt.digester.name)
        tell_readers(db, rules, file.id, name, old_hash != new_hash, now)


def _made_by_its_model(attempt: Attempt, name: str) -> bool:
    """Whether there is an answer of its model to the same input: local rules must not take its place."""
    row = attempt.before.get(name)
    if row is None or row.content_hash is None or row.recipe is None or row.input_hash != attempt.input_hash:
        return False
    return row.recipe != digests.PRIVATE and (not row.recipe.startswith(digests.WITHOUT) or row.recipe.endswith(STAYS))


def _note_without(db: Connection, file: File, name: str, verdict: Verdict, stays: bool, now: str) -> None:
    recipe, later = digests.PRIVATE, verdict.retry_at
    if verdict.provider is not None:
        recipe = f"{digests.WITHOUT}{verdict.category}{STAYS if stays else ''}"
        paused = ai_providers.of(db, verdict.provider).paused_at is not None
        if verdict.category is Category.BUDGET and later is None and not paused:
            later = now  # somebody let it go on while this was made
    digests.note_without(db, file.id, name, recipe, verdict.provider, verdict.error or "", verdict.attempts, later)


def keep_capture(
    db: Connection, rules: Rules, file: File, name: str, failure: Verdict, duration: int | None, now: str
) -> None:
    """It could not be captured again: what was captured before stays as it is, and says so.

    So do captures that read it: a picture taken now would show what came instead of the page.
    """
    note = f"kept from before, because it could not be made again: {failure.error}"
    waiting = failure.category is Category.UNAVAILABLE
    rows = digests.of_file(db, file.id)
    for one in (name, *(reader for reader in rules.readers.get(name, ()) if rules.has_capture(reader, rows))):
        if digests.keep(db, file.id, one, note, waiting, duration if one == name else None, now):
            events.tell(db, now, "digest", file.id, file.path, one, Status.COMPLETED, note)
            tell_readers(db, rules, file.id, one, False, now)


def tell_readers(db: Connection, rules: Rules, file_id: int, name: str, changed: bool, now: str) -> None:
    readers = rules.readers.get(name, ())
    if not readers:
        return
    if changed:
        digests.cascade(db, file_id, readers, now)
    else:
        digests.wake(db, file_id, readers, now)


def _complete(
    db: Connection,
    rules: Rules,
    file: File,
    name: str,
    prepared: Prepared,
    attempt: Attempt,
    before: Digest | None,
    duration: int | None,
    now: str,
) -> None:
    output = prepared.output
    again = before is not None and before.content_hash is not None  # else there is nothing to replace
    sqlar_name = None
    if again or prepared.artifacts:
        sqlar_name = sqlar.replace(db, file.path, name, prepared.artifacts, file.stamp.mtime_ns // 10**9)
    if again or output.places:
        places.replace(db, file.id, name, output.places)
    if again or output.passages or output.words:
        passages.replace(db, file.id, name, output.passages, output.words, prepared.forgotten)
    content = joining.content_of(db, file, output, rules.same_voice, now)
    if name == TAGS:
        content = tagging.content_of(db, file, output, now)
    elif name == TAG_VECTORS:
        tagging.vectors_of(db, output)
    digests.complete(
        db, file.id, name, content, prepared.content_hash, sqlar_name, attempt.digester.recipe,
        attempt.input_hash, duration, now,
    )  # fmt: skip
    _entitle(db, file, name, prepared.title, now)
    if name in DESCRIBING:
        projection.describe(db, file.id, now)
    if any(artifact.filename == THUMBNAIL for artifact in prepared.artifacts):
        documents.show_face(db, file.id, name, prepared.pages)
    elif again:
        documents.hide_face(db, file.id, name)


def _entitle(db: Connection, file: File, name: str, title: str | None, now: str) -> None:
    """The text itself gives the title until a classifier does."""
    speaks = name in ("doc-to-markdown", "url-metadata") or (name == "search-keyword" and file.kind is Kind.TEXT)
    if speaks and documents.find_title(db, file.id, title):
        projection.describe(db, file.id, now)


def reuse(
    db: Connection,
    rules: Rules,
    file: File,
    digester: Digester,
    outputs: tuple[str, ...],
    input_hash: str,
    rows: dict[str, Digest],
    now: str,
) -> bool:
    """Fill all these outputs from another file's with the same input and recipe. Copies cost nothing."""
    if not digester.reusable:
        return False
    donors = [digests.donor(db, file.id, name, input_hash, digester.recipe) for name in outputs]
    found = [donor for donor in donors if donor is not None]
    if len(found) < len(outputs):
        return False
    for donor in found:
        name = donor.digester
        sqlar_name = sqlar.copy(db, donor.file_path, file.path, name)
        places.copy(db, donor.file_id, file.id, name)
        passages.copy(db, donor.file_id, file.id, name)
        digests.copy_from(db, donor, file.id, sqlar_name, now)
        _copy_findings(db, file, donor, now)
        events.tell(db, now, "digest", file.id, file.path, name, "completed", "reused")
        before = rows[name].content_hash if name in rows else None
        tell_readers(db, rules, file.id, name, before != donor.content_hash, now)
    return True


def _copy_findings(db: Connection, file: File, donor: Digest, now: str) -> None:
    theirs = documents.of_file(db, donor.file_id)
    if theirs is None:
        return
    _entitle(db, file, donor.digester, theirs.found_title, now)
    if donor.digester in DESCRIBING:
        projection.describe(db, file.id, now)
    if theirs.face == donor.digester:
        documents.show_face(db, file.id, donor.digester, theirs.pages)


def project(db: Connection, rules: Rules, file: File, rows: dict[str, Digest], now: str) -> None:
    """Bring the document's row in line with its digests."""
    document = documents.of_file(db, file.id)
    titled = document is not None and document.title is not None
    stand = standing(file.kind, rows.values(), titled, rules.expects_title(file), rules.uncounted)
    documents.stand(db, file.id, stand.state, stand.reason, stand.degraded, now)
    if document is None or document.state != stand.state:
        events.tell(db, now, "document", file.id, file.path, None, stand.state, stand.reason)


def put_down(
    db: Connection,
    rules: Rules,
    attempt: Attempt,
    verdicts: Sequence[tuple[str, Verdict, Prepared | None]],
    now: datetime,
) -> None:
    """Give an attempt back and let the file go: it must be looked at again first."""
    if not locks.held(db, attempt.lease):
        return
    rows = digests.of_file(db, attempt.file.id)
    for name, verdict, _ in verdicts:
        row = rows.get(name)
        if row is not None and row.run_id == attempt.run_id:
            settle(db, rules, attempt.file, name, verdict, None, row, None, iso(now))
    locks.release(db, attempt.lease)
