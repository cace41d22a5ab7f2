"""A worker that speaks the real protocol through a real NATS server, and does only what a test tells it."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from waiting import AMPLE, wait_until

from chyme import __version__
from chyme.errors import ChymeError
from chyme.workers.fabric import Fabric
from chyme.workers.wire import WIRE, Message, ask_subject, want_subject

HOST = "shed.lan"
BEAT_SECONDS = 0.5


class MadeUpWorker:
    """Claims attempts and holds or fails them. It beats in the background, so that it stays known."""

    def __init__(self, url: str, vault: str, name: str, makes: frozenset[str] | None = None) -> None:
        """`makes`: the digesters it offers to make; None means all that the coordinator has."""
        self.name = name
        self._vault = vault
        self._makes = makes
        self._runs: dict[str, tuple[str, float]] = {}  # run → key, fraction
        self._coordinator = ""
        self._found = threading.Event()
        self._ended = threading.Event()
        self._fabric = Fabric([url], name)
        self._fabric.listen(want_subject(vault), self._hear_hint)
        self._fabric.start()
        self._beats = threading.Thread(target=self._beat_often, daemon=True)

    async def _hear_hint(self, _subject: str, message: Message) -> None:
        self._coordinator = message.token("coordinator")
        self._found.set()

    def introduce(self) -> None:
        """Tell the coordinator of ourselves, as a worker does that fits."""
        welcome = self._say_hello("", {}, {})
        wanted = welcome.texts("abilities")
        offered = {name: able for name, able in wanted.items() if self._makes is None or name in self._makes}
        misfits = dict.fromkeys(wanted.keys() - offered.keys(), "not among --only")
        assert self._say_hello(welcome.text("config_id", 64), offered, misfits).kind == "welcome"
        self._beats.start()

    def _say_hello(self, config: str, abilities: dict[str, str], misfits: dict[str, str]) -> Message:
        words: dict[str, object] = {"host": HOST, "version": __version__, "places": 4, "slowness": 1.0}
        return self._ask(
            {"kind": "hello", "wire": WIRE, "config": config, "abilities": abilities, "misfits": misfits, **words}
        )

    def claim(self) -> dict[str, Any]:
        """Wait for an attempt, and begin it."""
        claimed: dict[str, Any] = {}

        def has_claimed() -> bool:
            answer = self._ask({"kind": "claim"})
            if answer.kind == "run":
                claimed.update(answer.header)
            return bool(claimed)

        wait_until(has_claimed)
        self._runs[claimed["run"]] = (claimed["key"], 0.0)
        return claimed

    def report_progress(self, run: dict[str, Any], fraction: float) -> None:
        self._runs[run["run"]] = (run["key"], fraction)
        self._beat()

    def fail(self, run: dict[str, Any], category: str = "crash") -> None:
        """Answer that the attempt failed for a reason that may be our own."""
        self._runs.pop(run["run"], None)
        answer: dict[str, object] = {"result": "error", "category": category, "message": "it broke", "tried": False}
        empty: dict[str, object] = {"inline": True, "size": 0, "sha256": hashlib.sha256(b"").hexdigest()}
        self._ask({"kind": "done", "run": run["run"], "key": run["key"], "seconds": 0.1, **answer, **empty})

    def answer_late(self) -> None:
        """Answer for an attempt that is not wanted any more."""
        self._ask({"kind": "done", "run": "long-gone", "key": "none", "seconds": 0.1})

    def leave(self) -> None:
        self._ask({"kind": "leave", "gone": True})

    def close(self) -> None:
        self._ended.set()
        if self._beats.ident is not None:
            self._beats.join()
        self._fabric.close()

    def _beat_often(self) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            with suppress(ChymeError, TimeoutError):
                self._beat()

    def _beat(self) -> None:
        rows = [[run, key, fraction, True, 0] for run, (key, fraction) in list(self._runs.items())]
        self._ask({"kind": "beat", "runs": rows})

    def _ask(self, header: dict[str, object]) -> Message:
        assert self._found.wait(AMPLE), "no coordinator was heard of"
        subject = ask_subject(self._vault, self._coordinator, self.name)
        request = {**header, "free": 4, "room": 1 << 40, "instance": "one"}
        return self._fabric.call(self._fabric.request(subject, request)).result(AMPLE)


@contextmanager
def made_up_worker(url: str, vault: str, name: str, makes: frozenset[str] | None = None) -> Iterator[MadeUpWorker]:
    """A worker that has introduced itself."""
    worker = MadeUpWorker(url, vault, name, makes)
    try:
        worker.introduce()
        yield worker
    finally:
        worker.close()
