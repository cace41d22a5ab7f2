"""The workers that a coordinator has heard of: what each can do, what it does, and whether it is trusted with more."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from chyme.workers.wire import Message

FORGET_SECONDS = 60.0  # after this long without a word, a worker without work is forgotten
MAX_WORKERS = 10_000
MAX_FAULTS = 3  # in a row, on different files, before a worker is set aside
MAX_SLOWNESS = 20.0
MAX_NONSENSE = 20  # messages, before a worker is set aside


@dataclass(eq=False)
class KnownWorker:
    """One process of a worker."""

    name: str  # proved by its certificate
    instance: str
    heard: float
    host: str = ""
    version: str = ""
    places: int = 0
    free: int = 0  # places, as it said last
    room: int = 0  # bytes that it has for files
    slowness: float = 1.0
    fits: frozenset[str] = frozenset()  # digesters that it would make just as this machine does
    misfits: dict[str, str] = field(default_factory=dict)  # other digesters, with the reason
    running: dict[str, str] = field(default_factory=dict)  # run → digester
    alone_with: str | None = None  # a run that has this worker to itself
    judging: set[str] = field(default_factory=set)  # runs that failed, while it is unknown whose fault that is
    done: int = 0
    failed: int = 0
    lost: int = 0  # runs it vanished with
    nonsense: int = 0  # messages
    late: int = 0  # answers that were not wanted any more
    faults: list[int] = field(default_factory=list)  # files it failed with in a row, for reasons of its own
    set_aside: str | None = None  # why it gets no more work

    def introduce(self, message: Message, fits: frozenset[str]) -> None:
        """Take what it says of itself; `fits` is checked."""
        self.host = message.text("host", 255)
        self.version = message.text("version", 100)
        self.places = message.integer("places", 10_000)
        self.slowness = min(max(message.number("slowness"), 1.0), MAX_SLOWNESS)
        self.fits = fits
        self.misfits = message.texts("misfits")

    def update(self, message: Message) -> None:
        self.free = message.integer("free", 10_000)
        self.room = message.integer("room", 1 << 60)

    def blame(self, file_id: int, reason: str) -> bool:
        """It failed in a way that may be its own fault. Returns whether it is set aside because of that."""
        self.failed += 1
        if file_id not in self.faults:
            self.faults.append(file_id)
        if len(self.faults) < MAX_FAULTS or self.set_aside:
            return False
        self.set_aside = (
            f"failed with {MAX_FAULTS} files in a row that others could read (last: {reason}); "
            f"mend it, then start 'chyme work' on {self.host or 'it'} again"
        )
        return True

    def babble(self, reason: str) -> bool:
        """It sent a message that makes no sense. Returns whether it is set aside because of that."""
        self.nonsense += 1
        if self.nonsense < MAX_NONSENSE or self.set_aside:
            return False
        self.set_aside = (
            f"sent {MAX_NONSENSE} messages that make no sense (last: {reason}); see whether it is what it should be, "
            "then start 'chyme work' there again"
        )
        return True

    def forgive(self, file_id: int) -> None:
        """Another place failed with this file, too, so it is not this worker's fault."""
        if file_id in self.faults:
            self.faults.remove(file_id)

    def succeed(self) -> None:
        self.done += 1
        self.faults.clear()


class KnownWorkers:
    """All of them. Its owner locks it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._workers: dict[tuple[str, str], KnownWorker] = {}

    def __iter__(self) -> Iterator[KnownWorker]:
        return iter(self._workers.values())

    def find(self, name: str, instance: str) -> KnownWorker | None:
        """This worker, which has just been heard."""
        worker = self._workers.get((name, instance))
        if worker is not None:
            worker.heard = self._clock()
        return worker

    def add(self, name: str, instance: str) -> KnownWorker | None:
        """The same, new if need be; None if there are too many."""
        worker = self.find(name, instance)
        if worker is None and len(self._workers) < MAX_WORKERS:
            worker = self._workers[name, instance] = KnownWorker(name, instance, self._clock())
        return worker

    def remove(self, worker: KnownWorker) -> None:
        self._workers.pop((worker.name, worker.instance), None)

    def forget_silent(self) -> None:
        """Forget workers that have said nothing for long."""
        now = self._clock()
        for worker in list(self):
            if not worker.running and now - worker.heard > FORGET_SECONDS:
                self.remove(worker)

    def live(self, within: float) -> list[KnownWorker]:
        """Those that were heard of within so many seconds and may get work."""
        now = self._clock()
        return [worker for worker in self if worker.set_aside is None and now - worker.heard <= within]
