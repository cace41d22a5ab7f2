"""Digest many files again: any search result, any digester, as a job that can be paused and cancelled."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from sqlite3 import Connection
from typing import Literal, get_args

from chyme import model
from chyme.core.pipeline.again import make_again
from chyme.core.pipeline.plan import with_siblings
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import digests, events, files
from chyme.core.store import jobs as bulk
from chyme.core.store.jobs import Job
from chyme.core.store.sqlite.database import Database
from chyme.digester import Digester
from chyme.errors import UsageError
from chyme.model import Again, Lane, iso
from chyme.search.search import Search

__all__ = ["BulkJobThread", "BulkJobs", "Job", "Mode", "NoSuchJob", "Plan", "Selection"]

log = logging.getLogger(__name__)

Mode = Literal["reset", "retry", "outdated"]
MODES: tuple[Mode, ...] = get_args(Mode)
OUTSTANDING = 25  # files of jobs that are on their way at once: pausing and cancelling leave no more than these to do
SLOW = 20  # beside them, files that take hours or wait for strangers: nobody else is to wait for those
SLOW_LANES = frozenset({Lane.LONG, Lane.AWAY})
AT_ONCE = 4  # files that are begun with in one write: others write in between
LOOK_AGAIN = 10.0  # seconds after which we look again for files that are not slow, where there were none
SAMPLE = 200  # files of a job by which the others are judged
BUSY_SECONDS, IDLE_SECONDS = 0.2, 1.0
KEEP_FINISHED_FOR = timedelta(days=30)
MAX_FINISHED_JOBS = 100
LOOKED_AT = 1000  # files at a time
_DOING: Mapping[str, str] = {"reset": "make again", "retry": "retry", "outdated": "bring up to date"}


class NoSuchJob(UsageError):
    """There is no job of this number, or not any more."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which files: what answers a question, files and folders, one folder, or all. Together they narrow each other."""

    query: str | None = None
    paths: tuple[str, ...] | None = None
    folder: str | None = None
    everything: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What a job would do."""

    files: int
    digests: int
    by_digester: dict[str, int]  # digests
    asks_models: int  # calls, at most one for each file and digester, unless a model answers badly
    providers: dict[str, int]  # the same by provider: llm, vision …


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
        self.begun = threading.Event()  # there may be something to do
        self._slow = [name for one in rules.registry if one.runs.lane in SLOW_LANES for name in one.outputs]
        self._only_slow: dict[int, float] = {}  # jobs that had none but slow files left, and when that was seen

    def log_failure(self, error: Exception) -> None:
        """Log why the jobs do not go on."""
        self._database.log_failure(log, "jobs are put off", error)

    def plan(self, selection: Selection, digesters: Sequence[str] | None = None, mode: Mode = "reset") -> Plan:
        """What starting this would do; nothing is changed."""
        outputs = self._outputs(digesters, mode)
        chosen, by_digester = self._wanted(selection, outputs, mode)
        providers = self._asked(chosen, outputs)
        return Plan(len(chosen), sum(by_digester.values()), by_digester, sum(providers.values()), providers)

    def start(self, selection: Selection, digesters: Sequence[str] | None = None, mode: Mode = "reset") -> Job:
        """A job that does it. While one is open that was asked for in the same words, that one."""
        outputs = self._outputs(digesters, mode)
        key = _key(selection, outputs, mode)
        found = bulk.find_open(self._database.read(), key)
        if found is None:
            chosen, _ = self._wanted(selection, outputs, mode)
            what = self._what(selection, digesters, mode)
            names = None if digesters is None else outputs
            found = self._database.write(lambda db: self._add(db, key, what, mode, names, chosen))
        self.begun.set()
        return found

    def _add(
        self, db: Connection, key: str, what: str, mode: str, names: Sequence[str] | None, chosen: Collection[int]
    ) -> Job:
        moment = self._clock()
        already = bulk.find_open(db, key)  # somebody may have been quicker
        if already is not None:
            return already
        bulk.prune(db, iso(moment - KEEP_FINISHED_FOR), MAX_FINISHED_JOBS - 1)
        job = bulk.add(db, key, what, mode, names, sorted(chosen), iso(moment))
        _tell(db, job, iso(moment))
        return job

    def list_jobs(self) -> list[Job]:
        """Jobs that are not over, then those that are, newest first."""
        return bulk.list_jobs(self._database.read(), MAX_FINISHED_JOBS)

    def job(self, job_id: int) -> Job:
        found = bulk.by_id(self._database.read(), job_id)
        if found is None:
            raise NoSuchJob(f"there is no job {job_id}; see which there are")
        return found

    def pause(self, job_id: int) -> Job:
        """Begin with no more files of it; those that are on their way end."""
        return self._change(job_id, ("running",), "paused")

    def resume(self, job_id: int) -> Job:
        """Go on with a paused job."""
        return self._change(job_id, ("paused",), "running")

    def cancel(self, job_id: int) -> Job:
        """End it; files that it has not begun with are left as they are, and those on their way end."""
        return self._change(job_id, ("running", "paused"), "cancelled")

    def _change(self, job_id: int, leaves: Collection[str], state: str) -> Job:
        now = iso(self._clock())

        def change(db: Connection) -> None:
            if bulk.change_state(db, job_id, leaves, state, now if state == "cancelled" else None):
                if state == "cancelled":
                    bulk.forget_files(db, job_id)
                changed = bulk.by_id(db, job_id)
                assert changed is not None
                _tell(db, changed, now)

        self.job(job_id)
        self._database.write(change)
        self.begun.set()
        return self.job(job_id)

    def count_waiting_files(self) -> int:
        """Files of running jobs whose turn has not come."""
        return bulk.count_waiting(self._database.read())

    def has_due_files(self) -> bool:
        """Whether a running job has a file that could be begun with now."""
        db = self._database.read()
        return any(self._next(db, job) for job in bulk.list_running(db))

    def count_upcoming_digests(self) -> dict[str, int]:
        """How many digests of each output the files of running jobs will need whose turn has not come, judged by a few.

        What these digests change in others is not counted.
        """
        counts: dict[str, int] = {}
        db = self._database.read()
        for job in bulk.list_running(db):
            waiting = bulk.all_waiting(db, job.id)
            some = waiting[:: -(-len(waiting) // SAMPLE)] if waiting else []
            names = set(self._rules.outputs if job.digesters is None else job.digesters)
            recipes = [(name, recipe) for name, recipe in self._rules.recipes() if name in names]
            for name, found in bulk.find_files_to_redo(db, job.mode, recipes, some) if some else ():
                more = round(len(found) * len(waiting) / len(some))
                if more:
                    counts[name] = counts.get(name, 0) + more
        return counts

    def advance(self) -> bool:
        """Count off what has ended, and begin with the next files. Whether any job is under way."""
        db = self._database.read()
        jobs = bulk.list_open(db)
        moved = False
        for job in jobs:
            if any(not one.pending or not one.there for one in bulk.list_file_progress(db, job)):
                self._database.write(lambda db, job=job: self._count_off(db, job))  # type: ignore[misc]
        for job in jobs:
            while job.state == "running" and (some := self._next(db, job)):
                if not self._database.write(lambda db, job=job, some=some: self._begin(db, job, some)):  # type: ignore[misc]
                    break
                moved = True
                self._wake()
            if job.state != "cancelled" and not bulk.has_files(db, job.id):
                self._database.write(lambda db, job=job: self._finish(db, job.id))  # type: ignore[misc]
        return moved or any(job.state == "running" or job.under_way for job in jobs)

    def _next(self, db: Connection, job: Job) -> list[int]:
        """The next few files to begin with, as far as there is room for them."""
        quick, slow = bulk.count_asked(db, self._slow)
        room = min(OUTSTANDING - quick, AT_ONCE)
        if room <= 0:
            return []
        now = iso(self._clock())
        without = [name for name in self._slow if job.digesters is None or name in job.digesters]
        if slow < SLOW or not without:
            return bulk.next_files(db, job.id, now, room)
        if time.monotonic() - self._only_slow.get(job.id, float("-inf")) < LOOK_AGAIN:
            return []
        found = bulk.next_files(db, job.id, now, room, without)
        if not found:
            self._only_slow[job.id] = time.monotonic()
        return found

    def _count_off(self, db: Connection, job: Job) -> None:
        """Told by what the database says now: another process may have done it."""
        ended = [one for one in bulk.list_file_progress(db, job) if not one.pending or not one.there]
        gone = [one.file_id for one in ended if not one.there]
        failed = [one.file_id for one in ended if one.there and one.failed]
        done = [one.file_id for one in ended if one.there and not one.failed]
        bulk.record_results(db, job.id, done, failed, gone)
        self._finish(db, job.id)

    def _begin(self, db: Connection, job: Job, some: Sequence[int]) -> int:
        """Begin with these files, unless the job was paused or another process was quicker. Returns with how many."""
        now = iso(self._clock())
        current = bulk.by_id(db, job.id)
        if current is None or current.state != "running" or bulk.count_asked(db, self._slow)[0] >= OUTSTANDING:
            return 0
        begun = bulk.still_waiting(db, job.id, some, now)
        for file_id in begun:
            make_again(db, self._rules, file_id, Again(model.Mode(job.mode), job.digesters, digests.AGAIN), now)
        bulk.mark_asked(db, job.id, begun)
        return len(begun)

    def _finish(self, db: Connection, job_id: int) -> None:
        now = iso(self._clock())
        bulk.finish(db, job_id, now)
        job = bulk.by_id(db, job_id)
        if job is not None:
            _tell(db, job, now)

    def _outputs(self, digesters: Sequence[str] | None, mode: str) -> tuple[str, ...]:
        if mode not in MODES:
            raise UsageError(f"there is no way to digest again called {mode}; known are {', '.join(MODES)}")
        if digesters is None:
            return self._rules.outputs
        if not digesters:
            raise UsageError("name at least one digester, or leave them out for all")
        chosen = with_siblings(self._rules.registry, self._rules.resolve_names(digesters))
        return tuple(name for name in self._rules.outputs if name in chosen)

    def _wanted(self, selection: Selection, outputs: Sequence[str], mode: str) -> tuple[set[int], dict[str, int]]:
        """The files for which something would be made again, and how many digests of each digester."""
        among = self._selected(selection)
        recipes = [(name, recipe) for name, recipe in self._rules.recipes() if name in outputs]
        makers = {name: digester.name for digester in self._rules.registry for name in digester.outputs}
        chosen: set[int] = set()
        counts: dict[str, int] = {}
        with self._database.snapshot() as db:
            for name, file_ids in bulk.find_files_to_redo(db, mode, recipes, among):
                chosen.update(file_ids)
                if file_ids:
                    counts[makers[name]] = counts.get(makers[name], 0) + len(file_ids)
        return chosen, counts

    def _selected(self, selection: Selection) -> set[int] | None:
        """The files that are meant; None for all."""
        if selection.everything:
            if selection != Selection(everything=True):
                raise UsageError("say either all, or which files; not both")
            return None
        if selection.query is None and selection.paths is None and selection.folder is None:
            raise UsageError("say which files: a question, paths, a folder, or all")
        parts: list[set[int]] = []
        db = self._database.read()
        if selection.query is not None:
            if not selection.query.strip():
                raise UsageError("the question is empty; say all for all files")
            parts.append(set(self._search().all_files(selection.query)))
        if selection.folder is not None:
            parts.append(set(files.ids_below(db, selection.folder.strip("/"))))
        if selection.paths is not None:
            parts.append(self._at(db, selection.paths))
        return set.intersection(*parts)

    def _at(self, db: Connection, paths: Iterable[str]) -> set[int]:
        found: set[int] = set()
        for path in paths:
            here = files.ids_below(db, path.strip("/")) if path.strip("/") else []
            if not here:
                raise UsageError(f"{path[:200]}: is not a file or folder of this vault")
            found.update(here)
        return found

    def _asked(self, chosen: Collection[int], outputs: Collection[str]) -> dict[str, int]:
        """How often models may be asked: by these digesters, and by those that read what they change."""
        asking = _with_readers(self._rules.registry, outputs)
        counts: dict[str, int] = {}
        ids = sorted(chosen)
        db = self._database.read()
        for start in range(0, len(ids) if asking else 0, LOOKED_AT):
            for file in files.by_ids(db, ids[start : start + LOOKED_AT]):
                if self._private(file.path):
                    continue
                for digester in asking:
                    provider = digester.asks(file) if digester.can_digest(file) else None
                    if provider is not None:
                        counts[provider] = counts.get(provider, 0) + 1
        return counts

    def _what(self, selection: Selection, digesters: Sequence[str] | None, mode: str) -> str:
        labels = {digester.name: digester.label for digester in self._rules.registry}
        what = "everything" if digesters is None else ", ".join(labels.get(name, name) for name in digesters)
        where = ["all files"] if selection.everything else []
        if selection.query is not None:
            where.append(f"files found by “{selection.query[:100]}”")
        if selection.folder is not None:
            where.append(f"files in {selection.folder[:100] or 'the vault'}")
        if selection.paths is not None:
            where.append(selection.paths[0][:100] if len(selection.paths) == 1 else f"{len(selection.paths)} paths")
        return f"{_DOING[mode]} {what} of {', '.join(where)}"


class BulkJobThread:
    """A thread that keeps the jobs going."""

    def __init__(self, jobs: BulkJobs) -> None:
        self._jobs = jobs
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="chyme-jobs", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._jobs.begun.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            self._jobs.begun.clear()
            busy = False
            try:
                busy = self._jobs.advance()
            except Exception as error:  # without this thread no job ever ends, and nobody would be told
                self._jobs.log_failure(error)
            self._jobs.begun.wait(BUSY_SECONDS if busy else IDLE_SECONDS)


def _with_readers(registry: Sequence[Digester], outputs: Collection[str]) -> list[Digester]:
    """The digesters of these outputs, and all that read what they make, in order."""
    made = set(outputs)
    found = []
    for digester in registry:
        if made.intersection(digester.outputs) or made.intersection(digester.reads):
            made.update(digester.outputs)
            found.append(digester)
    return found


def _key(selection: Selection, outputs: Sequence[str], mode: str) -> str:
    paths = sorted(set(selection.paths)) if selection.paths is not None else None
    told = [selection.query, paths, selection.folder, selection.everything, sorted(outputs), mode]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def _tell(db: Connection, job: Job, now: str) -> None:
    events.record(
        db, now, "vault", status=f"job-{job.state}", detail=f"job {job.id}: {job.total - job.left} of {job.total}"
    )
