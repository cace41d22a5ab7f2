"""Digests many files again, for any search result and digester, as a job that can be paused and cancelled."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from sqlite3 import Connection

from chyme.core.pipeline.again import make_again
from chyme.core.pipeline.plan import with_siblings
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import digests, events, files
from chyme.core.store import jobs as bulk
from chyme.core.store.jobs import Job
from chyme.core.store.sqlite.database import Database
from chyme.digester import Digester
from chyme.errors import NotFound, UsageError
from chyme.model import Again, Lane, Mode, iso
from chyme.search.search import Search

__all__ = ["BulkJobThread", "BulkJobs", "Job", "Plan", "Selection"]

log = logging.getLogger(__name__)

MAX_REQUESTED = 25  # requested files of jobs at once: after pausing or cancelling, only these are finished
MAX_SLOW = 20  # additional files that take hours or wait for web servers, so that others need not wait for them
SLOW_LANES = frozenset({Lane.LONG, Lane.AWAY})
BATCH = 4  # files that are started in one write, so that others can write in between
RECHECK_SECONDS = 10.0  # between two searches for files that are not slow, if there were none
SAMPLE = 200  # files of a job from which the others are estimated
BUSY_SECONDS, IDLE_SECONDS = 0.2, 1.0
KEEP_FINISHED_FOR = timedelta(days=30)
MAX_FINISHED_JOBS = 100
FILE_BATCH = 1000  # files that are read at once
_VERBS = {Mode.RESET: "make again", Mode.RETRY: "retry", Mode.OUTDATED: "bring up to date"}


@dataclass(frozen=True, slots=True)
class Selection:
    """Which files: results of a query, files and folders, one folder, or all. Several criteria are intersected."""

    query: str | None = None
    paths: tuple[str, ...] | None = None
    folder: str | None = None
    everything: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What a job would do."""

    files: int
    digests: int
    by_digester: dict[str, int]  # digester → digests
    asks_models: int  # calls, at most one for each file and digester, unless an answer is unusable
    providers: dict[str, int]  # the same by provider: llm, vision, …


class BulkJobs:
    """The jobs of one vault."""

    def __init__(
        self,
        database: Database,
        rules: Rules,
        search: Callable[[], Search],
        private: Callable[[str], bool],
        clock: Callable[[], datetime],
        wake: Callable[[], None],
    ) -> None:
        self._database = database
        self._rules = rules
        self._search = search
        self._private = private
        self._clock = clock
        self._wake = wake
        self.wakeup = threading.Event()  # set when there may be something to do
        self._slow_outputs = [
            name for digester in rules.registry if digester.runs.lane in SLOW_LANES for name in digester.outputs
        ]
        self._only_slow: dict[int, float] = {}  # jobs with only slow files left → when that was found

    def log_failure(self, error: Exception) -> None:
        """Log why the jobs do not proceed."""
        self._database.log_failure(log, "jobs are put off", error)

    def plan(self, selection: Selection, digesters: Sequence[str] | None = None, mode: Mode = Mode.RESET) -> Plan:
        """Return what a job would do; changes nothing."""
        outputs = self._resolve_outputs(digesters)
        chosen, by_digester = self._find_affected(selection, outputs, mode)
        providers = self._count_calls(chosen, outputs)
        return Plan(len(chosen), sum(by_digester.values()), by_digester, sum(providers.values()), providers)

    def start(self, selection: Selection, digesters: Sequence[str] | None = None, mode: Mode = Mode.RESET) -> Job:
        """Start a job, or return the open one with the same parameters."""
        outputs = self._resolve_outputs(digesters)
        key = _job_key(selection, outputs, mode)
        found = bulk.find_open(self._database.read(), key)
        if found is None:
            chosen, _ = self._find_affected(selection, outputs, mode)
            title = self._describe(selection, digesters, mode)
            names = None if digesters is None else outputs
            found = self._database.write(lambda db: self._add(db, key, title, mode, names, chosen))
        self.wakeup.set()
        return found

    def _add(
        self, db: Connection, key: str, title: str, mode: Mode, names: Sequence[str] | None, chosen: Collection[int]
    ) -> Job:
        moment = self._clock()
        existing = bulk.find_open(db, key)  # another process may have been quicker
        if existing is not None:
            return existing
        bulk.prune(db, iso(moment - KEEP_FINISHED_FOR), MAX_FINISHED_JOBS - 1)
        job = bulk.add(db, key, title, mode, names, sorted(chosen), iso(moment))
        _record_event(db, job, iso(moment))
        return job

    def list_jobs(self) -> list[Job]:
        """Return the open jobs, then the finished ones, newest first."""
        return bulk.list_jobs(self._database.read(), MAX_FINISHED_JOBS)

    def job(self, job_id: int) -> Job:
        found = bulk.by_id(self._database.read(), job_id)
        if found is None:
            raise NotFound(f"there is no job {job_id}; see which there are")
        return found

    def pause(self, job_id: int) -> Job:
        """Start no more files of the job; those already requested are finished."""
        return self._change(job_id, ("running",), "paused")

    def resume(self, job_id: int) -> Job:
        """Continue a paused job."""
        return self._change(job_id, ("paused",), "running")

    def cancel(self, job_id: int) -> Job:
        """End the job; files already requested are finished, the others stay as they are."""
        return self._change(job_id, ("running", "paused"), "cancelled")

    def _change(self, job_id: int, from_states: Collection[str], state: str) -> Job:
        now = iso(self._clock())

        def change_state(db: Connection) -> None:
            if bulk.change_state(db, job_id, from_states, state, now if state == "cancelled" else None):
                if state == "cancelled":
                    bulk.forget_files(db, job_id)
                changed = bulk.by_id(db, job_id)
                assert changed is not None
                _record_event(db, changed, now)

        self.job(job_id)
        self._database.write(change_state)
        self.wakeup.set()
        return self.job(job_id)

    def count_waiting_files(self) -> int:
        """Count the files of running jobs that are not requested yet."""
        return bulk.count_waiting(self._database.read())

    def has_due_files(self) -> bool:
        """Whether a running job has a file that could be started now."""
        db = self._database.read()
        return any(self._next_files(db, job) for job in bulk.list_running(db))

    def count_upcoming_digests(self) -> dict[str, int]:
        """Estimate from a sample how many digests of each output the waiting files of running jobs will need.

        Digests that depend on these are not counted.
        """
        counts: dict[str, int] = {}
        db = self._database.read()
        for job in bulk.list_running(db):
            waiting = bulk.all_waiting(db, job.id)
            sample = waiting[:: -(-len(waiting) // SAMPLE)] if waiting else []
            names = set(self._rules.outputs if job.digesters is None else job.digesters)
            recipes = [(name, recipe) for name, recipe in self._rules.recipes() if name in names]
            for name, found in bulk.find_files_to_redo(db, job.mode, recipes, sample) if sample else ():
                estimate = round(len(found) * len(waiting) / len(sample))
                if estimate:
                    counts[name] = counts.get(name, 0) + estimate
        return counts

    def advance(self) -> bool:
        """Record finished files, and start the next ones. Return whether any job is active."""
        db = self._database.read()
        jobs = bulk.list_open(db)
        moved = False
        for job in jobs:
            if any(not file.pending or not file.there for file in bulk.list_file_progress(db, job)):
                self._database.write(lambda db, job=job: self._record_finished(db, job))  # type: ignore[misc]
        for job in jobs:
            while job.state == "running" and (ids := self._next_files(db, job)):
                if not self._database.write(lambda db, job=job, ids=ids: self._start_files(db, job, ids)):  # type: ignore[misc]
                    break
                moved = True
                self._wake()
            if job.state != "cancelled" and not bulk.has_files(db, job.id):
                self._database.write(lambda db, job=job: self._finish(db, job.id))  # type: ignore[misc]
        return moved or any(job.state == "running" or job.under_way for job in jobs)

    def _next_files(self, db: Connection, job: Job) -> list[int]:
        """Return the next few files to start, within the limits."""
        quick, slow = bulk.count_asked(db, self._slow_outputs)
        room = min(MAX_REQUESTED - quick, BATCH)
        if room <= 0:
            return []
        now = iso(self._clock())
        excluded = [name for name in self._slow_outputs if job.digesters is None or name in job.digesters]
        if slow < MAX_SLOW or not excluded:
            return bulk.next_files(db, job.id, now, room)
        if time.monotonic() - self._only_slow.get(job.id, float("-inf")) < RECHECK_SECONDS:
            return []
        found = bulk.next_files(db, job.id, now, room, excluded)
        if not found:
            self._only_slow[job.id] = time.monotonic()
        return found

    def _record_finished(self, db: Connection, job: Job) -> None:
        """Record finished files by the current state of the database: another process may have done it already."""
        ended = [file for file in bulk.list_file_progress(db, job) if not file.pending or not file.there]
        gone = [file.file_id for file in ended if not file.there]
        failed = [file.file_id for file in ended if file.there and file.failed]
        done = [file.file_id for file in ended if file.there and not file.failed]
        bulk.record_results(db, job.id, done, failed, gone)
        self._finish(db, job.id)

    def _start_files(self, db: Connection, job: Job, candidates: Sequence[int]) -> int:
        """Start these files, unless the job was paused or another process was quicker. Return how many."""
        now = iso(self._clock())
        current = bulk.by_id(db, job.id)
        if (
            current is None
            or current.state != "running"
            or bulk.count_asked(db, self._slow_outputs)[0] >= MAX_REQUESTED
        ):
            return 0
        begun = bulk.still_waiting(db, job.id, candidates, now)
        for file_id in begun:
            make_again(db, self._rules, file_id, Again(Mode(job.mode), job.digesters, digests.AGAIN), now)
        bulk.mark_asked(db, job.id, begun)
        return len(begun)

    def _finish(self, db: Connection, job_id: int) -> None:
        now = iso(self._clock())
        bulk.finish(db, job_id, now)
        job = bulk.by_id(db, job_id)
        if job is not None:
            _record_event(db, job, now)

    def _resolve_outputs(self, digesters: Sequence[str] | None) -> tuple[str, ...]:
        if digesters is None:
            return self._rules.outputs
        if not digesters:
            raise UsageError("name at least one digester, or leave them out for all")
        chosen = with_siblings(self._rules.registry, self._rules.resolve_names(digesters))
        return tuple(name for name in self._rules.outputs if name in chosen)

    def _find_affected(
        self, selection: Selection, outputs: Sequence[str], mode: Mode
    ) -> tuple[set[int], dict[str, int]]:
        """Return the files for which something would be made again, and the number of digests by digester."""
        selected = self._select_files(selection)
        recipes = [(name, recipe) for name, recipe in self._rules.recipes() if name in outputs]
        digester_of = {name: digester.name for digester in self._rules.registry for name in digester.outputs}
        chosen: set[int] = set()
        counts: dict[str, int] = {}
        with self._database.snapshot() as db:
            for name, file_ids in bulk.find_files_to_redo(db, mode, recipes, selected):
                chosen.update(file_ids)
                if file_ids:
                    counts[digester_of[name]] = counts.get(digester_of[name], 0) + len(file_ids)
        return chosen, counts

    def _select_files(self, selection: Selection) -> set[int] | None:
        """Return the selected files; None for all."""
        if selection.everything:
            if selection != Selection(everything=True):
                raise UsageError("say either all, or which files; not both")
            return None
        if selection.query is None and selection.paths is None and selection.folder is None:
            raise UsageError("say which files: a question, paths, a folder, or all")
        sets: list[set[int]] = []
        db = self._database.read()
        if selection.query is not None:
            if not selection.query.strip():
                raise UsageError("the question is empty; say all for all files")
            sets.append(set(self._search().all_files(selection.query)))
        if selection.folder is not None:
            sets.append(set(files.ids_below(db, selection.folder.strip("/"))))
        if selection.paths is not None:
            sets.append(self._files_at(db, selection.paths))
        return set.intersection(*sets)

    def _files_at(self, db: Connection, paths: Iterable[str]) -> set[int]:
        found: set[int] = set()
        for path in paths:
            ids = files.ids_below(db, path.strip("/")) if path.strip("/") else []
            if not ids:
                raise UsageError(f"{path[:200]}: is not a file or folder of this vault")
            found.update(ids)
        return found

    def _count_calls(self, chosen: Collection[int], outputs: Collection[str]) -> dict[str, int]:
        """Count the possible model calls: by these digesters, and by those that read what they change."""
        asking = _with_readers(self._rules.registry, outputs)
        counts: dict[str, int] = {}
        ids = sorted(chosen)
        db = self._database.read()
        for start in range(0, len(ids) if asking else 0, FILE_BATCH):
            for file in files.by_ids(db, ids[start : start + FILE_BATCH]):
                if self._private(file.path):
                    continue
                for digester in asking:
                    provider = digester.asks(file) if digester.can_digest(file) else None
                    if provider is not None:
                        counts[provider] = counts.get(provider, 0) + 1
        return counts

    def _describe(self, selection: Selection, digesters: Sequence[str] | None, mode: Mode) -> str:
        labels = {digester.name: digester.label for digester in self._rules.registry}
        subject = "everything" if digesters is None else ", ".join(labels.get(name, name) for name in digesters)
        sources = ["all files"] if selection.everything else []
        if selection.query is not None:
            sources.append(f"files found by “{selection.query[:100]}”")
        if selection.folder is not None:
            sources.append(f"files in {selection.folder[:100] or 'the vault'}")
        if selection.paths is not None:
            sources.append(selection.paths[0][:100] if len(selection.paths) == 1 else f"{len(selection.paths)} paths")
        return f"{_VERBS[mode]} {subject} of {', '.join(sources)}"


class BulkJobThread:
    """A thread that advances the jobs."""

    def __init__(self, jobs: BulkJobs) -> None:
        self._jobs = jobs
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="chyme-jobs", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._jobs.wakeup.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            self._jobs.wakeup.clear()
            busy = False
            try:
                busy = self._jobs.advance()
            except Exception as error:  # without this thread no job would ever end
                self._jobs.log_failure(error)
            self._jobs.wakeup.wait(BUSY_SECONDS if busy else IDLE_SECONDS)


def _with_readers(registry: Sequence[Digester], outputs: Collection[str]) -> list[Digester]:
    """Return the digesters of these outputs, and all that read their results, in order."""
    affected = set(outputs)
    found = []
    for digester in registry:
        if affected.intersection(digester.outputs) or affected.intersection(digester.reads):
            affected.update(digester.outputs)
            found.append(digester)
    return found


def _job_key(selection: Selection, outputs: Sequence[str], mode: Mode) -> str:
    paths = sorted(set(selection.paths)) if selection.paths is not None else None
    parameters = [selection.query, paths, selection.folder, selection.everything, sorted(outputs), mode]
    return hashlib.sha256(json.dumps(parameters).encode()).hexdigest()


def _record_event(db: Connection, job: Job, now: str) -> None:
    events.record(
        db, now, "vault", status=f"job-{job.state}", detail=f"job {job.id}: {job.total - job.left} of {job.total}"
    )
