"""A vault and the chyme that runs on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from local_web import LocalWeb
from running_chyme import RunningChyme


@pytest.fixture
def chyme(tmp_path: Path) -> Iterator[RunningChyme]:
    running = RunningChyme(tmp_path)
    try:
        yield running
    finally:
        orphans = running.close()
    assert not orphans, f"children outlived chyme: {orphans}"


@pytest.fixture
def web(chyme: RunningChyme) -> Iterator[LocalWeb]:
    """A web on loopback whose pages chyme may fetch, without a browser."""
    with LocalWeb() as local:
        chyme.settings |= {
            "CHYME_CRAWL": "true",
            "CHYME_WEB_ALLOW": local.host,
            "CHYME_WEB_DELAY": "0",
            "CHYME_BROWSER": "off",
        }
        yield local
