"""Events of a vault reach every client of a real server: in order, once, and without delaying the server."""

from __future__ import annotations

import contextlib
import http.client
import json
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from running_chyme import RunningChyme, Server, wait_until
from waiting import AMPLE

pytestmark = pytest.mark.slow

CLIENTS = 50


@dataclass
class Listener:
    """A client that listens in its own thread, like an EventSource, and stores the events it received."""

    port: int
    after: int | None = None
    events: list[tuple[int | None, str, dict[str, Any]]] = field(default_factory=list)
    last_id: int | None = None
    over: bool = False

    def __post_init__(self) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        headers = {} if self.after is None else {"Last-Event-ID": str(self.after)}
        self._connection.request("GET", "/api/events", headers=headers)
        self._socket = self._connection.sock
        self._answer = self._connection.getresponse()
        assert self._answer.status == 200
        assert self._answer.headers["Content-Type"].startswith("text/event-stream")
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        fields: dict[str, str] = {}
        with contextlib.suppress(OSError, ValueError, AttributeError, http.client.HTTPException):
            while line := self._answer.readline():
                text = line.decode().rstrip("\n")
                if text:
                    name, _, value = text.partition(": ")
                    fields[name] = value
                    continue
                if "id" in fields:
                    self.last_id = int(fields["id"])
                if "data" in fields:
                    id_ = int(fields["id"]) if "id" in fields else None
                    self.events.append((id_, fields["event"], json.loads(fields["data"])))
                fields = {}
        self.over = True

    def ids(self) -> list[int]:
        return [id_ for id_, event, _ in list(self.events) if id_ is not None and event != "reset"]

    def of(self, path: str) -> list[tuple[str, str | None, str | None]]:
        events = [(name, data["digester"], data["status"]) for _, name, data in list(self.events) if name != "status"]
        paths = [data["path"] for _, name, data in list(self.events) if name != "status"]
        return [event for event, where in zip(events, paths, strict=True) if where == path]

    def statuses(self) -> list[dict[str, Any]]:
        return [data for _, event, data in list(self.events) if event == "status"]

    def disconnect(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(AMPLE)
        self._answer.close()
        self._connection.close()


@pytest.fixture
def listening() -> Iterator[Callable[..., Listener]]:
    listeners: list[Listener] = []

    def listen(server: Server, after: int | None = None) -> Listener:
        listeners.append(Listener(server.http.base_url.port or 0, after))
        return listeners[-1]

    yield listen
    for listener in listeners:
        listener.disconnect()


def idle(server: Server) -> bool:
    status = server.http.get("/api/status").json()
    return not (status["digests"]["todo"] or status["digests"]["in-progress"] or status["moving"])


def events_of(chyme: RunningChyme) -> list[int]:
    return [row[0] for row in chyme.rows("SELECT id FROM events ORDER BY id")]


def test_a_new_file_is_reported_step_by_step_and_a_returning_client_misses_and_repeats_nothing(
    chyme: RunningChyme, listening: Callable[..., Listener]
) -> None:
    server = chyme.serve()
    listener = listening(server)
    wait_until(listener.statuses)
    chyme.drop("moon.md", "# The moon\n\nIt has phases.\n", still=False)
    wait_until(lambda: ("digest", "search-semantic", "completed") in listener.of("moon.md"))
    steps = listener.of("moon.md")
    assert steps[0] == ("file", None, "new")
    for name in ("classify-document", "tags", "search-keyword", "search-semantic"):
        assert steps.index(("digest", name, "in-progress")) < steps.index(("digest", name, "completed"))
    assert ("document", None, "completed") in steps
    assert listener.ids() == sorted(set(listener.ids()))
    wait_until(lambda: listener.statuses()[-1]["files"] == 1)  # the statuses before know nothing of the file
    wait_until(lambda: listener.statuses()[-1]["todo"] == listener.statuses()[-1]["running"] == 0)
    assert listener.statuses()[-1]["eta_seconds"] is None

    listener.disconnect()
    chyme.drop("sun.md", "# The sun\n\nIt has spots.\n", still=False)
    wait_until(lambda: chyme.rows("SELECT 1 FROM events WHERE path = 'sun.md' AND digester = 'tags'"))
    back = listening(server, listener.last_id)
    wait_until(lambda: ("digest", "search-semantic", "completed") in back.of("sun.md"))
    wait_until(lambda: idle(server))
    wait_until(lambda: (back.ids() or [0])[-1] == events_of(chyme)[-1])
    assert listener.ids() + back.ids() == events_of(chyme)
    assert server.end(signal.SIGINT) == 0


def test_fifty_clients_receive_every_event_of_a_digestion_though_others_vanish(
    chyme: RunningChyme, listening: Callable[..., Listener]
) -> None:
    server = chyme.serve()
    listeners = [listening(server) for _ in range(CLIENTS)]
    vanishing = [listening(server) for _ in range(5)]
    for listener in listeners:
        wait_until(listener.statuses)
    for number in range(60):
        chyme.drop(f"{number}.md", f"# Note {number}\n\nSomething about number {number}.\n", still=False)
    wait_until(listeners[0].ids)
    for listener in vanishing:
        listener.disconnect()
    done = "SELECT count(*) FROM digests WHERE digester = 'search-semantic' AND status = 'completed'"
    wait_until(lambda: chyme.rows(done) == [(60,)] and idle(server), 180)
    expected = events_of(chyme)
    for listener in listeners:
        wait_until(lambda listener=listener: (listener.ids() or [0])[-1] == expected[-1])  # type: ignore[misc]
        assert listener.ids() == expected
        assert not [event for _, event, _ in listener.events if event == "reset"]
    metrics = server.http.get("/metrics").text
    assert f'chyme_events_clients{{vault="{chyme.vault.name}"}} {CLIENTS}.0\n' in metrics
    assert server.end(signal.SIGINT) == 0


def test_ctrl_c_ends_the_server_though_clients_listen(chyme: RunningChyme, listening: Callable[..., Listener]) -> None:
    server = chyme.serve()
    listeners = [listening(server) for _ in range(5)]
    for listener in listeners:
        wait_until(listener.statuses)
    assert server.end(signal.SIGINT) == 0
    wait_until(lambda: all(listener.over for listener in listeners))
    assert "timeout graceful shutdown exceeded" not in chyme.said(server.process)  # ended, not cut off


def test_the_log_for_programs_is_json_line_by_line(chyme: RunningChyme) -> None:
    chyme.settings["CHYME_LOG_FORMAT"] = "json"
    chyme.drop("moon.md", "# The moon\n\nIt has phases.\n")
    chyme.drop("broken.pdf", b"%PDF-1.7\nnothing else")
    server = chyme.serve()
    wait_until(lambda: chyme.rows("SELECT 1 FROM files") and idle(server))
    server.http.get("/api/status", params={"token": "hunter2"})
    time.sleep(0.2)
    assert server.end(signal.SIGTERM) == 0
    log = chyme.said(server.process)
    assert "hunter2" not in log
    lines = [json.loads(line) for line in log.splitlines() if line.startswith('{"at"')]
    outcomes = {(line["path"], line["digester"]): line for line in lines if "digester" in line}
    assert outcomes["moon.md", "tags"]["outcome"] == "completed"
    assert outcomes["moon.md", "tags"]["level"] == "info"
    assert outcomes["broken.pdf", "doc-to-markdown"]["level"] == "warning"
    assert outcomes["broken.pdf", "doc-to-markdown"]["category"] == "validation"
    assert {line["vault"] for line in outcomes.values()} == {chyme.vault.name}
    assert "/api/status" in [line.get("route") for line in lines]
