"""Opening a vault's database: migrations, copies before them, and what is refused."""

from __future__ import annotations

import contextlib
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from inspect import unwrap
from pathlib import Path
from typing import Any

import pytest
from embedded_files import add_file

from chyme.core.store.sqlite.damage import refuse_foreign
from chyme.core.store.sqlite.database import FILE_NAME, Database, _apply, connect, file_system_of, migrations
from chyme.errors import VaultError


def test_a_new_vault_has_todays_schema_and_the_promised_pragmas(tmp_path: Path) -> None:
    Database(tmp_path).close()
    db = unwrap(connect)(tmp_path / FILE_NAME)
    pragmas = {
        name: db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous", "foreign_keys")
    }
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}
    assert db.execute("PRAGMA user_version").fetchone()[0] == migrations()[-1][0]
    loose = db.execute(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND strict = 0"
        " AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '%_fts%'"
    ).fetchall()
    assert loose == []
    db.close()


def test_migrations_are_numbered_without_gaps() -> None:
    assert [number for number, _, _ in migrations()] == list(range(1, len(migrations()) + 1))


def test_an_older_vault_is_copied_aside_before_it_is_migrated(tmp_path: Path) -> None:
    number, name, script = migrations()[0]
    db = connect(tmp_path / FILE_NAME)
    _apply(db, number, name, script)
    db.execute("INSERT INTO marks VALUES ('kept', 'yes')")
    db.close()

    Database(tmp_path).close()

    copies = [path for path in tmp_path.glob("*.db") if path.name != FILE_NAME]
    assert copies and copies[0].name.startswith("vault.schema1.")
    with sqlite3.connect(copies[0]) as copy:
        assert copy.execute("SELECT value FROM marks").fetchone() == ("yes",)
    copy.close()


def test_a_failed_migration_is_undone(tmp_path: Path) -> None:
    db = connect(tmp_path / FILE_NAME)
    with pytest.raises(VaultError, match="undone"):
        _apply(db, 1, "0001_bad.sql", "CREATE TABLE a (x);\nCREATE TABLE a (x);\n")
    assert db.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    assert db.execute("PRAGMA user_version").fetchone() == (0,)
    db.close()


def test_a_newer_vault_is_refused_with_a_remedy(tmp_path: Path) -> None:
    Database(tmp_path).close()
    db = connect(tmp_path / FILE_NAME)
    db.execute("PRAGMA user_version = 999")
    db.close()
    with pytest.raises(VaultError, match="upgrade chyme"):
        Database(tmp_path)


def test_a_file_that_is_no_database_is_refused_with_an_explanation(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text("this is not a database, whatever its name says" * 100)
    with pytest.raises(VaultError, match="does not begin like a database"):
        Database(tmp_path)


def test_a_database_that_another_process_is_just_making_is_not_taken_for_a_damaged_one(tmp_path: Path) -> None:
    path = tmp_path / "vault.db"
    with contextlib.closing(connect(path)):
        pass

    class Slow(sqlite3.Connection):
        """Between two of its statements, another process makes the tables."""

        def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
            cursor = super().execute(sql, *parameters)
            if "user_version" in sql:
                found = cursor.fetchall()
                Database(tmp_path).close()
                return super().execute(f"SELECT {found[0][0]}")
            return cursor

    with contextlib.closing(sqlite3.connect(path, factory=Slow)) as db:
        refuse_foreign(db, path, "migrations")


def test_network_file_systems_are_known_by_their_mount() -> None:
    mounts = [("/", "ext4"), ("/mnt/team", "nfs4"), ("/mnt/team/local", "xfs")]
    assert file_system_of(Path("/mnt/team/vault"), mounts) == "nfs4"
    assert file_system_of(Path("/mnt/team/local/vault"), mounts) == "xfs"
    assert file_system_of(Path("/mnt/teammate"), mounts) == "ext4"


def test_readers_cannot_write(tmp_path: Path) -> None:
    database = Database(tmp_path)
    with pytest.raises(sqlite3.OperationalError):
        database.read().execute("INSERT INTO marks VALUES ('a', 'b')")
    database.close()


@pytest.mark.parametrize(
    "change",
    [
        "status = 'done'",
        "status = 'completed', settled = 0",
        "status = 'in-progress', settled = 0",
        "status = 'failed', settled = 1, error = 'why'",
        "status = 'todo', settled = 1",
        "attempts = -1",
    ],
)
def test_the_table_itself_refuses_states_outside_the_diagram(tmp_path: Path, change: str) -> None:
    database = Database(tmp_path)
    database.write(
        lambda db: db.execute(
            "INSERT INTO files"
            " (path, folder, name, kind, mime, size, mtime_ns, dev, inode, hash, created_at, updated_at)"
            " VALUES ('a', '', 'a', 'text', 'text/plain', 1, 1, '1', '1', 'h', 'now', 'now')"
        )
    )
    database.write(
        lambda db: db.execute(
            "INSERT INTO digests (id, file_id, file_path, digester, status, created_at, updated_at)"
            " VALUES ('d', 1, 'a', 'words', 'todo', 'now', 'now')"
        )
    )
    with pytest.raises(sqlite3.IntegrityError):
        database.write(lambda db: db.execute(f"UPDATE digests SET {change}"))
    database.close()


def test_due_digests_are_found_by_index(tmp_path: Path) -> None:
    database = Database(tmp_path)
    db = database.read()
    plan = db.execute(
        "EXPLAIN QUERY PLAN SELECT file_id FROM digests INDEXED BY digests_todo WHERE status = 'todo' AND held = 0"
        " GROUP BY priority, weight, file_id ORDER BY priority, weight, file_id LIMIT 10"
    ).fetchall()
    details = " ".join(row[3] for row in plan)
    assert "digests_todo" in details and "TEMP B-TREE" not in details
    database.close()


def test_a_search_digest_without_content_is_null_in_older_vaults_too(tmp_path: Path) -> None:
    db = connect(tmp_path / FILE_NAME)
    for number, name, script in migrations():
        if number < 10:
            _apply(db, number, name, script)
    file = add_file(db, "a")
    contents = {
        "search-keyword": '{"indexed": true, "passages": 0, "words": 0, "sources": []}',
        "search-semantic": '{"indexed": false, "passages": 0, "sources": [], "text_hash": "x", "model": "small"}',
        "tags": '{"passages": 0, "model": "small"}',
    }
    for name, content in contents.items():
        db.execute(
            """
            INSERT INTO digests (id, file_id, file_path, digester, status, settled, content, content_hash, created_at,
                                 updated_at)
            VALUES (:name, :file, 'a', :name, 'completed', 1, :content, 'h', 'now', 'now')
            """,
            {"file": file, "name": name, "content": content},
        )
    db.close()

    Database(tmp_path).close()
    db = connect(tmp_path / FILE_NAME)
    assert db.execute("SELECT digester, content, content_hash, embedder FROM digests ORDER BY digester").fetchall() == [
        ("search-keyword", None, None, None),
        ("search-semantic", None, None, "small"),
        ("tags", contents["tags"], "h", None),
    ]
    db.close()


def test_the_version_changes_with_every_commit_of_any_process_and_with_nothing_else(tmp_path: Path) -> None:
    with contextlib.closing(Database(tmp_path)) as database, contextlib.closing(connect(tmp_path / FILE_NAME)) as other:
        versions = [database.version(), database.version()]
        assert versions[0] == versions[1]
        database.read().execute("SELECT count(*) FROM files").fetchone()
        assert database.version() == versions[0]
        database.write(lambda db: db.execute("UPDATE digest_counts SET failed = failed + 1"))
        versions.append(database.version())
        other.execute("UPDATE digest_counts SET failed = failed + 1")
        versions.append(database.version())
        assert len(set(versions)) == 3
        with ThreadPoolExecutor(1) as threads:
            assert threads.submit(database.version).result() == versions[-1]
