"""A worker: asks coordinators for work whenever it has a free place, and does it in children of its own.

It has no vault, no database and no key of a provider. Children are never shared between vaults.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

from chyme import __version__, digesters
from chyme.core.children.frames import BadFrame
from chyme.errors import ChymeError
from chyme.workers.abilities import abilities_of, explain_misfits, find_fitting
from chyme.workers.fabric import Fabric, FabricAway, NoListener
from chyme.workers.known_coordinator import KnownCoordinator, VaultChildren
from chyme.workers.scratch_root import ScratchRoot
from chyme.workers.travelling_config import identity_of, merge
from chyme.workers.wire import WIRE, Message, ask_subject, give_subject, is_token, want_subject
from chyme.workers.worker_run import ORPHAN_SECONDS, RunOrder, WorkerRun

log = logging.getLogger(__name__)

BEAT_SECONDS = 2.0
HELLO_SECONDS = 5.0
FORGET_SECONDS = 60.0  # a coordinator that says nothing for so long is forgotten, if it has no run here
TICK_SECONDS = 0.5
ASK_SECONDS = 5.0


@dataclass(frozen=True)
class WorkerConfig:
    """The configuration of a worker, fixed at its start."""

    name: str
    places: int
    slowness: float
    config: Mapping[str, Any]  # of its digesters: its own programs, paths and threads
    make_children: Callable[[Mapping[str, Any]], VaultChildren]
    run_as: int | None
    scratch_bytes: int  # that one run may write
    only: frozenset[str] | None = None  # digesters; None: all that it can
    vaults: tuple[str, ...] = ("*",)
    grace_seconds: float = 30.0


class Worker:
    """One process that works for others."""

    def __init__(self, config: WorkerConfig, fabric: Fabric, scratch: ScratchRoot) -> None:
        self.instance = token_hex(8)
        self.done = 0
        self._config = config
        self._fabric = fabric
        self._scratch = scratch
        self._host = socket.gethostname()
        self._guard = threading.Lock()
        self._coordinators: dict[tuple[str, str], KnownCoordinator] = {}
        self._runs: dict[str, tuple[WorkerRun, KnownCoordinator]] = {}
        self._rotation: list[tuple[str, str]] = []
        self._room = 0
        self._draining = False
        self._ended = threading.Event()
        self._wake = asyncio.Event()
        for vault in config.vaults:
            fabric.listen(want_subject(vault), self._hear_hint)
            fabric.listen(give_subject(vault, config.name, self.instance), self._answer_coordinator)

    def start(self) -> None:
        self._room = self._scratch.free_bytes()
        self._fabric.start()
        self._fabric.spawn(self._live())

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the worker has ended, or `seconds` at most.

        It wakes now and then: Python runs a signal's handler in the main thread only, and the kernel may have given the
        signal to another one, which does not wake this one.
        """
        deadline = time.monotonic() + seconds if seconds is not None else float("inf")
        while not self._ended.wait(min(TICK_SECONDS, max(0.0, deadline - time.monotonic()))):
            if time.monotonic() >= deadline:
                return False
        return True

    def drain(self) -> None:
        """Take nothing more, finish what runs within the grace, give back the rest, and end."""
        self._draining = True
        deadline = time.monotonic() + self._config.grace_seconds
        with self._guard:
            count = len(self._runs)
        if count:
            log.info("finishing %d runs within %g s", count, self._config.grace_seconds)
        while time.monotonic() < deadline:
            with self._guard:
                if not self._runs:
                    break
            time.sleep(0.1)
        self.close()

    def close(self) -> None:
        """End at once: what runs is given back. Does nothing when it has ended already."""
        if self._ended.is_set():
            return
        self._draining = True
        with self._guard:
            coordinators = list(self._coordinators.values())
            runs = [run for run, _ in self._runs.values()]
        with contextlib.suppress(TimeoutError, ChymeError):
            self._fabric.call(self._leave(coordinators)).result(5.0)
        for run in runs:
            run.stop()
        for coordinator in coordinators:
            if coordinator.children is not None:
                coordinator.children.close()
        self._fabric.close()
        self._scratch.close()
        self._ended.set()

    def describe(self) -> dict[str, object]:
        """Its state, for the health endpoint: no file names, no texts."""
        with self._guard:
            return {
                "name": self._config.name,
                "instance": self.instance,
                "version": __version__,
                "connected": self._fabric.connected,
                "problem": self._fabric.problem,
                "places": self._config.places,
                "running": [{"run": run_id, "digester": run.order.digester} for run_id, (run, _) in self._runs.items()],
                "done": self.done,
                "free_bytes": self._room,
                "draining": self._draining,
                "vaults": sorted({coordinator.vault for coordinator in self._coordinators.values()}),
            }

    # What is heard

    async def _hear_hint(self, subject: str, message: Message) -> None:
        parts = subject.split(".")
        if len(parts) != 3 or not is_token(parts[1]) or message.kind != "want":
            raise BadFrame("a hint that makes no sense")
        vault, coordinator_id = parts[1], message.token("coordinator")
        wants = bool(message.rows("wants"))
        with self._guard:
            known = self._coordinators.get((vault, coordinator_id))
            if known is None:
                if len(self._coordinators) >= 1000:
                    return
                known = self._coordinators[vault, coordinator_id] = KnownCoordinator(vault, coordinator_id, 0.0)
                self._rotation.append((vault, coordinator_id))
            known.heard, known.wants = time.monotonic(), wants
        self._wake.set()

    async def _answer_coordinator(self, subject: str, message: Message) -> tuple[dict[str, object], bytes] | None:
        with self._guard:
            run, _ = self._runs.get(message.text("run"), (None, None))
        if run is None or run.order.key != message.text("key"):
            return {"kind": "not here"}, b""
        match message.kind:
            case "have":
                run.take()
            case "stop":
                run.stop()
            case "answer" | "kept":
                run.heard = time.monotonic()
                loop = asyncio.get_running_loop()
                try:
                    offset = message.integer("offset")
                    return {"kind": "piece"}, await loop.run_in_executor(None, run.piece, message.kind, offset)
                except OSError:
                    return {"kind": "not here"}, b""
        return None

    # The life of a worker, in the loop of the fabric

    async def _live(self) -> None:
        beaten = 0.0
        while not self._ended.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), TICK_SECONDS)
            self._wake.clear()
            try:
                if time.monotonic() - beaten >= BEAT_SECONDS:
                    beaten = time.monotonic()
                    await self._look_after_runs()
                await self._introduce()
                await self._claim()
            except Exception:  # without this loop the worker would be alive and do nothing
                log.exception("the worker stumbles")

    async def _look_after_runs(self) -> None:
        """Send signs of life, and stop runs whose coordinator is silent."""
        loop = asyncio.get_running_loop()
        self._room = await loop.run_in_executor(None, self._scratch.free_bytes)
        now = time.monotonic()
        with self._guard:
            runs = list(self._runs.values())
            for key, silent in list(self._coordinators.items()):
                busy = any(coordinator is silent for _, coordinator in runs)
                if not busy and now - silent.heard > FORGET_SECONDS:
                    self._forget(key)
        for run, _ in runs:
            if now - run.heard > ORPHAN_SECONDS and not run.stopped:
                log.warning("run %s: nothing was heard of its coordinator for %g s", run.order.run_id, ORPHAN_SECONDS)
                run.stop()
            await loop.run_in_executor(None, run.copy_kept)
        coordinators = {id(coordinator): coordinator for _, coordinator in runs}
        await asyncio.gather(*(self._beat(coordinator) for coordinator in coordinators.values()))

    def _forget(self, key: tuple[str, str]) -> None:
        coordinator = self._coordinators.pop(key)
        self._rotation.remove(key)
        if coordinator.children is not None:
            threading.Thread(target=coordinator.children.close, name="chyme-forget", daemon=True).start()

    async def _beat(self, coordinator: KnownCoordinator) -> None:
        with self._guard:
            mine = [run for run, its in self._runs.values() if its is coordinator and not run.delivered]
        rows = [[run.order.run_id, run.order.key, run.fraction, run.running, run.kept_size] for run in mine]
        try:
            answer = await self._ask(coordinator, {"kind": "beat", "runs": rows})
        except (FabricAway, BadFrame):
            return
        if answer.kind != "go on":
            return
        stop = answer.rows("stop")
        for run in mine:
            run.heard = time.monotonic()
            run.kept_size = 0
            if run.order.run_id in stop and not run.delivered:  # its answer may have arrived meanwhile
                run.stop()
        if not answer.flag("known"):
            coordinator.introduced = 0.0

    async def _ask(self, coordinator: KnownCoordinator, header: dict[str, object], bulk: bytes = b"") -> Message:
        subject = ask_subject(coordinator.vault, coordinator.id, self._config.name)
        free = {"free": self._free_places(), "room": self._room}
        return await self._fabric.request(
            subject, {**header, **free, "instance": self.instance}, bulk, seconds=ASK_SECONDS
        )

    async def _ask_for(
        self, run: WorkerRun, coordinator: KnownCoordinator, header: dict[str, object], bulk: bytes
    ) -> Message:
        """The same for a run. What the answer means for signs of life is noted here, in the order of messages."""
        answer = await self._ask(coordinator, header, bulk)
        if header["kind"] == "done" and answer.kind != "wait":
            run.delivered = True
        return answer

    def _free_places(self) -> int:
        with self._guard:
            alone = any(run.order.alone for run, _ in self._runs.values())
            free = self._config.places - len(self._runs)
            return 0 if alone or self._draining or not self._room else max(0, free)

    async def _introduce(self) -> None:
        """Tell every coordinator about ourselves from time to time."""
        now = time.monotonic()
        with self._guard:
            due = [known for known in self._coordinators.values() if now - known.introduced > HELLO_SECONDS]
        for coordinator in due:
            coordinator.introduced = now
            try:
                await self._say_hello(coordinator)
            except NoListener:
                coordinator.wants = False
            except (FabricAway, BadFrame) as error:
                log.debug("no introduction to a coordinator of %s: %s", coordinator.vault, error)

    async def _say_hello(self, coordinator: KnownCoordinator) -> None:
        for _ in range(2):
            answer = await self._ask(
                coordinator,
                {
                    "kind": "hello",
                    "wire": WIRE,
                    "host": self._host,
                    "version": __version__,
                    "places": self._config.places,
                    "slowness": self._config.slowness,
                    "config": coordinator.config_id,
                    "abilities": coordinator.abilities,
                    "misfits": coordinator.misfits,
                },
            )
            coordinator.foreign = answer.kind != "welcome"
            if coordinator.foreign or answer.text("config_id", 64) == coordinator.config_id:
                return
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(None, self._adapt, coordinator, answer)

    def _adapt(self, coordinator: KnownCoordinator, welcome: Message) -> None:
        """Find out what of a vault's work this machine can do with the vault's configuration."""
        travelled = welcome.header.get("config")
        config = merge(self._config.config, travelled)
        if not isinstance(travelled, dict) or identity_of(travelled) != welcome.text("config_id", 64):
            raise BadFrame("a configuration of another name")
        wanted = welcome.texts("abilities")
        own = abilities_of(digesters.load(config).registry)
        children = self._config.make_children(config)
        with self._guard:
            former, coordinator.children = coordinator.children, children
        if former is not None:
            former.close()
        coordinator.abilities = find_fitting(own, wanted, self._config.only)
        coordinator.misfits = explain_misfits(own, wanted, self._config.only)
        coordinator.config_id = welcome.text("config_id", 64)
        log.info(
            "can make %d of %d digests for the vault %s", len(coordinator.abilities), len(wanted), coordinator.vault
        )

    async def _claim(self) -> None:
        """Ask coordinators for work, one after the other, until no place is free or none has any."""
        while self._free_places() > 0 and self._fabric.connected:
            coordinator = self._next_coordinator()
            if coordinator is None:
                return
            try:
                answer = await self._ask(coordinator, {"kind": "claim"})
                if answer.kind != "run":
                    coordinator.wants = False
                    if answer.kind == "unknown":
                        coordinator.introduced = 0.0
                    continue
                self._begin(coordinator, RunOrder.read(answer))
            except (FabricAway, BadFrame) as error:
                coordinator.wants = False
                log.debug("no work from a coordinator of %s: %s", coordinator.vault, error)

    def _next_coordinator(self) -> KnownCoordinator | None:
        """The next one that wants something, in turn."""
        with self._guard:
            for position, key in enumerate(self._rotation):
                coordinator = self._coordinators[key]
                if coordinator.has_work:
                    self._rotation.append(self._rotation.pop(position))
                    return coordinator
        return None

    def _begin(self, coordinator: KnownCoordinator, order: RunOrder) -> None:
        children = coordinator.children
        if children is None or order.digester not in coordinator.abilities:
            raise BadFrame("work that was never offered")
        with self._guard:
            if order.run_id in self._runs:
                raise BadFrame("work that is here already")
            run = WorkerRun(
                *(order, self._scratch.make(order.run_id), children),
                lambda header, bulk: self._fabric.call(self._ask_for(run, coordinator, header, bulk)).result(),
                *(self._config.slowness, self._config.run_as, self._config.scratch_bytes),
                lambda: self._may_claim(coordinator),
            )
            self._runs[order.run_id] = (run, coordinator)
        threading.Thread(target=self._work, args=(run, coordinator), name="chyme-run", daemon=True).start()

    def _may_claim(self, coordinator: KnownCoordinator) -> bool:
        """Whether the next run may come from the same coordinator: no other has work."""
        with self._guard:
            others = [known for known in self._coordinators.values() if known is not coordinator]
            return not self._draining and self._room > 0 and not any(known.has_work for known in others)

    def _work(self, run: WorkerRun, coordinator: KnownCoordinator) -> None:
        try:
            run.work()
            if run.next_order is not None:  # it begins before its place counts as free
                self._begin(coordinator, RunOrder.read(run.next_order))
        except BadFrame as error:
            log.debug("no work from a coordinator of %s: %s", coordinator.vault, error)
        finally:
            with self._guard:
                self._runs.pop(run.order.run_id, None)
                self.done += 1
            self._scratch.remove(run.folder)
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._fabric.loop.call_soon_threadsafe(self._wake.set)

    async def _leave(self, coordinators: list[KnownCoordinator]) -> None:
        for coordinator in coordinators:
            with contextlib.suppress(FabricAway, BadFrame):
                await self._ask(coordinator, {"kind": "leave", "gone": True})


def own_uid_for_children(uid: int) -> int | None:
    """The user that children run as, if this process may choose one."""
    return uid if os.geteuid() == 0 else None
