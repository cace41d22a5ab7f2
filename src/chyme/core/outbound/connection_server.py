"""The server between children and the guard: children ask here, and receive connections that were checked."""

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
from chyme.core.outbound.socket_messages import KIND, MAX_BYTES, message_of, receive, send
from chyme.errors import AddressRefused, ChymeError, DigestError, NetworkFailed

MAX_REQUESTS = 48  # requests answered at a time, for all children together
MAX_REQUESTS_PER_CHILD = 32  # for one child; a browser opens no more at a time through a proxy
MAX_INVALID_REQUESTS = 32  # in a row; then the child is disconnected
MAX_MESSAGE = 500  # characters of an error, each up to six bytes long
SLACK_SECONDS = 5.0
CLOSE_SECONDS = 2.0

log = logging.getLogger(__name__)


@dataclass(eq=False)
class _ChildLine:
    """The server's end of the line to one child."""

    sock: socket.socket
    busy: int = 0
    invalid_requests: int = 0
    is_registered: bool = False


class ConnectionServer:
    """One thread receives requests, short-lived threads answer. A child may be compromised: nothing it sends is
    trusted."""

    def __init__(self, guard: Guard) -> None:
        self.seconds = 2 * guard.seconds + SLACK_SECONDS  # how long a child should wait for an answer
        self._guard = guard
        self._lock = threading.Lock()
        self._closed = False
        self._busy = 0
        self._lines: set[_ChildLine] = set()
        self._answering: set[threading.Thread] = set()
        self._selector = selectors.DefaultSelector()
        self._wake_receiver, self._wake_sender = socket.socketpair()
        for end in (self._wake_receiver, self._wake_sender):
            end.setblocking(False)
        self._selector.register(self._wake_receiver, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run, name="chyme-door", daemon=True)
        self._thread.start()

    def add_child(self) -> socket.socket:
        """The socket for one more child; the child inherits it, then it is closed here."""
        server_end, child_end = socket.socketpair(socket.AF_UNIX, KIND)
        server_end.setblocking(False)
        with self._lock:
            if not self._closed:
                self._lines.add(_ChildLine(server_end))
                self._wake()
                return child_end
        server_end.close()
        child_end.close()
        raise ChymeError("chyme is shutting down; nothing more is fetched")

    def close(self) -> None:
        """Accept no more requests. Running requests end by their own time limits, and hand over nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._wake()
        self._thread.join()
        deadline = time.monotonic() + CLOSE_SECONDS
        with self._lock:
            answering = list(self._answering)
        for thread in answering:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _wake(self) -> None:
        with suppress(OSError):  # full: the thread wakes up anyway; closed: it has ended
            self._wake_sender.send(b"!")

    def _run(self) -> None:
        try:
            while not self._closed:
                self._choose_lines()
                for key, _ in self._selector.select():
                    if key.data is None:
                        with suppress(BlockingIOError):
                            self._wake_receiver.recv(4096)
                    else:
                        self._receive_request(key.data)
        finally:
            with self._lock:
                self._closed = True
                for line in self._lines:
                    line.sock.close()
                self._lines.clear()
                self._selector.close()
                self._wake_receiver.close()
                self._wake_sender.close()

    def _choose_lines(self) -> None:
        """Stop reading from children with too many running requests, and from all when there are too many in total."""
        with self._lock:
            lines, room = list(self._lines), self._busy < MAX_REQUESTS
        for line in lines:
            wanted = room and line.busy < MAX_REQUESTS_PER_CHILD
            if wanted and not line.is_registered:
                self._selector.register(line.sock, selectors.EVENT_READ, line)
            elif line.is_registered and not wanted:
                self._selector.unregister(line.sock)
            line.is_registered = wanted

    def _receive_request(self, line: _ChildLine) -> None:
        try:
            data, fds, whole = receive(line.sock, MAX_BYTES, 1)
        except BlockingIOError:
            return
        except OSError:
            data, fds, whole = b"", [], False
        if (not data and not fds) or line.invalid_requests >= MAX_INVALID_REQUESTS:
            self._hang_up(line)
            _close_all(fds)
            return
        # Even closing a foreign descriptor may take time, so that happens in the thread, too.
        thread = threading.Thread(target=self._run_request, args=(line, data, fds, whole), name="chyme-door-answer")
        thread.daemon = True
        with self._lock:
            line.busy += 1
            self._busy += 1
            self._answering.add(thread)
        try:
            thread.start()
        except RuntimeError:  # no more threads
            self._finish_request(line, thread)
            _close_all(fds)

    def _hang_up(self, line: _ChildLine) -> None:
        if line.is_registered:
            self._selector.unregister(line.sock)
        with self._lock:
            self._lines.discard(line)
        line.sock.close()

    def _run_request(self, line: _ChildLine, data: bytes, fds: list[int], whole: bool) -> None:
        try:
            reply = _reply_socket(fds)
            if reply is None:
                line.invalid_requests += 1
                return
            with reply:
                valid = whole and self._answer(data, reply)
            line.invalid_requests = 0 if valid else line.invalid_requests + 1
        except Exception:
            log.warning("a child's request for a connection could not be answered", exc_info=True)
        finally:
            self._finish_request(line, threading.current_thread())

    def _finish_request(self, line: _ChildLine, thread: threading.Thread) -> None:
        with self._lock:
            line.busy -= 1
            self._busy -= 1
            self._answering.discard(thread)
            self._wake()

    def _answer(self, data: bytes, reply: socket.socket) -> bool:
        """Answer the request. Returns False when it was not a valid request."""
        match message_of(data):
            case {"ask": "connect", "host": str(host), "port": int(port), "polite": bool(polite)} if _is_port(port):
                self._connect(reply, host, port, polite)
            case {"ask": "hold", "host": str(host), "seconds": int(seconds) | float(seconds)} if _is_hold_time(seconds):
                self._guard.hold(host, seconds)
                _send_answer(reply, {})
            case _:
                return False
        return True

    def _connect(self, reply: socket.socket, host: str, port: int, polite: bool) -> None:
        try:
            sock = self._guard.connect(host, port, polite)
        except DigestError as error:
            _send_answer(reply, _encode_error(error))
            return
        except Exception:
            _send_answer(reply, _encode_error(NetworkFailed("the guard failed")))
            raise
        with sock:
            if not self._closed:
                _send_answer(reply, {}, sock.fileno())


def _reply_socket(fds: list[int]) -> socket.socket | None:
    """The socket to answer on, if it is of the kind we hand out and leads to no service of this machine."""
    if not fds:
        return None
    try:
        sock = socket.socket(fileno=fds[0])
    except OSError:
        _close_all(fds)
        return None
    try:
        if sock.family == socket.AF_UNIX and sock.type == KIND and not sock.getpeername():
            return sock
    except OSError:
        pass  # not connected to anything
    sock.close()
    return None


def _close_all(fds: list[int]) -> None:
    for fd in fds:
        with suppress(OSError):
            os.close(fd)


def _is_port(port: int) -> bool:
    return not isinstance(port, bool) and 0 < port <= HIGHEST_PORT


def _is_hold_time(seconds: float) -> bool:
    return not isinstance(seconds, bool) and math.isfinite(seconds) and 0 <= seconds <= LONGEST_HOLD


def _encode_error(error: DigestError) -> dict[str, object]:
    return {
        "category": error.category,
        "refused": isinstance(error, AddressRefused),
        "message": str(error)[:MAX_MESSAGE],
        "retry_after": error.retry_after,
        "tried": error.tried,
    }


def _send_answer(reply: socket.socket, message: dict[str, object], *fds: int) -> None:
    """Send the message if the other end listens; never wait."""
    with suppress(OSError):
        send(reply, message, fds, socket.MSG_DONTWAIT)
