"""Links, feeds and arrivals of a vault that is upgraded, backed up and restored; what a link refuses."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from described_vault import put

from chyme.application.app import App, open_app
from chyme.application.backup.creation import back_up
from chyme.application.backup.restore import restore_vault
from chyme.core.store.sqlite.database import FILE_NAME, Database, _apply, connect, migrations
from chyme.errors import NotFound, UsageError
from chyme.sharing.share_links import MAX_DAYS, MAX_FILES, PrivateFilesChosen


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    (tmp_path / "vault").mkdir()
    with open_app(tmp_path / "vault") as opened:
        yield opened


def test_a_restored_vault_has_no_open_link_and_no_feed(app: App, tmp_path: Path) -> None:
    file = put(app, "letter.txt", "words")
    made = app.shares.add([file.id], label="to Ada")
    search = app.saved_searches.save("Letters", "letter")
    feed = app.saved_searches.make_feed(search.id)
    archive = back_up(app.open_vault, app.settings, tmp_path / "vault.tar", with_files=True).archive
    restore_vault(*(archive, tmp_path / "again"), with_settings=False, with_server=False, replace=False, environment={})
    with open_app(tmp_path / "again") as restored:
        opened = restored.shares.find(made.secret)
        assert opened is not None and not opened.is_open  # it may have been ended after the backup was made
        (listed,) = restored.shares.list_all()
        assert (listed.label, listed.state, listed.paths) == ("to Ada", "restored", ("letter.txt",))
        (saved,) = restored.saved_searches.list_all()
        assert saved.name == "Letters" and not saved.has_feed
        assert restored.saved_searches.find_by_feed(feed) is None


def test_the_files_of_an_upgraded_vault_have_arrived_in_the_order_they_were_added(tmp_path: Path) -> None:
    db = connect(tmp_path / FILE_NAME)
    for number, name, script in migrations():
        if number <= 16:
            _apply(db, number, name, script)
    for file_id, path, at, state in (
        (1, "b", "2024", "completed"),
        (2, "a", "2023", "failed"),
        (3, "c", "2022", "processing"),
    ):
        db.execute(
            "INSERT INTO files (id, path, folder, name, kind, mime, size, mtime_ns, dev, inode, hash, created_at,"
            " updated_at) VALUES (?, ?, '', ?, 'text', 'text/plain', 1, 1, 'd', ?, 'h', ?, ?)",
            (file_id, path, path, path, at, at),
        )
        db.execute("INSERT INTO documents (file_id, state, moved_at) VALUES (?, ?, ?)", (file_id, state, at))
    db.close()
    Database(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as upgraded:
        assert upgraded.execute("SELECT file_id, at FROM arrivals ORDER BY number").fetchall() == [
            (2, "2023"),
            (1, "2024"),
        ]
        upgraded.execute("UPDATE documents SET state = 'completed', moved_at = '2025' WHERE file_id = 3")
        upgraded.execute("UPDATE documents SET state = 'processing' WHERE file_id = 1")
        upgraded.execute("UPDATE documents SET state = 'completed' WHERE file_id = 1")
        assert upgraded.execute("SELECT file_id FROM arrivals ORDER BY number").fetchall() == [(2,), (1,), (3,)]


def test_a_purged_file_leaves_its_place_in_the_link(app: App) -> None:
    ids = [put(app, name).id for name in ("a.txt", "b.txt", "c.txt")]
    made = app.shares.add(ids)
    app.database.write(lambda db: db.execute("DELETE FROM files WHERE path = 'b.txt'"))
    opened = app.shares.find(made.secret)
    assert opened is not None
    assert [file.path if file else None for file in opened.files] == ["a.txt", None, "c.txt"]


def test_what_a_link_refuses(app: App) -> None:
    file = put(app, "bank/letter.txt")
    for days in (0, MAX_DAYS + 1):
        with pytest.raises(UsageError, match="days"):
            app.shares.add([file.id], days=days)
    with pytest.raises(UsageError, match="at least one"):
        app.shares.add([])
    with pytest.raises(UsageError, match="not there"):
        app.shares.add([file.id + 1])
    with pytest.raises(UsageError, match="at most"):
        app.shares.add(range(1, MAX_FILES + 2))
    (app.vault.root / ".chymeprivate").write_text("bank/\n")
    with pytest.raises(PrivateFilesChosen, match=r"letter\.txt"):
        app.shares.add([file.id])
    assert app.shares.list_all() == []
    with pytest.raises(NotFound):
        app.shares.end(1)
