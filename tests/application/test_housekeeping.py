"""What is done again and again is done again after it has failed."""

from __future__ import annotations

import logging
import threading

import pytest

from chyme.application.digestion import run_periodically
from chyme.errors import DiskFull


@pytest.mark.parametrize("error", [DiskFull("the disk is full"), RuntimeError("nobody thought of it")])
def test_a_chore_that_fails_is_done_another_time(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    stop, done = threading.Event(), []

    def chore() -> None:
        done.append(True)
        if len(done) == 1:
            raise error
        stop.set()

    with caplog.at_level(logging.WARNING):
        run_periodically(chore, stop, 0.0)

    assert len(done) == 2
    assert "housekeeping is put off" in caplog.text and str(error) in caplog.text
