"""Fixtures of the search tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from keyword_vault import Shelf, open_database
from semantic_vault import MeaningShelf


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    db = open_database(tmp_path / "vault.db")
    yield Shelf(db)
    db.close()


@pytest.fixture
def meant(tmp_path: Path) -> Iterator[MeaningShelf]:
    db = open_database(tmp_path / "meant.db")
    yield MeaningShelf(db)
    db.close()
