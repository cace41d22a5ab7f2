"""Fixtures of the search tests."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from keyword_vault import Shelf, open_database
from semantic_vault import MeaningShelf

from chyme.core.store.sqlite.database import Database, connect


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """An empty vault's database."""
    Database(tmp_path).close()
    db = connect(tmp_path / "vault.db")
    yield db
    db.close()


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
