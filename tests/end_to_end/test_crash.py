"""A killed chyme loses nothing."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import warm_start

from bench.crash import Victim, examine, told

pytestmark = pytest.mark.slow

KILLS = 12


def test_kills_at_any_moment_leave_the_vault_as_if_undisturbed(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    victim = Victim(tmp_path, seed, warm_start.start, quick=True)  # `make soak` also has recordings and scans
    while sum(victim.kills.values()) < KILLS:
        victim.kill_once()
    assert examine(victim) == [], f"seed {seed}: {told(victim, 0)}"
