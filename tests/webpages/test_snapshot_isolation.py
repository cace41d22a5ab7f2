"""Work done apart is bounded by what it costs, not by how busy the machine is."""

from __future__ import annotations

import time

import pytest

from chyme.webpages.snapshot.parser_process import run_in_fork

pytestmark = pytest.mark.slow  # a little each, and they are many


def test_work_that_had_to_wait_is_not_lost() -> None:
    def wait() -> bytes:
        time.sleep(2.0)  # as on a machine that does something else meanwhile
        return b"done"

    assert run_in_fork(wait, 1.0, 100) == b"done"


def test_work_without_end_is_ended() -> None:
    def burn() -> bytes:
        while True:
            pass

    assert run_in_fork(burn, 1.0, 100) is None


def test_more_than_allowed_is_not_taken() -> None:
    assert run_in_fork(lambda: b"x" * 100, 60.0, 100) == b"x" * 100
    assert run_in_fork(lambda: b"x" * 101, 60.0, 100) is None
