"""Talks to Chromium over two pipes: JSON messages that end with a NUL, responses and events mixed.

One thread, no locks: waiting for a response also handles the events that arrive meanwhile, and checks the time.
"""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

MESSAGE_BYTES = 48 << 20  # of one message: the screenshot of the longest page takes about 10 MB
CHUNK = 1 << 18
TICK_SECONDS = 0.1
END = b"\0"

Message = Mapping[str, Any]
EventHandler = Callable[[str, str, Message], None]  # session, name of the event, its parameters


class BrowserDisconnected(Exception):
    """Chromium has closed its pipe, or sends nonsense."""


class CommandFailed(Exception):
    """Chromium did not carry out the command; the message says why."""


class DeadlineExceeded(Exception):
    """The deadline passed."""


class Pipe:
    """Our ends of the pipes for commands and responses; this object owns both."""

    def __init__(self, responses: int, commands: int, max_bytes: int = MESSAGE_BYTES) -> None:
        self.on_event: EventHandler = lambda _session, _event, _parameters: None
        self.on_tick: Callable[[], None] = lambda: None  # called at least ten times a second while we wait
        self._responses = responses
        self._commands = commands
        self._max_bytes = max_bytes
        self._inbox = bytearray()
        self._searched_bytes = 0
        self._skipping = False
        self._outbox = bytearray()
        self._last_id = 0
        self._pending: dict[int, Message] = {}
        self._last_tick = 0.0
        os.set_blocking(responses, False)
        os.set_blocking(commands, False)

    def close(self) -> None:
        for fd in (self._responses, self._commands):
            with suppress(OSError):
                os.close(fd)

    def send(self, method: str, session: str = "", **parameters: Any) -> int:
        """Send a command without waiting for its response, which is ignored."""
        self._last_id += 1
        message: dict[str, Any] = {"id": self._last_id, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        self._outbox += json.dumps(message).encode() + END
        return self._last_id

    def call(self, method: str, deadline: float, session: str = "", **parameters: Any) -> Message:
        """Send a command and return its result; raises CommandFailed, DeadlineExceeded, BrowserDisconnected."""
        number = self.send(method, session, **parameters)
        self._pending[number] = {}
        try:
            while not self._pending[number]:
                self.process_events(deadline)
            response = self._pending[number]
        finally:
            del self._pending[number]
        if "error" in response:
            raise CommandFailed(f"{method}: {response['error'].get('message', 'failed')}")
        result = response.get("result")
        return result if isinstance(result, dict) else {}

    def process_events(self, deadline: float) -> None:
        """Write and read for a moment: at most until something has arrived, and never past the deadline."""
        now = time.monotonic()
        if now - self._last_tick >= TICK_SECONDS:
            self._last_tick = now
            self.on_tick()
        if now >= deadline:
            raise DeadlineExceeded
        writing = [self._commands] if self._outbox else []
        readable, writable, _ = select.select([self._responses], writing, [], min(TICK_SECONDS, deadline - now))
        if writable:
            self._write()
        if readable:
            self._read()

    def _write(self) -> None:
        try:
            written = os.write(self._commands, self._outbox[:CHUNK])
        except BlockingIOError:
            return
        except OSError:
            raise BrowserDisconnected from None
        del self._outbox[:written]

    def _read(self) -> None:
        try:
            data = os.read(self._responses, CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            raise BrowserDisconnected
        self._inbox += data
        while (end := self._inbox.find(END, self._searched_bytes)) >= 0:
            message = bytes(self._inbox[:end])
            del self._inbox[: end + 1]
            self._searched_bytes = 0
            if not self._skipping:
                self._deliver(message)
            self._skipping = False
        self._searched_bytes = len(self._inbox)
        if self._searched_bytes > self._max_bytes:  # a huge event: skip it, and go on with the next message
            self._inbox.clear()
            self._searched_bytes, self._skipping = 0, True

    def _deliver(self, data: bytes) -> None:
        try:
            message = json.loads(data)
        except (ValueError, RecursionError):
            raise BrowserDisconnected from None
        if not isinstance(message, dict):
            raise BrowserDisconnected
        number = message.get("id")
        if number is None:
            self.on_event(message.get("sessionId", ""), message.get("method", ""), message.get("params") or {})
        elif number in self._pending:
            self._pending[number] = message
