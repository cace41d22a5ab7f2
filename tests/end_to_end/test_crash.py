"""A killed chyme loses nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]


@pytest.mark.slow
def test_killed_at_any_moment_the_vault_ends_as_if_undisturbed() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "bench.crash", "--kills", "12"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
    )

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "nothing is lost" in ended.stdout
