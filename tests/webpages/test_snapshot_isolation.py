"""Parsing in another process is limited by its CPU time, not by how busy the machine is; a page costs no other."""

from __future__ import annotations

import os
import resource
import signal
import socket
import time
from collections.abc import Iterator
from functools import partial

import pytest

from chyme.webpages.snapshot.parser_process import MAX_GROWTH, ParserProcess

kept: list[bytes] = []


@pytest.fixture
def parser() -> Iterator[ParserProcess]:
    parser = ParserProcess()
    yield parser
    parser.close()


def process_id() -> bytes:
    return str(os.getpid()).encode()


def wait(seconds: float) -> bytes:
    time.sleep(seconds)
    return b"done"


def burn(seconds: float) -> bytes:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return b"done"


def fail() -> bytes:
    raise ValueError


def allocate(size: int) -> bytes:
    kept.append(b"\1" * size)
    return process_id()


def kill_itself() -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b""


def open_descriptors() -> bytes:
    return " ".join(os.listdir("/proc/self/fd")).encode()


def cpu_limit() -> bytes:
    return str(resource.getrlimit(resource.RLIMIT_CPU)[0]).encode()


@pytest.mark.slow
def test_work_that_has_to_wait_is_not_lost(parser: ParserProcess) -> None:
    assert parser.run(partial(wait, 2.0), 1.0, 100) == b"done"  # like on a machine that is busy with something else


@pytest.mark.slow
def test_endless_work_is_ended(parser: ParserProcess) -> None:
    assert parser.run(partial(burn, 1e9), 1.0, 100) is None


@pytest.mark.slow
def test_the_cpu_time_of_earlier_pages_does_not_count(parser: ParserProcess) -> None:
    assert parser.run(partial(burn, 1.5), 60.0, 100) == b"done"

    assert int(parser.run(cpu_limit, 60.0, 100) or 0) >= 62


def test_a_result_over_the_limit_is_dropped(parser: ParserProcess) -> None:
    assert parser.run(partial(bytes, 100), 60.0, 100) == bytes(100)
    assert parser.run(partial(bytes, 101), 60.0, 100) is None
    assert parser.run(partial(bytes, 100), 60.0, 100) == bytes(100)


def test_pages_share_a_process_that_is_not_this_one(parser: ParserProcess) -> None:
    first = parser.run(process_id, 60.0, 100)

    assert first is not None
    assert first != process_id()
    assert parser.run(process_id, 60.0, 100) == first


@pytest.mark.parametrize("work", [fail, kill_itself, partial(allocate, 1 << 40)])
def test_a_page_that_fails_costs_no_other_page(parser: ParserProcess, work: partial[bytes]) -> None:
    before = parser.run(process_id, 60.0, 100)

    assert parser.run(work, 60.0, 100) is None
    assert parser.run(process_id, 60.0, 100) not in (None, before)


def test_a_process_that_was_ended_between_two_pages_is_replaced(parser: ParserProcess) -> None:
    pid = parser.run(process_id, 60.0, 100)
    assert pid is not None
    os.kill(int(pid), signal.SIGKILL)
    os.waitid(os.P_PID, int(pid), os.WEXITED | os.WNOWAIT)

    assert parser.run(process_id, 60.0, 100) not in (None, pid)


def test_a_process_that_has_grown_is_replaced(parser: ParserProcess) -> None:
    grown = parser.run(partial(allocate, 2 * MAX_GROWTH), 60.0, 100)

    assert grown is not None
    assert parser.run(process_id, 60.0, 100) not in (None, grown)


def test_nothing_of_this_process_stays_open_in_the_other(parser: ParserProcess) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        opened = parser.run(open_descriptors, 60.0, 1000)

    assert opened is not None
    assert len(opened.split()) == 5  # three standard ones, the socket, and the list itself


def test_closing_ends_the_process(parser: ParserProcess) -> None:
    pid = parser.run(process_id, 60.0, 100)
    assert pid is not None

    parser.close()

    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)
