"""Opens vaults for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from watching import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    """A vault that is scanned on request; every file in it counts as unchanging."""
    opened = Folder(tmp_path / "vault")
    yield opened
    opened.close()


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Folder]:
    """A vault that is being watched."""
    opened = Folder(tmp_path / "vault", still=False)
    opened.watch()
    yield opened
    opened.close()
