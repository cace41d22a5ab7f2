"""The events of a vault are read once and sent to all listeners in order. A slow listener does not delay the others."""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from waiting import AMPLE

from chyme.application import event_broadcast as broadcasting
from chyme.application.event_broadcast import MAX_LISTENERS, MAX_PENDING_BYTES, MAX_PER_USER, Broadcast, Listener
from chyme.core.store import events
from chyme.core.store.sqlite.database import Database
from chyme.errors import VaultError

pytestmark = pytest.mark.slow

NOW = "2026-03-04T12:00:00.000000Z"


class Vault:
    """A database with events in it, and its broadcaster."""

    def __init__(self, folder: Path) -> None:
        changed = threading.Event()
        self.database = Database(folder, on_commit=changed.set)
        self.status: dict[str, Any] = {"todo": 0, "running": 0}
        self.stale: list[str] = []
        self.pause: str | None = None
        self.broadcast = Broadcast(
            self.database, changed, lambda: dict(self.status), self.stale_since, lambda: self.pause
        )

    def stale_since(self, before: str | None, at_most: int) -> tuple[str, list[str]]:
        found, self.stale = self.stale if before else [], []
        return NOW, found[:at_most]

    def record(self, *paths: str, detail: str | None = None) -> None:
        def write(db: sqlite3.Connection) -> None:
            for path in paths:
                events.record(db, NOW, "file", None, path, None, "new", detail)

        self.database.write(write)

    def close(self) -> None:
        self.broadcast.close()
        self.database.close()


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    with closing(Vault(tmp_path)) as opened:
        yield opened


ParsedEvents = list[tuple[str | None, str | None, Any]]  # id, event, data


def parse_events(stream: bytes) -> ParsedEvents:
    found: ParsedEvents = []
    for block in stream.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "data" in fields:
            found.append((fields.get("id"), fields.get("event"), json.loads(fields["data"])))
    return found


def paths_in(stream: bytes) -> list[str]:
    return [data["path"] for _, event, data in parse_events(stream) if event == "file"]


async def receive_until(listener: Listener, is_enough: Callable[[bytes], object], seconds: float = AMPLE) -> bytes:
    stream = b""
    async with asyncio.timeout(seconds):
        while not is_enough(stream):
            stream += await listener.receive(1.0)
    return stream


def in_loop(work: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        await work()

    asyncio.run(run())


def test_events_come_in_order_with_their_ids_and_the_status_first(vault: Vault) -> None:
    async def work() -> None:
        listener = vault.broadcast.listen()
        first = await receive_until(listener, lambda stream: b"event: status" in stream)
        assert first.startswith(b"retry: 2000\nid: 0\n\n")
        vault.record("a.txt", "b.txt")
        stream = await receive_until(listener, lambda stream: len(paths_in(stream)) == 2)
        assert [(id_, event, data["path"]) for id_, event, data in parse_events(stream) if event == "file"] == [
            ("1", "file", "a.txt"),
            ("2", "file", "b.txt"),
        ]
        vault.broadcast.leave(listener)

    in_loop(work)


def test_a_name_with_line_ends_stays_within_its_event(vault: Vault) -> None:
    evil = "a\nevent: reset\ndata: {}\n\r\n\u2028.txt"

    async def work() -> None:
        vault.record("one", evil)
        listener = vault.broadcast.listen(0)
        stream = await receive_until(listener, lambda stream: len(paths_in(stream)) == 2)
        assert paths_in(stream) == ["one", evil]
        assert "reset" not in [event for _, event, _ in parse_events(stream)]

    in_loop(work)


def test_a_listener_that_reconnects_gets_missed_events_once_and_nothing_else(vault: Vault) -> None:
    vault.record(*(f"{number}.txt" for number in range(30)))

    async def work() -> None:
        connected = vault.broadcast.listen()
        await receive_until(connected, lambda stream: b"status" in stream)
        reconnected = vault.broadcast.listen(after=12)
        vault.record("30.txt")
        stream = await receive_until(reconnected, lambda stream: "30.txt" in paths_in(stream))
        assert [id_ for id_, event, _ in parse_events(stream) if event == "file"] == [
            str(number) for number in range(13, 32)
        ]
        assert stream.startswith(b"retry: 2000\nid: 12\n\n")
        assert paths_in(await receive_until(connected, lambda stream: "30.txt" in paths_in(stream))) == ["30.txt"]

    in_loop(work)


@pytest.mark.parametrize("after", [2, 10**12], ids=["pruned", "of another vault"])
def test_a_listener_that_missed_deleted_events_is_reset_and_then_gets_new_events(vault: Vault, after: int) -> None:
    vault.record(*(f"{number}.txt" for number in range(10)))
    vault.database.write(lambda db: db.execute("DELETE FROM events WHERE id <= 5"))

    async def work() -> None:
        listener = vault.broadcast.listen(after)
        stream = await receive_until(listener, lambda stream: b"status" in stream)
        assert next((id_, event) for id_, event, _ in parse_events(stream)) == ("10", "reset")
        assert paths_in(stream) == []
        vault.record("new.txt")
        assert paths_in(await receive_until(listener, paths_in)) == ["new.txt"]

    in_loop(work)


def test_pruning_all_events_does_not_reset_a_listener_that_has_seen_them(vault: Vault) -> None:
    vault.record("a.txt", "b.txt")
    vault.database.write(lambda db: db.execute("DELETE FROM events"))

    async def work() -> None:
        seen = await receive_until(vault.broadcast.listen(after=2), lambda stream: b"status" in stream)
        missed = await receive_until(vault.broadcast.listen(after=1), lambda stream: b"status" in stream)
        assert [event for _, event, _ in parse_events(seen)] == ["status"]
        assert [event for _, event, _ in parse_events(missed)] == ["reset", "status"]

    in_loop(work)


def test_many_listeners_cost_as_many_reads_as_one(vault: Vault) -> None:
    async def work() -> None:
        listeners = [vault.broadcast.listen() for _ in range(50)]
        for listener in listeners:
            await receive_until(listener, lambda stream: b"status" in stream)
        before = vault.broadcast.reads
        for number in range(5):
            vault.record(f"{number}.txt")
            await asyncio.sleep(0.15)
        for listener in listeners:
            stream = await receive_until(listener, lambda stream: len(paths_in(stream)) == 5)
            assert paths_in(stream) == [f"{number}.txt" for number in range(5)]
        assert vault.broadcast.reads - before <= 12

    in_loop(work)


def test_a_slow_listener_is_reset_and_delays_no_other(vault: Vault) -> None:
    long, bursts = "x" * 900, MAX_PENDING_BYTES // (200 * 900) + 3

    async def work() -> None:
        slow, quick = vault.broadcast.listen(), vault.broadcast.listen()
        await receive_until(quick, lambda stream: b"event: status" in stream)  # from here on it gets new events
        count = 0
        for burst in range(bursts):
            vault.record(*(f"{burst}-{number}" for number in range(200)), detail=long)
            stream = await receive_until(quick, lambda stream: len(paths_in(stream)) == 200)
            count += len(paths_in(stream))
        assert count == 200 * bursts
        assert sum(map(len, slow._pending)) <= MAX_PENDING_BYTES + 300_000
        stream = await receive_until(slow, lambda stream: b"event: reset" in stream)
        assert parse_events(stream)[0][1] == "reset"
        vault.record("last")
        assert paths_in(await receive_until(slow, lambda stream: "last" in paths_in(stream)))[-1] == "last"

    in_loop(work)


def test_commits_of_other_processes_are_noticed(vault: Vault) -> None:
    async def work() -> None:
        listener = vault.broadcast.listen()
        await receive_until(listener, lambda stream: b"status" in stream)
        with closing(sqlite3.connect(vault.database.path, isolation_level=None)) as other:
            events.record(other, NOW, "file", None, "theirs.txt", None, "new")
        assert paths_in(await receive_until(listener, paths_in)) == ["theirs.txt"]

    in_loop(work)


def test_the_status_is_sent_only_when_it_changes(vault: Vault) -> None:
    async def work() -> None:
        listener = vault.broadcast.listen()
        await receive_until(listener, lambda stream: b"status" in stream)
        vault.status = {"todo": 3, "running": 1}
        vault.record("a.txt")
        stream = await receive_until(listener, lambda stream: b"event: status" in stream)
        assert [data for _, event, data in parse_events(stream) if event == "status"] == [{"todo": 3, "running": 1}]
        await asyncio.sleep(1.5)
        vault.record("b.txt")
        stream = await receive_until(listener, paths_in)
        stream += await listener.receive(1.5)
        assert b"event: status" not in stream

    in_loop(work)


def test_a_stale_document_is_reported_although_nothing_is_written(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broadcasting, "STALE_POLL_SECONDS", 0.2)

    async def work() -> None:
        listener = vault.broadcast.listen()
        await receive_until(listener, lambda stream: b"event: status" in stream)
        vault.stale = ["slow.pdf"]
        stream_events = parse_events(await receive_until(listener, lambda stream: b"event: document" in stream))
        assert [(id_, data["path"], data["status"]) for id_, event, data in stream_events if event == "document"] == [
            (None, "slow.pdf", "stale")
        ]
        vault.stale = [f"{number}.pdf" for number in range(1000)]
        assert b"event: document" not in await receive_until(listener, lambda stream: b"event: reset" in stream)

    in_loop(work)


def test_the_thread_lives_as_long_as_there_are_listeners(vault: Vault) -> None:
    def broadcasters() -> int:
        return sum(thread.name == "chyme-broadcast" for thread in threading.enumerate())

    async def work() -> None:
        assert vault.broadcast._thread is None
        first_listener, second_listener = vault.broadcast.listen(), vault.broadcast.listen()
        await receive_until(first_listener, lambda stream: b"status" in stream)
        assert vault.broadcast.listeners == 2
        thread = vault.broadcast._thread
        assert thread is not None
        vault.broadcast.leave(first_listener)
        vault.broadcast.leave(second_listener)
        thread.join(AMPLE)
        assert not thread.is_alive()
        assert vault.broadcast.listeners == 0
        vault.record("while-nobody-listened.txt")
        again = vault.broadcast.listen()
        await receive_until(again, lambda stream: b"status" in stream)
        vault.record("now.txt")
        assert paths_in(await receive_until(again, paths_in)) == ["now.txt"]

    in_loop(work)


def test_closing_ends_all_listeners_and_refuses_new_listeners(vault: Vault) -> None:
    async def work() -> None:
        listener = vault.broadcast.listen()
        vault.broadcast.stop()
        async with asyncio.timeout(5):
            await listener.ended.wait()
        with pytest.raises(VaultError, match="closed"):
            vault.broadcast.listen()

    in_loop(work)


def test_too_many_listeners_are_refused(vault: Vault) -> None:
    async def work() -> None:
        listeners = [vault.broadcast.listen() for _ in range(MAX_LISTENERS)]
        with pytest.raises(VaultError, match="listen to this vault already"):
            vault.broadcast.listen()
        vault.broadcast.leave(listeners[0])
        vault.broadcast.listen()

    in_loop(work)


def test_a_single_user_cannot_take_all_the_places(vault: Vault) -> None:
    async def work() -> None:
        listeners = [vault.broadcast.listen(user="user 1") for _ in range(MAX_PER_USER)]
        with pytest.raises(VaultError, match="you listen 20 times already"):
            vault.broadcast.listen(user="user 1")
        vault.broadcast.listen(user="user 2")
        await receive_until(listeners[0], lambda stream: b"status" in stream)
        with pytest.raises(VaultError):
            vault.broadcast.listen(user="user 1")  # also after all of them have received their first status
        vault.broadcast.leave(listeners[0])
        vault.broadcast.listen(user="user 1")

    in_loop(work)


def test_a_broadcaster_that_breaks_ends_all_listeners_so_that_they_reconnect(vault: Vault) -> None:
    async def work() -> None:
        listener = vault.broadcast.listen()
        await receive_until(listener, lambda stream: b"status" in stream)
        vault.status = {"todo": object()}
        vault.record("a.txt")
        async with asyncio.timeout(10):
            await listener.ended.wait()
        vault.status = {"todo": 0}
        back = vault.broadcast.listen(0)
        assert paths_in(await receive_until(back, paths_in)) == ["a.txt"]

    in_loop(work)


class Failing:
    """A database whose first reads raise the given errors."""

    def __init__(self, database: Database, *errors: Exception) -> None:
        self._database = database
        self._errors = list(errors)

    def read(self) -> sqlite3.Connection:
        if self._errors:
            raise self._errors.pop()
        return self._database.read()

    def log_failure(self, where: logging.Logger, what: str, error: Exception) -> None:
        self._database.log_failure(where, what, error)


def test_a_listener_that_connects_while_the_database_cannot_be_read_is_served_later(vault: Vault) -> None:
    async def work() -> None:
        failing: Any = Failing(vault.database, sqlite3.OperationalError("disk I/O error"))
        with closing(
            Broadcast(failing, threading.Event(), lambda: {"todo": 0}, vault.stale_since, lambda: None)
        ) as broadcast:
            listener = broadcast.listen(0)
            vault.record("a.txt")
            assert paths_in(await receive_until(listener, paths_in)) == ["a.txt"]

    in_loop(work)


def test_the_start_and_the_end_of_a_pause_are_sent_although_nothing_is_committed(vault: Vault) -> None:
    async def work() -> None:
        listener = vault.broadcast.listen()
        await receive_until(listener, lambda stream: b"event: status" in stream)
        for reason in ("the folder is gone", None):
            vault.pause = vault.status["paused"] = reason
            stream = await receive_until(listener, lambda stream: b"event: status" in stream, AMPLE)
            assert [data["paused"] for _, event, data in parse_events(stream) if event == "status"] == [reason]

    in_loop(work)


def test_each_listener_learns_once_why_events_cannot_be_read(vault: Vault) -> None:
    async def work() -> None:
        vault.status["paused"] = "the database is damaged"
        failing: Any = Failing(vault.database, *(sqlite3.OperationalError("disk I/O error") for _ in range(3)))
        broadcast = Broadcast(
            failing, threading.Event(), lambda: dict(vault.status), vault.stale_since, lambda: vault.pause
        )
        with closing(broadcast):
            listener = broadcast.listen(0)
            vault.record("a.txt")
            stream = await receive_until(listener, paths_in, AMPLE)
            event_types = [event for _, event, _ in parse_events(stream)]
            assert event_types == ["status", "file"], (
                "the reason comes once, before the events that can be read only later"
            )

    in_loop(work)


def test_a_listener_that_connects_when_the_broadcaster_breaks_is_ended_as_well(vault: Vault) -> None:
    async def work() -> None:
        failing: Any = Failing(vault.database, RuntimeError("who would have thought"))
        with closing(
            Broadcast(failing, threading.Event(), lambda: {"todo": 0}, vault.stale_since, lambda: None)
        ) as broadcast:
            listener = broadcast.listen()
            async with asyncio.timeout(10):
                await listener.ended.wait()

    in_loop(work)


def test_details_are_cut_to_a_length_that_suits_a_stream() -> None:
    formatted = broadcasting.format_event((1, NOW, "digest", "a", "tags", "failed", "x" * 100_000))
    assert len(formatted) < 2000
