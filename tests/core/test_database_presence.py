"""A write is acknowledged only if it is in the database at its path."""

from __future__ import annotations

import logging
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chyme.core.store import vault_properties
from chyme.core.store.sqlite.database import Database
from chyme.core.store.sqlite.presence import Presence
from chyme.errors import VaultGone


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    (tmp_path / "vault").mkdir()
    opened = Database(tmp_path / "vault/.chyme", root=tmp_path / "vault")
    yield opened
    opened.close()


def put(database: Database, value: str) -> None:
    database.write(lambda db: vault_properties.put(db, "mark", value))


def value_in(database: Database) -> str | None:
    return vault_properties.value_of(database.read(), "mark")


def test_a_write_while_the_folder_is_away_is_refused_and_undone(database: Database, tmp_path: Path) -> None:
    put(database, "before")
    (tmp_path / "vault/.chyme").rename(tmp_path / "away")
    with pytest.raises(VaultGone, match=r"vault\.db is gone"):
        put(database, "meanwhile")
    with pytest.raises(VaultGone):
        database.checkpoint()
    assert not (tmp_path / "vault/.chyme").exists()
    (tmp_path / "away").rename(tmp_path / "vault/.chyme")

    assert value_in(database) == "before"
    put(database, "after")
    assert value_in(database) == "after"


def test_a_commit_while_the_folder_goes_is_not_acknowledged(database: Database, tmp_path: Path) -> None:
    def go(db: sqlite3.Connection) -> None:
        vault_properties.put(db, "mark", "lost")
        (tmp_path / "vault").rename(tmp_path / "away")

    with pytest.raises(VaultGone, match="deleted, renamed or not mounted"):
        database.write(go)
    (tmp_path / "away").rename(tmp_path / "vault")
    assert value_in(database) is None


def test_another_database_at_the_path_is_neither_written_nor_read(database: Database, tmp_path: Path) -> None:
    put(database, "before")
    database.checkpoint()
    shutil.copytree(tmp_path / "vault/.chyme", tmp_path / "copy")
    (tmp_path / "vault/.chyme").rename(tmp_path / "away")
    (tmp_path / "copy").rename(tmp_path / "vault/.chyme")
    with pytest.raises(VaultGone, match="is not the database that chyme has opened"):
        put(database, "meanwhile")


def test_no_empty_database_is_made_in_place_of_a_missing_database(database: Database, tmp_path: Path) -> None:
    (tmp_path / "vault/.chyme/vault.db").rename(tmp_path / "vault.db")
    with pytest.raises(VaultGone):
        database.read()
    assert not (tmp_path / "vault/.chyme/vault.db").exists()
    (tmp_path / "vault.db").rename(tmp_path / "vault/.chyme/vault.db")
    assert value_in(database) is None


def test_closing_leaves_the_log_of_another_database_alone(tmp_path: Path) -> None:
    """It runs in its own process: a connection that is left open stays open until the process ends."""
    code = f"""
import sqlite3
from pathlib import Path
from chyme.core.store import vault_properties
from chyme.core.store.sqlite.database import Database
from chyme.core.store.sqlite.presence import Presence
root = Path({str(tmp_path)!r})
database = Database(root / "state")
database.write(lambda db: vault_properties.put(db, "mark", "ours"))
database.read().execute("SELECT 1 FROM marks").fetchone()
(root / "state").rename(root / "away")
(root / "state").mkdir()
other = sqlite3.connect(root / "state/vault.db", isolation_level=None)
other.execute("PRAGMA journal_mode = WAL")
other.execute("CREATE TABLE theirs (a)")
assert (root / "state/vault.db-wal").stat().st_size
database.close()
assert (root / "state/vault.db-wal").stat().st_size, "it took the log of another database away"
other.close()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_an_absence_is_logged_once_when_it_begins_and_once_when_it_ends(
    database: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "chyme.core.store.sqlite.presence")
    (tmp_path / "vault").rename(tmp_path / "away")
    for _ in range(5):
        assert database.presence.find_problem() is not None
    (tmp_path / "away").rename(tmp_path / "vault")
    for _ in range(5):
        assert database.presence.find_problem() is None

    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]


def test_a_folder_whose_status_cannot_be_read_is_gone(tmp_path: Path) -> None:
    (tmp_path / "vault.db").touch()
    # the name is too long: another error, as from a broken mount
    unreadable = Presence(tmp_path / "vault.db", tmp_path / ("x" * 300))

    with pytest.raises(VaultGone, match="is gone"):
        unreadable.require()
