"""Tells workers what waits, and notices runs of which nothing is heard any more."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time

from chyme.errors import WorkerLost
from chyme.workers.fabric import Fabric
from chyme.workers.remote_config import RemoteConfig
from chyme.workers.wire import WIRE, want_subject
from chyme.workers.work_line import PutDown, WorkLine

log = logging.getLogger(__name__)

TICK_SECONDS = 0.5
GATHER_SECONDS = 0.01
HINT_SECONDS = 2.0  # between two hints while work waits
PRESENCE_SECONDS = 5.0  # between two when there is none
SILENT_SECONDS = 10.0  # a run of which nothing is heard for so long is lost
AWAY_SECONDS = 10.0  # without NATS for so long, runs elsewhere are given up
STALL_SECONDS = 60.0  # a run whose bytes do not move for so long is lost
SPARE_SECONDS = 60.0  # beyond its stretched limit, before a worker that does not stop is given up


class RunWatch:
    """One loop for a coordinator. Set `wake` when something new waits."""

    def __init__(self, line: WorkLine, fabric: Fabric, config: RemoteConfig, coordinator: str) -> None:
        self.wake = asyncio.Event()
        self._line = line
        self._fabric = fabric
        self._config = config
        self._coordinator = coordinator
        self._away_for = 0.0
        self._hint_due = self._hinted = 0.0  # the next hint, and the last one

    async def run(self) -> None:
        """Publish hints, and notice what has become silent. Only time in which this loop ran counts as silence."""
        last = time.monotonic()
        while not self._line.closed:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.wake.wait(), TICK_SECONDS)
                await asyncio.sleep(GATHER_SECONDS)  # others may come to wait, too: one hint is enough for all
            self.wake.clear()
            now = time.monotonic()
            try:
                await self._hint(now)
                if now - last >= TICK_SECONDS:
                    elapsed, last = min(now - last, 2 * TICK_SECONDS), now
                    self._count_silence(elapsed)
                    self._line.put_down()
            except Exception:  # without this loop nothing would ever be given out or taken back again
                log.exception("workers could not be watched")

    async def _hint(self, now: float) -> None:
        """Say what waits: from time to time, and at once if a worker may be idle, or has heard that nothing waits. A
        busy one asks by itself."""
        with self._line.lock:
            wants = sorted({entry.digester for entry in self._line.waiting})
            fresh = any(entry.since > self._hinted for entry in self._line.waiting)
            idle = fresh and (not self._line.known_to_want or any(w.free for w in self._line.live_workers()))
            if now < self._hint_due and not idle:
                return
            self._line.known_to_want = bool(wants)
        self._hinted, self._hint_due = now, now + (HINT_SECONDS if wants else PRESENCE_SECONDS)
        hint: dict[str, object] = {"kind": "want", "coordinator": self._coordinator, "wire": WIRE, "wants": wants}
        await self._fabric.publish(want_subject(self._config.vault), hint)

    def _count_silence(self, elapsed: float) -> None:
        connected = self._fabric.connected
        self._away_for = 0.0 if connected else self._away_for + elapsed
        with self._line.lock:
            runs = list(self._line.runs.values())
            self._line.workers.forget_silent()
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
            overdue = run.running_for is not None and run.running_for > limit and not run.answer_begun
            if run.silent > SILENT_SECONDS or run.stalled > STALL_SECONDS or overdue:
                run.fail(WorkerLost(f"the worker {run.worker.name} vanished"))
