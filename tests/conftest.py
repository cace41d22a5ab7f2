"""What every test may ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
CORPUS = PROJECT / "../shared/corpus"


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real files that lies beside the project; the test is skipped where it is missing."""
    if not CORPUS.is_dir():
        pytest.skip(f"needs the corpus of real files, and {CORPUS} is not there")
    return CORPUS.resolve()
