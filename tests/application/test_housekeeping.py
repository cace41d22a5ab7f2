"""A periodic chore is repeated after it has failed."""

from __future__ import annotations

import logging
import threading

import pytest

from chyme.application.digestion import run_periodically
from chyme.errors import DiskFull


@pytest.mark.parametrize("error", [DiskFull("the disk is full"), RuntimeError("nobody thought of it")])
def test_a_chore_that_fails_is_repeated(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    stop, runs = threading.Event(), []

    def chore() -> None:
        runs.append(True)
        if len(runs) == 1:
            raise error
        stop.set()

    with caplog.at_level(logging.WARNING):
        run_periodically(chore, stop, 0.0)

    assert len(runs) == 2
    assert "housekeeping is put off" in caplog.text and str(error) in caplog.text
