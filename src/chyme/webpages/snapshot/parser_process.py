"""Runs a parser in a copy of this process, which may run out of time or memory without harming this one."""

from __future__ import annotations

import atexit
import faulthandler
import gc
import math
import os
import pickle
import resource
import signal
import socket
import struct
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import NoReturn

MEMORY_BYTES = 5 << 28  # on top of what the process has mapped already
MAX_GROWTH = 64 << 20  # of what it has mapped since it started; a copy that has grown more is replaced
CHUNK = 1 << 20
WALL_FACTOR = 5
PAGE = os.sysconf("SC_PAGE_SIZE")
_REQUEST = struct.Struct("<Qd")  # the size of the work, and the seconds that it may take
_RESULT = struct.Struct("<Q?")  # the size of the result, and whether the copy takes more work


@cache
def parser_process() -> ParserProcess:
    """Return the copy of this process that parses pages; it starts with its first page and ends with this process."""
    instance = ParserProcess()
    atexit.register(instance.close)
    return instance


class ParserProcess:
    """One copy at a time, replaced when it dies, fails, grows or has to be ended.

    A fork and not a new program, because it needs no right to read Python's files again. It is reused, because making
    and ending a copy costs many times more than parsing a page. It keeps nothing of this process open.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sock: socket.socket | None = None
        self._pid = 0

    def run(self, work: Callable[[], bytes], seconds: float, max_bytes: int) -> bytes | None:
        """Return what `work` returns; None if it fails, takes more than `seconds` of CPU time or too much memory, or
        returns more than `max_bytes`. The wall clock is only a safety net: on a loaded machine it says nothing about
        the work.

        `work` travels pickled. It must neither take locks of other threads nor touch open files of this process.
        """
        request = pickle.dumps(work, pickle.HIGHEST_PROTOCOL)
        with self._lock:
            sock = self._ensure_started()
            again = False
            try:
                deadline = time.monotonic() + seconds * WALL_FACTOR
                sock.settimeout(seconds * WALL_FACTOR)
                sock.sendall(_REQUEST.pack(len(request), seconds) + request)
                size, again = _RESULT.unpack(_receive(sock, _RESULT.size, deadline))
                if size > max_bytes:
                    again = False
                    return None
                return _receive(sock, size, deadline)
            except OSError:  # it has ended, or is too slow
                again = False
                return None
            finally:
                if not again:
                    self._end()

    def close(self) -> None:
        with self._lock:
            self._end()

    def _ensure_started(self) -> socket.socket:
        if self._sock is not None and not self._has_ended():
            return self._sock
        self._end()
        ours, theirs = socket.socketpair()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn about forks with threads
            self._pid = os.fork()
        if self._pid == 0:
            _serve_and_exit(theirs)
        theirs.close()
        self._sock = ours
        return ours

    def _has_ended(self) -> bool:
        """Whether the copy is gone: the kernel may end it between two pages, if memory is short."""
        try:
            return os.waitpid(self._pid, os.WNOHANG)[0] != 0
        except ChildProcessError:  # others in this process wait for all of its children
            return True

    def _end(self) -> None:
        if self._sock is None:
            return
        self._sock.close()
        self._sock = None
        if not self._has_ended():  # otherwise its number may be another's
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(self._pid, 0)


def _receive(sock: socket.socket, size: int, deadline: float | None = None) -> bytes:
    """Return exactly this many bytes; raises OSError if they do not come, or not in time."""
    data = bytearray()
    while len(data) < size:
        if deadline is not None:
            sock.settimeout(max(0.001, deadline - time.monotonic()))
        piece = sock.recv(min(CHUNK, size - len(data)))
        if not piece:
            raise ConnectionResetError
        data += piece
    return bytes(data)


def _serve_and_exit(sock: socket.socket) -> NoReturn:
    """Work until the other end is closed or something fails: then there is no result."""
    try:
        _close_all_but(sock.fileno())
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        faulthandler.disable()  # running out of memory is an expected end: report nothing
        gc.freeze()  # collecting garbage would write to the memory that is shared with the other process
        mapped = _mapped_bytes()
        most = resource.getrlimit(resource.RLIMIT_AS)[0]  # of the task for which it was started
        again = True
        while again:
            size, seconds = _REQUEST.unpack(_receive(sock, _REQUEST.size))
            request = _receive(sock, size)
            signal.alarm(int(seconds * WALL_FACTOR) + 1)  # in case the other process cannot end it
            _limit_cpu(seconds)
            _limit(resource.RLIMIT_AS, _lower(most, _mapped_bytes() + MEMORY_BYTES))
            result = pickle.loads(request)()  # from the process that this is a copy of
            signal.alarm(0)
            again = _mapped_bytes() - mapped <= MAX_GROWTH
            sock.sendall(_RESULT.pack(len(result), again) + result)
            del request, result
    finally:
        os._exit(0)


def _close_all_but(kept: int) -> None:
    """Keep nothing open that the other process has open: no file, no connection, no output."""
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        if descriptor > 2 and descriptor != kept:
            with suppress(OSError):  # the list itself is closed by now
                os.close(descriptor)


def _limit_cpu(seconds: float) -> None:
    """Limit the CPU time from now on; what earlier work took does not count."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _limit(resource.RLIMIT_CPU, math.ceil(used.ru_utime + used.ru_stime + seconds))


def _limit(which: int, wanted: int) -> None:
    hard = resource.getrlimit(which)[1]
    resource.setrlimit(which, (_lower(hard, wanted), hard))


def _lower(limit: int, wanted: int) -> int:
    return wanted if limit == resource.RLIM_INFINITY else min(limit, wanted)


def _mapped_bytes() -> int:
    with open("/proc/self/statm", "rb", buffering=0) as statm:
        return int(statm.read().split()[0]) * PAGE
