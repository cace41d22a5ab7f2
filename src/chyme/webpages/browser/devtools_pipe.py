"""Talk to Chromium over two pipes: JSON, each message ended by a NUL, answers and events as they come.

One thread, no locks: whoever waits for an answer also carries out what arrives meanwhile, and looks at the watch.
"""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

MESSAGE_BYTES = 48 << 20  # one message: a picture of the longest page is some 10 MB
CHUNK = 1 << 18
WATCH_SECONDS = 0.1
END = b"\0"

Message = Mapping[str, Any]
EventHandler = Callable[[str, str, Message], None]  # session, name of the event, its parameters


class BrowserDisconnected(Exception):
    """The other end has closed its pipe, or says what makes no sense."""


class CommandFailed(Exception):
    """Chromium did not do as it was told; the message says why."""


class DeadlineExceeded(Exception):
    """The deadline passed."""


class Pipe:
    """The commands' end and the answers' end; both belong to this object."""

    def __init__(self, answers: int, commands: int, most: int = MESSAGE_BYTES) -> None:
        self.hears: EventHandler = _nobody
        self.watches: Callable[[], None] = _nothing  # called at least ten times a second while we wait
        self._answers = answers
        self._commands = commands
        self._most = most
        self._inbox = bytearray()
        self._searched = 0
        self._skipping = False
        self._outbox = bytearray()
        self._number = 0
        self._awaited: dict[int, Message] = {}
        self._watched = 0.0
        os.set_blocking(answers, False)
        os.set_blocking(commands, False)

    def close(self) -> None:
        for fd in (self._answers, self._commands):
            with suppress(OSError):
                os.close(fd)

    def send(self, method: str, session: str = "", **parameters: Any) -> int:
        """Give a command without waiting for its answer, which nobody hears."""
        self._number += 1
        told: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session:
            told["sessionId"] = session
        self._outbox += json.dumps(told).encode() + END
        return self._number

    def call(self, method: str, deadline: float, session: str = "", **parameters: Any) -> Message:
        """Give a command and return its result, or CommandFailed, DeadlineExceeded, BrowserDisconnected."""
        number = self.send(method, session, **parameters)
        self._awaited[number] = {}
        try:
            while not self._awaited[number]:
                self.process_events(deadline)
            answer = self._awaited[number]
        finally:
            del self._awaited[number]
        if "error" in answer:
            raise CommandFailed(f"{method}: {answer['error'].get('message', 'failed')}")
        result = answer.get("result")
        return result if isinstance(result, dict) else {}

    def process_events(self, deadline: float) -> None:
        """Carry on for a moment: at most until something has arrived, and never past the deadline."""
        now = time.monotonic()
        if now - self._watched >= WATCH_SECONDS:
            self._watched = now
            self.watches()
        if now >= deadline:
            raise DeadlineExceeded
        writing = [self._commands] if self._outbox else []
        readable, writable, _ = select.select([self._answers], writing, [], min(WATCH_SECONDS, deadline - now))
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
            data = os.read(self._answers, CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            raise BrowserDisconnected
        self._inbox += data
        while (end := self._inbox.find(END, self._searched)) >= 0:
            message = bytes(self._inbox[:end])
            del self._inbox[: end + 1]
            self._searched = 0
            if not self._skipping:
                self._deliver(message)
            self._skipping = False
        self._searched = len(self._inbox)
        if self._searched > self._most:  # an event about something huge: without it, and with the next one again
            self._inbox.clear()
            self._searched, self._skipping = 0, True

    def _deliver(self, message: bytes) -> None:
        try:
            told = json.loads(message)
        except (ValueError, RecursionError):
            raise BrowserDisconnected from None
        if not isinstance(told, dict):
            raise BrowserDisconnected
        number = told.get("id")
        if number is None:
            self.hears(told.get("sessionId", ""), told.get("method", ""), told.get("params") or {})
        elif number in self._awaited:
            self._awaited[number] = told


def _nobody(_session: str, _event: str, _parameters: Message) -> None:
    return


def _nothing() -> None:
    return
