"""Sends the events of a vault to all listeners, and reads them only once, however many listeners there are."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from chyme.core.store import events
from chyme.core.store.sqlite.database import Database
from chyme.errors import VaultError
from chyme.model import iso

log = logging.getLogger(__name__)

MAX_LISTENERS = 200
MAX_PER_USER = 20  # so that one user cannot take all places
MAX_PENDING_BYTES = 1 << 20  # for one listener; a slower one is sent a reset
MAX_BEHIND = 2000  # events; with more, a reset is quicker than sending each
BATCH = 1000
GATHER_SECONDS = 0.1  # pause between two polls, so that a burst is sent in few messages
GATHER_EACH = 0.004  # added for each listener, because a burst costs messages times listeners
POLL_SECONDS = 0.25  # for commits of other processes
STATUS_SECONDS = 1.0
STALE_POLL_SECONDS = 5.0  # between two searches for stale documents: no commit announces them
MAX_STALE = 100  # if there are more at once, all listeners are sent a reset
MAX_DETAIL_CHARS = 1000
RETRY_MS = 2000


class Listener:
    """A queue of messages for one listener: filled by the broadcast thread, read in the event loop that created it."""

    def __init__(self, after: int | None, user: str | None = None) -> None:
        self.after = after
        self.user = user
        self.left = False  # it may leave before it was added
        self.status = b""  # the last one sent to it
        self._loop = asyncio.get_running_loop()
        self._guard = threading.Lock()
        self._pending: list[bytes] = []
        self._size = 0
        self._woken = asyncio.Event()
        self.ended = asyncio.Event()

    def offer(self, message: bytes, last: int) -> None:
        """Queue a message; called by the thread. Never waits, and keeps at most MAX_PENDING_BYTES."""
        with self._guard:
            idle = not self._pending
            self._pending.append(message)
            self._size += len(message)
            if self._size > MAX_PENDING_BYTES:
                self._pending = [format_reset(last)]
                self._size = len(self._pending[0])
        if idle:
            self._call_in_loop(self._woken.set)

    def end(self) -> None:
        """End the listener; called by the thread, or when the vault is closed."""
        self._call_in_loop(self.ended.set)

    def _call_in_loop(self, callback: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(callback)
        except RuntimeError:  # its loop is closed, so the listener is gone
            log.debug("a listener's loop has gone")

    async def receive(self, seconds: float) -> bytes:
        """Wait at most so many seconds for messages, and return them; empty if there are none."""
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return b""
        self._woken.clear()
        with self._guard:
            messages, self._pending, self._size = self._pending, [], 0
        return b"".join(messages)


class Broadcast:
    """One thread for each vault, which runs as long as there are listeners.

    `changed` is set with every commit of this process; commits of others change SQLite's data_version. A vault that is
    gone, damaged or full has no commits, so `pause_reason` is checked at every poll. Neither have workers that come and
    go, so `workers` is compared once a second.
    """

    def __init__(
        self,
        database: Database,
        changed: threading.Event,
        status: Callable[[], dict[str, Any]],
        stale_since: Callable[[str | None, int], tuple[str, list[str]]],
        pause_reason: Callable[[], str | None],
        workers: Callable[[], object] = lambda: None,
    ) -> None:
        self._database = database
        self._changed = changed
        self._status = status
        self._stale_since = stale_since
        self._pause_reason = pause_reason
        self._workers = workers
        self._guard = threading.Lock()
        self._all_listeners: set[Listener] = set()  # all, including those in _newcomers
        self._listeners: set[Listener] = set()
        self._newcomers: list[Listener] = []
        self._thread: threading.Thread | None = None
        self._closed = False
        self._last = 0  # the id of the newest event that was sent
        self.reads = 0  # number of batches read, to measure what listeners cost

    @property
    def listeners(self) -> int:
        with self._guard:
            return len(self._all_listeners)

    def newest_event_id(self) -> int:
        """Return the id of the newest event: a page that is rendered now and listens after it misses nothing."""
        return events.id_range(self._database.read())[1]

    def listen(self, after: int | None = None, user: str | None = None) -> Listener:
        """Add a listener for the events after this one. Call `leave` at the end. Runs in an event loop.

        Without `after` it is sent what happens after its first status, which the thread sends when it adds it.
        Listeners are counted for each `user`; None is not counted.
        """
        with self._guard:
            if self._closed:
                raise VaultError("the vault is being closed")
            if len(self._all_listeners) >= MAX_LISTENERS:
                raise VaultError(f"{MAX_LISTENERS} listen to this vault already; try again when one has gone")
            if user is not None and sum(other.user == user for other in self._all_listeners) >= MAX_PER_USER:
                raise VaultError(f"you listen {MAX_PER_USER} times already; close a page that you do not need")
            listener = Listener(after, user)
            self._all_listeners.add(listener)
            self._newcomers.append(listener)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="chyme-broadcast", daemon=True)
                self._thread.start()
        self._changed.set()
        return listener

    def leave(self, listener: Listener) -> None:
        with self._guard:
            listener.left = True
            self._all_listeners.discard(listener)
            self._listeners.discard(listener)
            if listener in self._newcomers:
                self._newcomers.remove(listener)
        self._changed.set()

    def stop(self) -> None:
        """End all listeners, and refuse new ones. Does not wait."""
        with self._guard:
            self._closed = True
            listeners = list(self._all_listeners)
        for listener in listeners:
            listener.end()
        self._changed.set()

    def close(self) -> None:
        """The same, and wait until nothing is read any more."""
        self.stop()
        with self._guard:
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        state = _PollState()
        while True:
            self._changed.wait(POLL_SECONDS)
            self._changed.clear()
            with self._guard:
                if self._closed or not (self._listeners or self._newcomers):
                    self._thread = None
                    return
                newcomers, self._newcomers = self._newcomers, []
            try:
                self._poll(state, newcomers)
            except (sqlite3.Error, VaultError) as error:
                self._database.log_failure(log, "the events of the vault cannot be sent", error)
                self._requeue(newcomers)
                with contextlib.suppress(sqlite3.Error, VaultError):  # logged above; the status may give the reason
                    self._report_status(state, newcomers)
                time.sleep(POLL_SECONDS)
            except Exception:  # otherwise listeners would wait in vain; they reconnect and restart the thread
                log.exception("the events of the vault cannot be sent")
                self._end_all()
            time.sleep(GATHER_SECONDS + GATHER_EACH * min(self.listeners, 100))

    def _requeue(self, newcomers: list[Listener]) -> None:
        """Keep newcomers that were not added for the next poll."""
        with self._guard:
            self._newcomers[:0] = [
                listener
                for listener in newcomers
                if listener in self._all_listeners and listener not in self._listeners
            ]

    def _end_all(self) -> None:
        with self._guard:
            listeners = list(self._all_listeners)
            self._listeners.clear()
            self._newcomers.clear()
        for listener in listeners:
            listener.end()

    def _poll(self, state: _PollState, newcomers: list[Listener]) -> None:
        db = self._database.read()
        with self._guard:
            had_none = not self._listeners
        if had_none:  # events since the last listener left were sent to none
            self._last = events.id_range(db)[1]
            state.version, state.stale_before = -1, None
        version = db.execute("PRAGMA data_version").fetchone()[0]
        if version != state.version:
            state.moved = True
            self._send_new_events(db)
            state.version = version  # set afterwards: what could not be sent is sent at the next poll
        for listener in newcomers:
            self._add_newcomer(db, listener)
        moment = time.monotonic()
        if moment - state.stale_at >= STALE_POLL_SECONDS:
            state.stale_before, stale = self._stale_since(state.stale_before, MAX_STALE)
            state.stale_at = moment
            self._send_stale(stale)
        if moment - state.workers_at >= STATUS_SECONDS:
            workers, state.workers_at = self._workers(), moment
            state.moved = state.moved or workers != state.workers
            state.workers = workers
        may_differ = state.moved or state.busy or self._pause_reason() is not None
        if newcomers or (may_differ and moment - state.status_at >= STATUS_SECONDS):
            self._report_status(state, newcomers)

    def _report_status(self, state: _PollState, newcomers: list[Listener]) -> None:
        """Send the status to listeners with an outdated one, and to newcomers, which may not have been added yet."""
        status = self._status()
        message = format_status(status)
        with self._guard:
            listeners = self._listeners.union(newcomers)
        for listener in listeners:
            if listener.status != message:
                listener.status = message
                listener.offer(message, self._last)
        state.moved, state.status_at = False, time.monotonic()
        state.busy = bool(status.get("running") or status.get("todo") or status.get("paused"))

    def _send_new_events(self, db: sqlite3.Connection) -> None:
        while True:
            batch = events.list_after(db, self._last, BATCH)
            self.reads += 1
            if batch:
                self._last = batch[-1][0]
                self._offer_all(b"".join(map(format_event, batch)))
            if len(batch) < BATCH:
                return

    def _send_stale(self, paths: list[str]) -> None:
        if len(paths) == MAX_STALE:
            self._offer_all(format_reset(self._last))
        elif paths:
            self._offer_all(b"".join(map(format_stale, paths)))

    def _offer_all(self, message: bytes) -> None:
        with self._guard:
            listeners = list(self._listeners)
        for listener in listeners:
            listener.offer(message, self._last)

    def _add_newcomer(self, db: sqlite3.Connection, listener: Listener) -> None:
        """Send a newcomer the events it missed. No events are sent meanwhile, so none is lost or sent twice."""
        oldest, _ = events.id_range(db)
        after = self._last if listener.after is None else listener.after
        known = oldest - 1 <= after <= self._last and self._last - after <= MAX_BEHIND
        listener.offer(f"retry: {RETRY_MS}\nid: {after if known else self._last}\n\n".encode(), self._last)
        if known:
            self._catch_up(db, listener, after)
        else:
            listener.offer(format_reset(self._last), self._last)
        with self._guard:
            if not self._closed and not listener.left:
                self._listeners.add(listener)

    def _catch_up(self, db: sqlite3.Connection, listener: Listener, after: int) -> None:
        while after < self._last:
            batch = [event for event in events.list_after(db, after, BATCH) if event[0] <= self._last]
            if not batch:
                return
            after = batch[-1][0]
            listener.offer(b"".join(map(format_event, batch)), self._last)


@dataclass
class _PollState:
    """What the thread remembers between two polls."""

    version: int = -1
    moved: bool = True  # something happened since the last status
    busy: bool = False  # something is running or paused, so the status can change without a commit
    status_at: float = float("-inf")
    stale_at: float = float("-inf")
    stale_before: str | None = None
    workers_at: float = float("-inf")
    workers: object = None


def format_event(event: events.Event) -> bytes:
    """Format an event for a stream. JSON escapes line ends, so a file name cannot end the event."""
    id_, at, type_, path, digester, status, detail = event
    short = detail[:MAX_DETAIL_CHARS] if detail else detail
    data = json.dumps({"at": at, "path": path, "digester": digester, "status": status, "detail": short})
    return f"id: {id_}\nevent: {type_}\ndata: {data}\n\n".encode()


def format_stale(path: str) -> bytes:
    """Format a message about a stale document. It is not a stored event, so it has no id to resume from."""
    data = {"at": iso(datetime.now(UTC)), "path": path, "digester": None, "status": "stale", "detail": None}
    return f"event: document\ndata: {json.dumps(data)}\n\n".encode()


def format_status(status: dict[str, Any]) -> bytes:
    return f"event: status\ndata: {json.dumps(status)}\n\n".encode()


def format_reset(last: int) -> bytes:
    """Format a message that makes listeners reload everything, because they have missed something."""
    return f"id: {last}\nevent: reset\ndata: {{}}\n\n".encode()
