"""The door between children and the guard: children ask here, and are handed connections that were checked."""

from __future__ import annotations

import logging
import math
import os
import selectors
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass

from chyme.core.outbound.guard import Guard
from chyme.core.outbound.policy import HIGHEST_PORT
from chyme.core.outbound.rate_limits import LONGEST_HOLD
from chyme.core.outbound.socket_messages import KIND, MOST_BYTES, message_of, receive, send
from chyme.errors import AddressRefused, ChymeError, DigestError, NetworkFailed

AT_ONCE = 48  # requests answered at a time, for all children together
EACH = 32  # and for one of them; a browser opens no more at a time through a proxy
MOST_NONSENSE = 32  # in a row; then the door stays shut for that child
MOST_MESSAGE = 500  # characters of an error, each up to six bytes long
SLACK_SECONDS = 5.0
CLOSE_SECONDS = 2.0

log = logging.getLogger(__name__)


@dataclass(eq=False)
class _Visitor:
    """The door's end of the line to one child."""

    sock: socket.socket
    busy: int = 0
    nonsense: int = 0
    listened_to: bool = False


class ConnectionServer:
    """One thread hears the children, short-lived ones answer. A child may have become anything: nothing is believed."""

    def __init__(self, guard: Guard) -> None:
        self.seconds = 2 * guard.seconds + SLACK_SECONDS  # how long a child should wait for an answer
        self._guard = guard
        self._lock = threading.Lock()
        self._closed = False
        self._busy = 0
        self._visitors: set[_Visitor] = set()
        self._answering: set[threading.Thread] = set()
        self._selector = selectors.DefaultSelector()
        self._bell, self._clapper = socket.socketpair()
        for end in (self._bell, self._clapper):
            end.setblocking(False)
        self._selector.register(self._bell, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run, name="chyme-door", daemon=True)
        self._thread.start()

    def add_child(self) -> socket.socket:
        """The end for one more child, to be inherited by it and then closed here."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, KIND)
        ours.setblocking(False)
        with self._lock:
            if not self._closed:
                self._visitors.add(_Visitor(ours))
                self._ring()
                return theirs
        ours.close()
        theirs.close()
        raise ChymeError("chyme is shutting down; nothing more is fetched")

    def close(self) -> None:
        """Hear nobody any more. Requests under way end by their own time limits, and hand over nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._ring()
        self._thread.join()
        deadline = time.monotonic() + CLOSE_SECONDS
        with self._lock:
            answering = list(self._answering)
        for thread in answering:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _ring(self) -> None:
        with suppress(OSError):  # full: it will be heard anyway; closed: nobody is there
            self._clapper.send(b"!")

    def _run(self) -> None:
        try:
            while not self._closed:
                self._listen_to_some()
                for key, _ in self._selector.select():
                    if key.data is None:
                        with suppress(BlockingIOError):
                            self._bell.recv(4096)
                    else:
                        self._hear(key.data)
        finally:
            with self._lock:
                self._closed = True
                for visitor in self._visitors:
                    visitor.sock.close()
                self._visitors.clear()
                self._selector.close()
                self._bell.close()
                self._clapper.close()

    def _listen_to_some(self) -> None:
        """Whoever has too much under way is left waiting; so are all, when all together have."""
        with self._lock:
            visitors, room = list(self._visitors), self._busy < AT_ONCE
        for visitor in visitors:
            wanted = room and visitor.busy < EACH
            if wanted and not visitor.listened_to:
                self._selector.register(visitor.sock, selectors.EVENT_READ, visitor)
            elif visitor.listened_to and not wanted:
                self._selector.unregister(visitor.sock)
            visitor.listened_to = wanted

    def _hear(self, visitor: _Visitor) -> None:
        try:
            data, fds, whole = receive(visitor.sock, MOST_BYTES, 1)
        except BlockingIOError:
            return
        except OSError:
            data, fds, whole = b"", [], False
        if (not data and not fds) or visitor.nonsense >= MOST_NONSENSE:
            self._hang_up(visitor)
            _drop(fds)
            return
        # Even to close a stranger's descriptor may take its time, so it happens there, too.
        thread = threading.Thread(target=self._serve, args=(visitor, data, fds, whole), name="chyme-door-answer")
        thread.daemon = True
        with self._lock:
            visitor.busy += 1
            self._busy += 1
            self._answering.add(thread)
        try:
            thread.start()
        except RuntimeError:  # no more threads
            self._done(visitor, thread)
            _drop(fds)

    def _hang_up(self, visitor: _Visitor) -> None:
        if visitor.listened_to:
            self._selector.unregister(visitor.sock)
        with self._lock:
            self._visitors.discard(visitor)
        visitor.sock.close()

    def _serve(self, visitor: _Visitor, data: bytes, fds: list[int], whole: bool) -> None:
        try:
            reply = _reply_socket(fds)
            if reply is None:
                visitor.nonsense += 1
                return
            with reply:
                sense = whole and self._answer(data, reply)
            visitor.nonsense = 0 if sense else visitor.nonsense + 1
        except Exception:
            log.warning("a request at the door could not be answered", exc_info=True)
        finally:
            self._done(visitor, threading.current_thread())

    def _done(self, visitor: _Visitor, thread: threading.Thread) -> None:
        with self._lock:
            visitor.busy -= 1
            self._busy -= 1
            self._answering.discard(thread)
            self._ring()

    def _answer(self, data: bytes, reply: socket.socket) -> bool:
        """Whether it was a request at all."""
        match message_of(data):
            case {"ask": "connect", "host": str(host), "port": int(port), "polite": bool(polite)} if _port(port):
                self._connect(reply, host, port, polite)
            case {"ask": "hold", "host": str(host), "seconds": int(seconds) | float(seconds)} if _wait(seconds):
                self._guard.hold(host, seconds)
                _tell(reply, {})
            case _:
                return False
        return True

    def _connect(self, reply: socket.socket, host: str, port: int, polite: bool) -> None:
        try:
            sock = self._guard.connect(host, port, polite)
        except DigestError as error:
            _tell(reply, _told(error))
            return
        except Exception:
            _tell(reply, _told(NetworkFailed("the guard failed")))
            raise
        with sock:
            if not self._closed:
                _tell(reply, {}, sock.fileno())


def _reply_socket(fds: list[int]) -> socket.socket | None:
    """The socket to answer on, if it is of the kind we hand out and leads to no service of this machine."""
    if not fds:
        return None
    try:
        sock = socket.socket(fileno=fds[0])
    except OSError:
        _drop(fds)
        return None
    try:
        if sock.family == socket.AF_UNIX and sock.type == KIND and not sock.getpeername():
            return sock
    except OSError:
        pass  # not connected to anything
    sock.close()
    return None


def _drop(fds: list[int]) -> None:
    for fd in fds:
        with suppress(OSError):
            os.close(fd)


def _port(port: int) -> bool:
    return not isinstance(port, bool) and 0 < port <= HIGHEST_PORT


def _wait(seconds: float) -> bool:
    return not isinstance(seconds, bool) and math.isfinite(seconds) and 0 <= seconds <= LONGEST_HOLD


def _told(error: DigestError) -> dict[str, object]:
    return {
        "category": error.category,
        "refused": isinstance(error, AddressRefused),
        "message": str(error)[:MOST_MESSAGE],
        "retry_after": error.retry_after,
        "tried": error.tried,
    }


def _tell(reply: socket.socket, message: dict[str, object], *fds: int) -> None:
    """Say it if somebody listens; wait for nobody."""
    with suppress(OSError):
        send(reply, message, fds, socket.MSG_DONTWAIT)
