"""Runs tasks on this machine or on workers elsewhere, wherever there is room first.

Tasks that may travel wait in one line. A free worker asks for work and gets the first task of the line that it is able
to do; a child that becomes free here takes from the same line. So nothing is bound to a place before it can begin.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from secrets import token_hex
from typing import IO, Any, BinaryIO, Protocol, TypeVar, cast

from chyme.core.children import task_errors
from chyme.core.children.frames import BadFrame
from chyme.core.children.places import Places
from chyme.core.children.serialization import decode_outputs
from chyme.core.children.slot import CLOSED
from chyme.core.children.task import Answer, Task
from chyme.errors import Category, ChildCrashed, ChymeError, DigestError, WorkerLost
from chyme.model import Limits, Output
from chyme.workers.estimates import Estimates
from chyme.workers.fabric import Fabric, FabricAway
from chyme.workers.known_workers import KnownWorker, KnownWorkers
from chyme.workers.remote_run import RemoteRun, Told, Unwanted, Waiting, inline_told
from chyme.workers.wire import PIECE, WIRE, Message, ask_subject, give_subject, is_token, want_subject
from chyme.workers.worker_report import FitReport, RunReport, WorkerReport, WorkersReport, WorkerState

T = TypeVar("T")

log = logging.getLogger(__name__)

TICK_SECONDS = 0.5
GATHER_SECONDS = 0.01
HINT_SECONDS = 2.0  # between two hints while work waits
PRESENCE_SECONDS = 5.0  # between two when there is none
LIVE_SECONDS = 15.0  # a worker that was heard of within this time counts as there
SILENT_SECONDS = 10.0  # a run of which nothing is heard for so long is lost
AWAY_SECONDS = 10.0  # without NATS for so long, runs elsewhere are given up
STALL_SECONDS = 60.0  # a run whose bytes do not move for so long is lost
SPARE_SECONDS = 60.0  # beyond its stretched limit, before a worker that does not stop is given up
WAIT_SECONDS = 5.0  # for a worker, where nothing that may travel runs here
HOME_SECONDS = 60.0  # without a worker that fits for so long, it runs here all the same
SMALL_SECONDS = 0.5  # what takes less does not travel
CHANGE_SECONDS = 0.2  # between two words about free places
PULL_SECONDS = 20.0  # for one piece of an answer
FREE_ONCE = frozenset({Category.CRASH, Category.TIMEOUT, Category.UNAVAILABLE})


class HomeRunner(Protocol):
    """The children of this machine."""

    def run(
        self,
        task: Task,
        family: str,
        limits: Limits,
        on_progress: Callable[[float], None] | None = None,
        on_start: Callable[[], None] | None = None,
    ) -> list[Output]: ...

    def run_many(
        self, tasks: Sequence[Task], family: str, limits: Limits, on_start: Callable[[], None] | None = None
    ) -> list[Answer]: ...


@dataclass(frozen=True, slots=True)
class TravellingDigester:
    """What a coordinator knows of a digester that may run elsewhere."""

    ability: str
    outputs: tuple[str, ...]
    lane: int
    keeps_scratch: bool


@dataclass(frozen=True, slots=True)
class RemoteConfig:
    """What a coordinator tells workers, and the limits it sets itself."""

    vault: str  # its name on the fabric
    config: Mapping[str, Any]
    config_id: str
    digesters: Mapping[str, TravellingDigester]
    answer_bytes: int
    run_as: int | None  # the user that children run as, if chyme is root
    remote_places: int
    home_waiting: int  # tasks that may wait for children here
    travels_always: bool = False  # with home_places = 0: nothing that may travel runs here
    version: str = ""


class PutDown(ChymeError):
    """The task waits for nobody any more: it goes back to the queue, and costs nothing."""


class _Blamed(Exception):
    """A run failed for a reason that may be the worker's own."""

    def __init__(self, error: DigestError) -> None:
        super().__init__(str(error))
        self.error = error


class RemoteRunner:
    """The children of this machine, and workers elsewhere. `run` may be called from many threads at once."""

    def __init__(
        self,
        home: HomeRunner,
        fabric: Fabric,
        config: RemoteConfig,
        places: Places,
        is_private: Callable[[str], bool],
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        """`places`: those of this machine for what may travel. `on_change`: more or fewer places are free elsewhere."""
        self.coordinator = token_hex(8)
        self.estimates = Estimates()
        self.late_answers = 0
        self._home = home
        self._fabric = fabric
        self._config = config
        self._places = places
        self._is_private = is_private
        self._on_change = on_change
        self._lock = threading.Lock()
        self._workers = KnownWorkers()
        self._line: list[Waiting] = []
        self._runs: dict[str, RemoteRun] = {}
        self._at_home: Counter[str] = Counter()
        self._closed = False
        self._away_for = 0.0
        self._told_change = 0.0
        self._known_to_want = False  # workers know that something waits
        self._began = time.monotonic()
        self._fit_at: dict[str, float] = {}  # digester → when a worker that fits was last seen
        self._hint_due = self._hinted = 0.0  # the next hint, and the last one
        self._wake = asyncio.Event()
        fabric.listen(ask_subject(config.vault, self.coordinator, "*"), self._answer_worker, answers_go_to_last=True)

    def start(self) -> None:
        self._fabric.start()
        self._fabric.spawn(self._watch())

    def close(self) -> None:
        """Stop: everything that waits or runs elsewhere fails with a ChymeError, and workers are told."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            waiting, self._line = self._line, []
            runs = list(self._runs.values())
        for entry in waiting:
            _set_error(entry.place, ChymeError(CLOSED))
        for run in runs:
            run.fail(ChymeError(CLOSED))
        with contextlib.suppress(TimeoutError, ChymeError, RuntimeError):
            self._fabric.call(self._tell_stopped(runs)).result(2.0)
        self._fabric.close()

    async def _tell_stopped(self, runs: Sequence[RemoteRun]) -> None:
        for run in runs:
            await self._tell(run, "stop")

    # What runs where

    def run(
        self,
        task: Task,
        family: str,
        limits: Limits,
        on_progress: Callable[[float], None] | None = None,
        on_start: Callable[[], None] | None = None,
    ) -> list[Output]:
        """Return the outputs or raise a DigestError, as `Runner.run` does; PutDown if there is no place after all."""
        declared = self._config.digesters.get(task.digester)
        if declared is None or not self._may_travel(task, family):
            return self._run_here(family, lambda: self._measured_run(task, family, limits, on_progress, on_start))
        entry = Waiting((task,), family, limits, declared.keeps_scratch, declared.lane, on_progress)

        def run_here() -> list[Output]:
            return self._measured_run(task, family, limits, on_progress, on_start)

        return self._run_somewhere(entry, run_here, lambda told: _read_result(told, task, declared.outputs))

    def run_many(
        self, tasks: Sequence[Task], family: str, limits: Limits, on_start: Callable[[], None] | None = None
    ) -> list[Answer]:
        """The same for several tasks of one digester: they stay here, since together they are still small."""
        return self._run_here(family, lambda: self._home.run_many(tasks, family, limits, on_start))

    def _may_travel(self, task: Task, family: str) -> bool:
        if task.travel is None or self._is_private(task.file.path):
            return False
        seconds = self.estimates.seconds(task.digester, task.file.mime)
        if seconds is None:
            return self._config.travels_always and not self._places.families[family].quick
        return seconds >= SMALL_SECONDS

    def _measured_run(
        self,
        task: Task,
        family: str,
        limits: Limits,
        on_progress: Callable[[float], None] | None,
        on_start: Callable[[], None] | None,
    ) -> list[Output]:
        began = [time.monotonic()]

        def start() -> None:
            began[0] = time.monotonic()
            if on_start is not None:
                on_start()

        made = self._home.run(task, family, limits, on_progress, start)
        if task.digester in self._config.digesters:
            self.estimates.learn(task.digester, task.file.mime, time.monotonic() - began[0])
        return made

    def _run_here(self, family: str, work: Callable[[], T], reserved: bool = False) -> T:
        if not reserved:
            with self._lock:
                self._at_home[family] += 1
        try:
            return work()
        finally:
            with self._lock:
                self._at_home[family] -= 1
                self._fill_home()

    def _run_somewhere(self, entry: Waiting, here: Callable[[], T], read: Callable[[Told], T]) -> T:
        first: _Blamed | None = None
        while True:
            run = self._await_place(entry)
            try:
                if run is None:
                    return self._run_here(entry.family, here, reserved=True)
                return self._await_result(run, entry, read)
            except _Blamed as blamed:
                if first is not None:  # two places failed with it, so it is the file
                    self._forgive(entry)
                    raise blamed.error from None
                first = blamed
                entry.place = Future()
            except DigestError as error:
                if first is not None and error.category in FREE_ONCE:
                    self._forgive(entry)
                raise

    def _forgive(self, entry: Waiting) -> None:
        with self._lock:
            for worker in entry.avoid:
                worker.forgive(entry.tasks[0].file.id)

    def _await_place(self, entry: Waiting) -> RemoteRun | None:
        """A run on a worker, or None for a place here, which is taken."""
        with self._lock:
            if self._closed:
                raise ChymeError(CLOSED)
            if self._has_room_here(entry) or self._must_stay(entry):
                self._at_home[entry.family] += 1
                return None
            self._line.append(entry)
        self._fabric.loop.call_soon_threadsafe(self._wake.set)
        return entry.place.result()

    def _has_room_here(self, entry: Waiting) -> bool:
        return not self._config.travels_always and self._places.has_room(entry.family, self._at_home)

    def _must_stay(self, entry: Waiting) -> bool:
        """Whether it waits for a child here, as without workers: none of them fits, and few wait here."""
        if self._fitting(entry):
            return False
        seen = time.monotonic() - self._fit_at.get(entry.digester, self._began)
        if self._config.travels_always and not entry.avoid and seen < HOME_SECONDS:
            return False  # it waits for a worker to come
        return self._at_home.total() < self._config.home_waiting

    def _fitting(self, entry: Waiting) -> list[KnownWorker]:
        if not self._fabric.connected:
            return []
        fitting = [
            worker
            for worker in self._workers.live(LIVE_SECONDS)
            if entry.digester in worker.fits and worker not in entry.avoid
        ]
        if fitting:
            self._fit_at[entry.digester] = time.monotonic()
        return fitting

    def _fill_home(self) -> None:
        """Give free places of this machine to those that wait. The lock is held."""
        for entry in list(self._line):
            if self._has_room_here(entry):
                self._line.remove(entry)
                self._at_home[entry.family] += 1
                _set_place(entry.place, None)

    def _await_result(self, run: RemoteRun, entry: Waiting, read: Callable[[Told], T]) -> T:
        """What the worker made; _Blamed for a failure that may be the worker's own."""
        worker, file = run.worker, entry.tasks[0].file
        try:
            told = run.result.result()
            made = read(told)
        except DigestError as error:
            if error.category in FREE_ONCE:
                self._blame(worker, entry, str(error.category))
                raise _Blamed(error) from error
            with self._lock:
                worker.succeed()  # what is wrong with the file would be wrong everywhere
            raise
        except (BadFrame, Unwanted) as error:
            self._blame(worker, entry, f"an answer that makes no sense: {error}")
            raise _Blamed(task_errors.protocol_error(entry.tasks[0], str(error))) from error
        except WorkerLost as error:
            with self._lock:
                worker.lost += 1
            if entry.alone:
                raise ChildCrashed(
                    f"{file.path}: three workers ended while {entry.digester} read it, the last with nothing beside it"
                ) from error
            raise
        finally:
            self._end(run)
        with self._lock:
            worker.succeed()
        self.estimates.learn(entry.digester, file.mime, told.seconds / worker.slowness)
        return made

    def _blame(self, worker: KnownWorker, entry: Waiting, reason: str) -> None:
        with self._lock:
            entry.avoid.append(worker)
            aside = worker.blame(entry.tasks[0].file.id, reason)
        if aside:
            log.warning("the worker %s is set aside: %s", worker.name, worker.set_aside)

    def _end(self, run: RemoteRun) -> None:
        run.close()
        with self._lock:
            self._runs.pop(run.run_id, None)
            run.worker.running.pop(run.run_id, None)
            run.worker.free = min(run.worker.free + 1, run.worker.places)  # until it says so itself
            if run.worker.alone_with == run.run_id:
                run.worker.alone_with = None
            closed = self._closed
            now = time.monotonic()
            tell_change = now - self._told_change >= CHANGE_SECONDS
            if tell_change:
                self._told_change = now
        if closed:
            return
        if not run.answered_inline:
            self._fabric.spawn(self._tell(run, "have"))
        if tell_change:
            self._on_change()

    # For the scheduler and the status

    def extra_places(self, lane: int) -> int:
        """How many files more may be worked on in this lane, because of workers elsewhere."""
        with self._lock:
            mine = sum(1 for run in self._runs.values() if run.waiting.lane == lane)
            if not self._fabric.connected:
                return mine
            free = sum(worker.free for worker in self._workers.live(LIVE_SECONDS) if worker.fits)
            return min(mine + free, self._config.remote_places)

    def describe(self) -> WorkersReport:
        """Everything about workers, for people."""
        now = time.monotonic()
        with self._lock:
            workers = tuple(
                self._report_on(worker, now)
                for worker in sorted(self._workers, key=lambda worker: (worker.name, worker.instance))
            )
            waiting = Counter(entry.digester for entry in self._line)
        return WorkersReport(
            vault=self._config.vault,
            connected=self._fabric.connected,
            problem=self._fabric.problem,
            waits_for_workers=self._config.travels_always,
            workers=workers,
            waiting=dict(sorted(waiting.items())),
            late=self.late_answers,
            unfit=_explain_fit(workers, sorted({*self._config.digesters, *waiting}) if workers else sorted(waiting)),
        )

    def _report_on(self, worker: KnownWorker, now: float) -> WorkerReport:
        """What is known of one worker. The lock is held."""
        silent = now - worker.heard > LIVE_SECONDS
        runs = [self._runs[run_id] for run_id in sorted(worker.running) if run_id in self._runs]
        return WorkerReport(
            name=worker.name,
            instance=worker.instance,
            host=worker.host,
            version=worker.version,
            state=WorkerState.SET_ASIDE if worker.set_aside else WorkerState.SILENT if silent else WorkerState.LIVE,
            places=worker.places,
            slowness=round(worker.slowness, 2),
            running=tuple(
                RunReport(
                    run.run_id,
                    run.waiting.digester,
                    run.waiting.tasks[0].file.path,
                    None if run.running_for is None else round(run.running_for, 1),
                )
                for run in runs
            ),
            done=worker.done,
            failed=worker.failed,
            lost=worker.lost,
            late=worker.late,
            heard_seconds_ago=round(now - worker.heard, 1),
            set_aside=worker.set_aside,
            makes=tuple(sorted(worker.fits)),
            misfits=dict(worker.misfits),
        )

    # What workers ask, in the loop of the fabric

    async def _answer_worker(self, subject: str, message: Message) -> tuple[dict[str, object], bytes] | None:
        name = subject.rpartition(".")[2]
        if not is_token(name):
            return None
        instance = message.token("instance")
        try:
            return await self._answer_known(name, instance, message)
        except BadFrame as error:
            with self._lock:
                worker = self._workers.find(name, instance)
                if worker is not None and worker.babble(str(error)):
                    log.warning("the worker %s is set aside: %s", worker.name, worker.set_aside)
            raise

    async def _answer_known(self, name: str, instance: str, message: Message) -> tuple[dict[str, object], bytes] | None:
        match message.kind:
            case "hello":
                return self._welcome(name, instance, message), b""
            case "claim":
                return self._give_work(name, instance, message)
            case "beat":
                return self._hear_beat(name, instance, message), b""
            case "bytes":
                return await self._send_piece(name, instance, message)
            case "done":
                return self._take_answer(name, instance, message), b""
            case "leave":
                return self._let_go(name, instance, message), b""
        raise BadFrame("a request of an unknown kind")

    def _welcome(self, name: str, instance: str, message: Message) -> dict[str, object]:
        if message.integer("wire") != WIRE:
            return {"kind": "foreign", "wire": WIRE}
        fits: frozenset[str] = frozenset()
        if message.text("config", 64) == self._config.config_id:
            told = message.texts("abilities")
            known = self._config.digesters
            fits = frozenset(
                digester for digester in told if digester in known and known[digester].ability == told[digester]
            )
        with self._lock:
            worker = self._workers.add(name, instance)
            if worker is None or self._closed:
                return {"kind": "foreign", "wire": WIRE}
            more = worker.fits != fits
            worker.introduce(message, fits)
            worker.update(message)
        if more:
            self._on_change()
        welcome: dict[str, object] = {"kind": "welcome", "config_id": self._config.config_id}
        if message.text("config", 64) != self._config.config_id:
            welcome["config"] = dict(self._config.config)
            welcome["abilities"] = {digester: known.ability for digester, known in self._config.digesters.items()}
        return welcome

    def _give_work(self, name: str, instance: str, message: Message) -> tuple[dict[str, object], bytes]:
        with self._lock:
            worker = self._workers.find(name, instance)
            if worker is None:
                return {"kind": "unknown"}, b""
            worker.update(message)
            entry = None if self._closed or worker.set_aside else self._first_for(worker)
            if entry is None:
                self._known_to_want = False
                return {"kind": "nothing"}, b""
            self._line.remove(entry)
            run = RemoteRun(entry, worker, self._config.run_as, self._config.answer_bytes)
            self._runs[run.run_id] = run
            worker.running[run.run_id] = entry.digester
            worker.free = max(worker.free - 1, 0)
            if entry.alone:
                worker.alone_with = run.run_id
        try:
            answer = run.describe()
        except (OSError, BadFrame, ChymeError, Unwanted) as error:
            run.fail(error if isinstance(error, ChymeError) else ChymeError(str(error)))
            answer = {"kind": "nothing"}, b""
        _set_place(entry.place, run)
        return answer

    def _first_for(self, worker: KnownWorker) -> Waiting | None:
        """The first of the line that this worker may have. The lock is held."""
        if worker.alone_with is not None:
            return None
        for entry in self._line:
            if entry.digester not in worker.fits or entry.size > worker.room:
                continue
            if worker in entry.avoid:
                continue
            if entry.alone and worker.running:
                continue
            return entry
        return None

    def _find_run(self, name: str, instance: str, run_id: object, key: object) -> RemoteRun | None:
        """The run, if it is this worker's and it knows the key. The lock is held."""
        run = self._runs.get(run_id) if isinstance(run_id, str) else None
        if run is None or run.key != key or (run.worker.name, run.worker.instance) != (name, instance):
            return None
        return run

    def _hear_beat(self, name: str, instance: str, message: Message) -> dict[str, object]:
        """Answer a sign of life: which of its runs the worker must stop."""
        stop: list[str] = []
        heard: list[tuple[RemoteRun, float, bool, int]] = []
        with self._lock:
            worker = self._workers.find(name, instance)
            if worker is not None:
                worker.update(message)
            for row in message.rows("runs", 1000):
                if not isinstance(row, list) or len(row) != 5:
                    raise BadFrame("a sign of life without its runs")
                run_id, key, fraction, running, kept = row
                run = self._find_run(name, instance, run_id, key)
                if run is None:
                    stop.append(str(run_id)[:64])
                elif type(fraction) not in (int, float) or type(kept) is not int:
                    raise BadFrame("a sign of life that makes no sense")
                else:
                    heard.append((run, float(fraction), running is True, kept))
        for run, fraction, running, kept in heard:
            if not run.is_wanted():
                stop.append(run.run_id)
                continue
            run.silent = 0.0
            if running and run.running_for is None:
                run.running_for = 0.0
                run.waiting.travel.begin(run.worker.name, run.worker.slowness)
            if run.waiting.on_progress is not None and 0 <= fraction <= 1:
                run.waiting.on_progress(fraction)
            if kept and run.waiting.keeps_scratch and not run.pulling:
                run.pulling = True
                self._fabric.spawn(self._pull_kept(run, kept))
        return {"kind": "go on", "stop": stop, "known": worker is not None}

    async def _send_piece(self, name: str, instance: str, message: Message) -> tuple[dict[str, object], bytes]:
        with self._lock:
            run = self._find_run(name, instance, message.text("run"), message.text("key"))
        if run is None:
            return {"kind": "not wanted"}, b""
        run.silent = 0.0
        part, offset = message.text("part", 20), message.integer("offset")
        loop = asyncio.get_running_loop()
        try:
            return {"kind": "piece"}, await loop.run_in_executor(None, run.piece, part, offset)
        except Unwanted:
            return {"kind": "not wanted"}, b""
        except OSError as error:
            log.warning("run %s: a file cannot be read (%s)", run.run_id, error.strerror)
            run.fail(ChymeError(f"the file cannot be read ({error.strerror})"))
            return {"kind": "not wanted"}, b""

    def _take_answer(self, name: str, instance: str, message: Message) -> dict[str, object]:
        with self._lock:
            worker = self._workers.find(name, instance)
            run = self._find_run(name, instance, message.text("run"), message.text("key"))
            if run is None:
                self.late_answers += 1
                if worker is not None:
                    worker.late += 1
                return {"kind": "not wanted"}
        run.silent = 0.0
        if run.running_for is None:
            run.running_for = 0.0
            run.waiting.travel.begin(run.worker.name, run.worker.slowness)
        seconds, size = message.number("seconds"), message.integer("size")
        try:
            if message.flag("inline"):
                run.answered_inline = True
                run.finish(inline_told(message, seconds))
                return {"kind": "have it"}
            if not run.pulling or not message.flag("again"):
                run.begin_answer(size)
                run.pulling = True
                self._fabric.spawn(self._pull_answer(run, message, seconds, size))
            return {"kind": "wait"}
        except BadFrame as error:
            run.fail(error)
        except Unwanted:
            return {"kind": "not wanted"}
        return {"kind": "have it"}

    async def _pull_answer(self, run: RemoteRun, message: Message, seconds: float, size: int) -> None:
        """Fetch an answer in pieces, and hand it on."""
        try:
            sha256 = await self._pull(run, "answer", size, run.add_to_answer)
            if sha256 != message.text("sha256"):
                raise BadFrame("an answer with another hash than announced")
            run.finish(Told(message, run.answer_bulk(size), seconds))
        except FabricAway:
            run.fail(WorkerLost(f"the worker {run.worker.name} vanished with its answer"))
        except (BadFrame, Unwanted) as error:
            run.fail(error)
        except OSError as error:
            run.fail(error)

    async def _pull_kept(self, run: RemoteRun, size: int) -> None:
        """Fetch what the worker keeps in its scratch folder, for another attempt, should it vanish."""
        stream: IO[bytes] | None = None
        try:
            if size > self._config.answer_bytes:
                raise BadFrame("more than may be kept")
            stream = run.scratch_file()
            await self._pull(run, "kept", size, stream.write)
            stream.seek(0)
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(None, run.take_kept, cast("BinaryIO", stream), size)
        except (FabricAway, Unwanted):
            pass
        except (BadFrame, OSError) as error:
            log.warning("run %s: what the worker %s keeps was not taken: %s", run.run_id, run.worker.name, error)
        finally:
            run.pulling = False
            if stream is not None:
                stream.close()

    async def _pull(self, run: RemoteRun, what: str, size: int, write: Callable[[bytes], object]) -> str:
        """Fetch so many bytes from the worker. Returns their SHA-256."""
        digest, offset = hashlib.sha256(), 0
        subject = give_subject(self._config.vault, run.worker.name, run.worker.instance)
        while offset < size:
            header: dict[str, object] = {"kind": what, "run": run.run_id, "key": run.key, "offset": offset}
            piece = await self._fabric.request(subject, header, seconds=PULL_SECONDS)
            if piece.kind != "piece" or not 0 < len(piece.bulk) <= min(PIECE, size - offset):
                raise BadFrame("a piece of another size than asked for")
            run.silent = 0.0
            write(piece.bulk)
            digest.update(piece.bulk)
            offset += len(piece.bulk)
        return digest.hexdigest()

    def _let_go(self, name: str, instance: str, message: Message) -> dict[str, object]:
        """A worker ends on purpose: what it could not finish goes back, and counts for nothing."""
        with self._lock:
            worker = self._workers.find(name, instance)
            runs = [run for run in self._runs.values() if run.worker is worker]
            if worker is not None and message.flag("gone"):
                self._workers.remove(worker)
        for run in runs:
            run.fail(PutDown("its worker was told to end"))
        return {"kind": "bye"}

    async def _tell(self, run: RemoteRun, what: str) -> None:
        subject = give_subject(self._config.vault, run.worker.name, run.worker.instance)
        await self._fabric.publish(subject, {"kind": what, "run": run.run_id, "key": run.key})

    # Hints, silence and the ends of time

    async def _watch(self) -> None:
        """Publish hints, and notice what has become silent. Only time in which this loop ran counts as silence."""
        last = time.monotonic()
        while not self._closed:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), TICK_SECONDS)
                await asyncio.sleep(GATHER_SECONDS)  # others may come to wait, too: one hint is enough for all
            self._wake.clear()
            now = time.monotonic()
            try:
                await self._hint(now)
                if now - last >= TICK_SECONDS:
                    elapsed, last = min(now - last, 2 * TICK_SECONDS), now
                    self._count_silence(elapsed)
                    self._put_down()
            except Exception:  # without this loop nothing would ever be given out or taken back again
                log.exception("workers could not be watched")

    async def _hint(self, now: float) -> None:
        """Say what waits: from time to time, and at once if a worker may be idle, or has heard that nothing waits. A
        busy one asks by itself."""
        with self._lock:
            wants = sorted({entry.digester for entry in self._line})
            fresh = any(entry.since > self._hinted for entry in self._line)
            idle = fresh and (not self._known_to_want or any(w.free for w in self._workers.live(LIVE_SECONDS)))
            if now < self._hint_due and not idle:
                return
            self._known_to_want = bool(wants)
        self._hinted, self._hint_due = now, now + (HINT_SECONDS if wants else PRESENCE_SECONDS)
        hint: dict[str, object] = {"kind": "want", "coordinator": self.coordinator, "wire": WIRE, "wants": wants}
        await self._fabric.publish(want_subject(self._config.vault), hint)

    def _count_silence(self, elapsed: float) -> None:
        connected = self._fabric.connected
        self._away_for = 0.0 if connected else self._away_for + elapsed
        with self._lock:
            runs = list(self._runs.values())
            self._workers.forget_silent()
        for run in runs:
            if not connected:
                run.silent = 0.0
                if self._away_for > AWAY_SECONDS:
                    run.fail(PutDown("NATS is away"))
                continue
            run.silent += elapsed
            if run.running_for is None:
                run.stalled += elapsed
            else:
                run.running_for += elapsed
            limit = run.waiting.limits.wall_seconds * run.worker.slowness + SPARE_SECONDS
            overdue = run.running_for is not None and run.running_for > limit and not run.pulling
            if run.silent > SILENT_SECONDS or run.stalled > STALL_SECONDS or overdue:
                run.fail(WorkerLost(f"the worker {run.worker.name} vanished"))

    def _put_down(self) -> None:
        """Those that wait for workers when none fits any more wait here, or go back to the queue."""
        now = time.monotonic()
        with self._lock:
            for entry in list(self._line):
                if self._fitting(entry):
                    continue
                if self._must_stay(entry):
                    self._line.remove(entry)
                    self._at_home[entry.family] += 1
                    _set_place(entry.place, None)
                elif not self._config.travels_always or now - entry.since > WAIT_SECONDS:
                    self._line.remove(entry)
                    _set_error(entry.place, PutDown("there is no worker for it any more"))


def _explain_fit(workers: Sequence[WorkerReport], digesters: Sequence[str]) -> tuple[FitReport, ...]:
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
    return worker.misfits.get(digester, "has not told yet what it can make")


def _set_place(place: Future[RemoteRun | None], run: RemoteRun | None) -> None:
    with contextlib.suppress(Exception):  # it was taken back
        place.set_result(run)


def _set_error(place: Future[RemoteRun | None], error: ChymeError) -> None:
    with contextlib.suppress(Exception):
        place.set_exception(error)


def _read_result(told: Told, task: Task, outputs: Collection[str]) -> list[Output]:
    """The outputs of a run, checked as those of a child are; a DigestError or BadFrame otherwise."""
    header = told.message.header
    match header.get("result"):
        case "outputs":
            return decode_outputs(header.get("outputs"), tuple(outputs), told.bulk)
        case "error":
            return _raise(task_errors.rebuild_error(task, header))
        case "full":
            return _raise(ChildCrashed(f"{task.file.path}: the worker's disk is full"))
    raise BadFrame("an answer of an unknown kind")


def _raise(error: DigestError) -> list[Output]:
    raise error
