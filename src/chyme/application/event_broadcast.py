"""What happens in a vault, told to everybody who listens: read once, however many they are."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from chyme.core.store import events
from chyme.core.store.sqlite.database import Database
from chyme.errors import VaultError
from chyme.model import iso

log = logging.getLogger(__name__)

MOST_LISTENERS = 200
MOST_OF_ONE = 20  # so that nobody alone takes all the places
MOST_PENDING = 1 << 20  # bytes for one listener; whoever is slower than that is told to look anew
MOST_BEHIND = 2000  # events after which looking anew is quicker than hearing of each
BATCH = 1000
GATHER_SECONDS = 0.1  # between two looks, so that a burst is told in few words
GATHER_EACH = 0.004  # more for each listener: what a burst costs is how often it is told, times to how many
POLL_SECONDS = 0.25  # for what other processes do
STATUS_SECONDS = 1.0
STALE_LOOK_SECONDS = 5.0  # between two looks for what stands still: nothing is written then, so nobody else tells
MOST_STALE = 100  # more at once are told by asking everybody to look anew
LONGEST_DETAIL = 1000
RETRY_MS = 2000


class Listener:
    """One who listens: filled by the broadcaster's thread, emptied by the loop it was made in."""

    def __init__(self, after: int | None, who: str | None = None) -> None:
        self.after = after
        self.user = who
        self.left = False  # it went before it was welcomed
        self.status = b""  # the last one it was sent
        self._loop = asyncio.get_running_loop()
        self._guard = threading.Lock()
        self._pending: list[bytes] = []
        self._size = 0
        self._woken = asyncio.Event()
        self.ended = asyncio.Event()

    def offer(self, told: bytes, last: int) -> None:
        """Called by the thread. Never waits, and keeps no more than MOST_PENDING."""
        with self._guard:
            idle = not self._pending
            self._pending.append(told)
            self._size += len(told)
            if self._size > MOST_PENDING:
                self._pending = [format_reset(last)]
                self._size = len(self._pending[0])
        if idle:
            self._call(self._woken.set)

    def end(self) -> None:
        """Called by the thread, or by whoever closes the vault."""
        self._call(self.ended.set)

    def _call(self, what: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(what)
        except RuntimeError:  # its loop is closed: nobody is there any more
            log.debug("a listener's loop has gone")

    async def receive(self, seconds: float) -> bytes:
        """What came meanwhile, after at most so many seconds; nothing when nothing came."""
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return b""
        self._woken.clear()
        with self._guard:
            taken, self._pending, self._size = self._pending, [], 0
        return b"".join(taken)


class Broadcast:
    """One thread for each vault, from the first listener to the last.

    `changed` is set with every commit of this process; commits of others are noticed by SQLite's data_version. A vault
    that is gone, damaged or full is committed to by nobody: `pause_reason` is asked at every look.
    """

    def __init__(
        self,
        database: Database,
        changed: threading.Event,
        status: Callable[[], dict[str, Any]],
        stale_since: Callable[[str | None, int], tuple[str, list[str]]],
        pause_reason: Callable[[], str | None],
    ) -> None:
        self._database = database
        self._changed = changed
        self._status = status
        self._stale_since = stale_since
        self._pause_reason = pause_reason
        self._guard = threading.Lock()
        self._here: set[Listener] = set()  # from coming to leaving
        self._listeners: set[Listener] = set()
        self._newcomers: list[Listener] = []
        self._thread: threading.Thread | None = None
        self._closed = False
        self._last = 0  # the newest event that was told
        self.reads = 0  # batches of events, for those who wonder what listeners cost

    @property
    def listeners(self) -> int:
        with self._guard:
            return len(self._here)

    def newest_event_id(self) -> int:
        """The last event there is: a page that is made now and listens after this one misses nothing."""
        return events.id_range(self._database.read())[1]

    def listen(self, after: int | None = None, who: str | None = None) -> Listener:
        """Hear what happens from now on, or after this event. Must be left again. Called in an event loop.

        `who` is counted as one; without it nobody is told apart.
        """
        with self._guard:
            if self._closed:
                raise VaultError("the vault is being closed")
            if len(self._here) >= MOST_LISTENERS:
                raise VaultError(f"{MOST_LISTENERS} listen to this vault already; try again when one has gone")
            if who is not None and sum(one.user == who for one in self._here) >= MOST_OF_ONE:
                raise VaultError(f"you listen {MOST_OF_ONE} times already; close a page that you do not need")
            listener = Listener(after, who)
            self._here.add(listener)
            self._newcomers.append(listener)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="chyme-broadcast", daemon=True)
                self._thread.start()
        self._changed.set()
        return listener

    def leave(self, listener: Listener) -> None:
        with self._guard:
            listener.left = True
            self._here.discard(listener)
            self._listeners.discard(listener)
            if listener in self._newcomers:
                self._newcomers.remove(listener)
        self._changed.set()

    def stop(self) -> None:
        """Everybody goes home, and nobody comes in any more. Does not wait."""
        with self._guard:
            self._closed = True
            everybody = list(self._here)
        for listener in everybody:
            listener.end()
        self._changed.set()

    def close(self) -> None:
        """The same. Returns when nothing is read any more."""
        self.stop()
        with self._guard:
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        watch = _Watch()
        while True:
            self._changed.wait(POLL_SECONDS)
            self._changed.clear()
            with self._guard:
                if self._closed or not (self._listeners or self._newcomers):
                    self._thread = None
                    return
                newcomers, self._newcomers = self._newcomers, []
            try:
                self._look(watch, newcomers)
            except (sqlite3.Error, VaultError) as error:
                self._database.log_failure(log, "what happens in the vault cannot be told", error)
                self._wait_again(newcomers)
                with contextlib.suppress(sqlite3.Error, VaultError):  # logged above; the status says why, where it can
                    self._report_status(watch, newcomers)
                time.sleep(POLL_SECONDS)
            except Exception:  # listeners would wait in silence; they come back and start it anew
                log.exception("what happens in the vault cannot be told")
                self._send_home()
            time.sleep(GATHER_SECONDS + GATHER_EACH * min(self.listeners, 100))

    def _wait_again(self, newcomers: list[Listener]) -> None:
        """Those who were not welcomed come with the next look."""
        with self._guard:
            self._newcomers[:0] = [one for one in newcomers if one in self._here and one not in self._listeners]

    def _send_home(self) -> None:
        with self._guard:
            everybody = list(self._here)
            self._listeners.clear()
            self._newcomers.clear()
        for listener in everybody:
            listener.end()

    def _look(self, watch: _Watch, newcomers: list[Listener]) -> None:
        db = self._database.read()
        with self._guard:
            alone = not self._listeners
        if alone:  # nobody was told of what came since the last one left
            self._last = events.id_range(db)[1]
            watch.version, watch.stale_before = -1, None
        version = db.execute("PRAGMA data_version").fetchone()[0]
        if version != watch.version:
            watch.moved = True
            self._tell_new(db)
            watch.version = version  # behind it: what could not be told is told at the next look
        for listener in newcomers:
            self._welcome(db, listener)
        moment = time.monotonic()
        if moment - watch.stale_at >= STALE_LOOK_SECONDS:
            watch.stale_before, stale = self._stale_since(watch.stale_before, MOST_STALE)
            watch.stale_at = moment
            self._tell_stale(stale)
        may_differ = watch.moved or watch.busy or self._pause_reason() is not None
        if newcomers or (may_differ and moment - watch.told_at >= STATUS_SECONDS):
            self._report_status(watch, newcomers)

    def _report_status(self, watch: _Watch, newcomers: list[Listener]) -> None:
        """Send the status to those who have another one, or none. Newcomers may not have been welcomed yet."""
        status = self._status()
        fresh = format_status(status)
        with self._guard:
            everybody = self._listeners.union(newcomers)
        for listener in everybody:
            if listener.status != fresh:
                listener.status = fresh
                listener.offer(fresh, self._last)
        watch.moved, watch.told_at = False, time.monotonic()
        watch.busy = bool(status.get("running") or status.get("todo") or status.get("paused"))

    def _tell_new(self, db: sqlite3.Connection) -> None:
        while True:
            batch = events.list_after(db, self._last, BATCH)
            self.reads += 1
            if batch:
                self._last = batch[-1][0]
                self._offer_all(b"".join(map(format_event, batch)))
            if len(batch) < BATCH:
                return

    def _tell_stale(self, paths: list[str]) -> None:
        if len(paths) == MOST_STALE:
            self._offer_all(format_reset(self._last))
        elif paths:
            self._offer_all(b"".join(map(format_stale, paths)))

    def _offer_all(self, told: bytes, to: list[Listener] | None = None) -> None:
        if to is None:
            with self._guard:
                to = list(self._listeners)
        for listener in to:
            listener.offer(told, self._last)

    def _welcome(self, db: sqlite3.Connection, listener: Listener) -> None:
        """Bring a newcomer to where everybody is. Nothing is told meanwhile, so nothing is missed or told twice."""
        oldest, _ = events.id_range(db)
        after = self._last if listener.after is None else listener.after
        known = oldest - 1 <= after <= self._last and self._last - after <= MOST_BEHIND
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
            batch = [one for one in events.list_after(db, after, BATCH) if one[0] <= self._last]
            if not batch:
                return
            after = batch[-1][0]
            listener.offer(b"".join(map(format_event, batch)), self._last)


class _Watch:
    """What the thread remembers between two looks."""

    def __init__(self) -> None:
        self.version = -1
        self.moved = True  # something happened since the status was told
        self.busy = False  # something is under way or paused, so that the status changes without a commit
        self.told_at = float("-inf")
        self.stale_at = float("-inf")
        self.stale_before: str | None = None


def format_event(event: events.Event) -> bytes:
    """An event as a stream tells it. JSON leaves no line end in it, so that nothing in a name can end the event."""
    id_, at, type_, path, digester, status, detail = event
    short = detail[:LONGEST_DETAIL] if detail else detail
    data = json.dumps({"at": at, "path": path, "digester": digester, "status": status, "detail": short})
    return f"id: {id_}\nevent: {type_}\ndata: {data}\n\n".encode()


def format_stale(path: str) -> bytes:
    """A document that nothing has happened to: no event is kept of it, so it has no number to resume from."""
    data = {"at": iso(datetime.now(UTC)), "path": path, "digester": None, "status": "stale", "detail": None}
    return f"event: document\ndata: {json.dumps(data)}\n\n".encode()


def format_status(status: dict[str, Any]) -> bytes:
    return f"event: status\ndata: {json.dumps(status)}\n\n".encode()


def format_reset(last: int) -> bytes:
    """Whoever hears this has missed something and looks at everything anew."""
    return f"id: {last}\nevent: reset\ndata: {{}}\n\n".encode()
