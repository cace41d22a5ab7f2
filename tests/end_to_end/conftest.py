"""A vault and the chyme that runs on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from running_chyme import RunningChyme


@pytest.fixture
def chyme(tmp_path: Path) -> Iterator[RunningChyme]:
    running = RunningChyme(tmp_path)
    try:
        yield running
    finally:
        orphans = running.close()
    assert not orphans, f"children outlived chyme: {orphans}"
