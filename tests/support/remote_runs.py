"""A coordinator's runner and workers in this process, with a real NATS server between them and made-up children."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loopback_nats import LoopbackNats
from waiting import wait_until

from chyme.core.children.places import Family, Places
from chyme.core.children.task import Answer, Task, Travel
from chyme.digesters import load
from chyme.errors import ChildCrashed, ChymeError
from chyme.model import File, Kind, Limits, Output, Stamp
from chyme.workers.abilities import abilities_of
from chyme.workers.fabric import Fabric
from chyme.workers.remote_config import RemoteConfig, TravellingDigester
from chyme.workers.remote_runner import RemoteRunner
from chyme.workers.scratch_root import ScratchRoot
from chyme.workers.travelling_config import identity_of, travelling_part
from chyme.workers.worker import Worker, WorkerConfig

DIGESTER, FAMILY = "image-ocr", "pictures"
LIMITS = Limits(60.0, 60.0, 1 << 30)
HERE = "made here"


class Here:
    """Children of the coordinator's own machine: they answer at once, or when they are told to."""

    def __init__(self, busy: bool = False) -> None:
        self.ran: list[Task] = []
        self.may_end = threading.Event()
        self.error: ChymeError | None = None
        if not busy:
            self.may_end.set()

    def run(
        self,
        task: Task,
        family: str,
        limits: Limits,
        on_progress: Callable[[float], None] | None = None,
        on_start: Callable[[], None] | None = None,
    ) -> list[Output]:
        self.ran.append(task)
        if on_start is not None:
            on_start()
        assert self.may_end.wait(300)
        if self.error is not None:
            raise self.error
        return [Output(DIGESTER, HERE)]

    def run_many(self, tasks: Any, family: str, limits: Limits, on_start: Any = None) -> list[Answer]:
        return [self.run(task, family, limits, None, on_start) for task in tasks]


Make = Callable[[Task, Callable[[float], None] | None], list[Output]]


class Elsewhere:
    """The children of a worker: `make` stands for the digester."""

    def __init__(self, make: Make) -> None:
        self._make = make
        self.cancelled = threading.Event()
        self.began = threading.Event()
        self.closed = False

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
        self.began.set()
        made = self._make(task, on_progress)
        if self.cancelled.is_set():
            raise ChildCrashed("cancelled")
        return made

    def cancel(self, task: Task) -> None:
        self.cancelled.set()

    def close(self) -> None:
        self.closed = True


@dataclass
class Stage:
    """Everything that runs in a test."""

    nats: LoopbackNats
    folder: Path
    here: Here = field(default_factory=lambda: Here(busy=True))
    workers: list[Worker] = field(default_factory=list)
    runners: list[RemoteRunner] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)

    def runner(
        self, home_cores: int = 0, vault: str = "papers", is_private: Any = None, **changes: Any
    ) -> RemoteRunner:
        registry = {digester.name: digester for digester in load({}).registry}
        config = travelling_part({"ocr": {"ocr_side": 1600}})
        known = {
            name: TravellingDigester(ability, registry[name].outputs, 0, registry[name].runs.keeps_scratch)
            for name, ability in abilities_of(registry.values()).items()
        }
        values: dict[str, Any] = {
            "vault": vault,
            "config": config,
            "config_id": identity_of(config),
            "digesters": known,
            "answer_bytes": 64 << 20,
            "run_as": None,
            "remote_places": 64,
            "home_waiting": 2,
            "travels_always": home_cores == 0,
            **changes,
        }
        families = {name: Family(count=max(home_cores, 1), memory_bytes=1 << 30) for name in (FAMILY, "parsers")}
        runner = RemoteRunner(
            *(self.here, Fabric([self.nats.url], "coordinator"), RemoteConfig(**values), Places(families, home_cores)),
            is_private or (lambda _path: False),
        )
        self.runners.append(runner)
        runner.start()
        return runner

    def worker(self, name: str, make: Make, places: int = 1, **changes: Any) -> tuple[Worker, Elsewhere]:
        children = Elsewhere(make)
        values: dict[str, Any] = {
            "name": name,
            "places": places,
            "slowness": 1.0,
            "config": {},
            "make_children": lambda _config: children,
            "run_as": None,
            "scratch_bytes": 64 << 20,
            **changes,
        }
        scratch = ScratchRoot(self.folder / f"scratch-{name}-{len(self.workers)}", 1 << 30)
        worker = Worker(WorkerConfig(**values), Fabric([self.nats.url], name), scratch)
        self.workers.append(worker)
        worker.start()
        return worker, children

    def await_fit(self, runner: RemoteRunner, count: int = 1) -> None:
        """Wait until so many workers are known, and able to do our work."""
        wait_until(lambda: sum(DIGESTER in worker["makes"] for worker in workers_of(runner)) >= count)

    def task(
        self,
        number: int = 1,
        data: bytes = b"a picture",
        losses: int = 0,
        wanted: Callable[[], bool] = lambda: True,
        begin: Callable[[str, float], None] = lambda _worker, _stretch: None,
        digester: str = DIGESTER,
        inputs: Any = (),
    ) -> Task:
        path = self.folder / f"{number}.png"
        path.write_bytes(data)
        fd = os.open(path, os.O_RDONLY)
        scratch = self.folder / f"scratch-of-{number}"
        scratch.mkdir(exist_ok=True)
        stamp = Stamp("1", "1", len(data), 1)
        file = File(number, f"folder/{number}.png", f"{number}.png", Kind.IMAGE, "image/png", stamp, "hash", 1)
        travel = Travel(os.urandom(16).hex(), losses, begin, wanted)
        return Task(digester, file, fd, tuple(inputs), scratch, travel=travel)

    def begin(self, runner: RemoteRunner, task: Task, limits: Limits = LIMITS) -> Outcome:
        """Run a task in a thread of its own."""
        outcome = Outcome()

        def run() -> None:
            try:
                outcome.outputs = runner.run(task, FAMILY, limits, outcome.progress.append)
            except BaseException as error:
                outcome.error = error
            finally:
                outcome.ended.set()

        thread = threading.Thread(target=run, daemon=True)
        self.threads.append(thread)
        thread.start()
        return outcome

    def close(self) -> None:
        self.here.may_end.set()
        for runner in self.runners:
            runner.close()
        for worker in self.workers:
            worker.close()
        for thread in self.threads:
            thread.join(60)


@dataclass
class Outcome:
    """How a run ended, once it has."""

    outputs: list[Output] | None = None
    error: BaseException | None = None
    progress: list[float] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def text(self) -> str | None:
        """The text that was made; raises what was raised."""
        assert self.ended.wait(300), "it did not end"
        if self.error is not None:
            raise self.error
        assert self.outputs is not None
        return self.outputs[0].content


def workers_of(runner: RemoteRunner) -> list[Mapping[str, Any]]:
    found: Any = runner.describe()
    found = found if isinstance(found, dict) else found.as_json()
    return list(found["workers"])


@contextmanager
def stage(folder: Path) -> Iterator[Stage]:
    nats = LoopbackNats(folder)
    nats.start()
    built = Stage(nats, folder)
    try:
        yield built
    finally:
        built.close()
        nats.kill()


def say(text: str) -> Make:
    """A digester that reads the file and says this, with the file's length."""
    return lambda task, _progress: [Output(DIGESTER, f"{text}: {len(task.open().read())}")]


def hang(until: threading.Event) -> Make:
    def wait(task: Task, _progress: object) -> list[Output]:
        assert until.wait(300)
        return [Output(DIGESTER, "late")]

    return wait


def pause(seconds: float) -> None:
    time.sleep(seconds)
