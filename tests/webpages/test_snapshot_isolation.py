"""Work in a forked process is limited by its CPU time, not by how busy the machine is."""

from __future__ import annotations

import time

import pytest

from chyme.webpages.snapshot.parser_process import run_in_fork

pytestmark = pytest.mark.slow  # each is a little slow, and they are many


def test_work_that_has_to_wait_is_not_lost() -> None:
    def wait() -> bytes:
        time.sleep(2.0)  # like on a machine that is busy with something else
        return b"done"

    assert run_in_fork(wait, 1.0, 100) == b"done"


def test_endless_work_is_ended() -> None:
    def burn() -> bytes:
        while True:
            pass

    assert run_in_fork(burn, 1.0, 100) is None


def test_a_result_over_the_limit_is_dropped() -> None:
    assert run_in_fork(lambda: b"x" * 100, 60.0, 100) == b"x" * 100
    assert run_in_fork(lambda: b"x" * 101, 60.0, 100) is None
