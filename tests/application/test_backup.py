"""A backup restores what was backed up, and a restore trusts nothing in an archive."""

from __future__ import annotations

import hashlib
import io
import json
import os
import sqlite3
import stat
import tarfile
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from described_vault import classify, file_at, put

from chyme.accounts.authentication import Authenticator
from chyme.accounts.permissions import Right
from chyme.application.app import App, open_app
from chyme.application.backup.archive import check, manifest_of
from chyme.application.backup.creation import BackupResult, back_up
from chyme.application.backup.restore import RestoreResult, restore_vault
from chyme.application.settings import Settings
from chyme.core.clock import now
from chyme.core.store import artifacts
from chyme.errors import UsageError, VaultError
from chyme.model import Artifact
from chyme.understanding.edit_rules import EditRequest

pytestmark = pytest.mark.slow  # each test is quick, but there are many

Entry = tuple[str, bytes]


@pytest.fixture
def server(tmp_path: Path) -> Path:
    return tmp_path / "server"


@pytest.fixture
def app(tmp_path: Path, server: Path) -> Iterator[App]:
    (tmp_path / "vault").mkdir()
    with open_app(tmp_path / "vault", Settings(server_dir=str(server))) as opened:
        yield opened


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """The folder for backups."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    return folder


def restore(
    archive: Path,
    into: Path,
    server: Path,
    *,
    with_settings: bool = False,
    with_server: bool = False,
    replace: bool = False,
) -> RestoreResult:
    return restore_vault(
        *(archive, into),
        with_settings=with_settings,
        with_server=with_server,
        replace=replace,
        environment={"CHYME_SERVER_DIR": str(server)},
    )


def put_letter(app: App) -> None:
    file = put(app, "letters/one.txt", "Dear Ada")
    classify(app, file, "A letter", "2026-04-03", "letter")
    app.edits.change("letters/one.txt", EditRequest({"title": "Greetings"}))
    page = artifacts.pack(Artifact("snapshot.html", b"<p>captured</p>"))
    app.database.write(lambda db: artifacts.replace(db, "letters/one.txt", "url-crawl", [page], 0))


def rewrite(
    archive: Path,
    change: Callable[[dict[str, Any], list[Entry]], None],
    dates: Mapping[str, str] = MappingProxyType({}),
    **kinds: bytes,
) -> Path:
    """Write the archive as another person could have made it: `change` may edit its manifest and its entries."""
    with tarfile.open(archive) as tar:
        entries = [(member.name, tar.extractfile(member).read()) for member in tar]  # type: ignore[union-attr]
    manifest = json.loads(entries.pop()[1])
    change(manifest, entries)
    other = archive.with_name(f"other-{len(list(archive.parent.iterdir()))}.tar")
    with tarfile.open(other, "w") as tar:
        for name, data in [*entries, ("manifest.json", json.dumps(manifest).encode())]:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            if name in dates:
                entry.pax_headers = {"mtime": dates[name]}
            if name in kinds:
                entry.type, entry.size, entry.linkname = kinds[name], 0, "/etc/passwd"
            tar.addfile(entry, io.BytesIO(data))
    return other


def smuggle(name: str, data: bytes = b"gotcha") -> Callable[[dict[str, Any], list[Entry]], None]:
    def change(manifest: dict[str, Any], entries: list[Entry]) -> None:
        entries.append((name, data))
        part = {"name": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        manifest["parts"].append(part)

    return change


def test_edits_and_captured_pages_are_restored(app: App, shelf: Path, tmp_path: Path, server: Path) -> None:
    put_letter(app)
    app.tags.ban("letter")
    made = back_up(app.open_vault, app.settings, shelf)
    assert check(made.archive) == []

    restore(made.archive, tmp_path / "new", server)

    with open_app(tmp_path / "new", create=False) as again:
        details = again.documents.show("letters/one.txt")
        assert (details["document"]["title"], details["document"]["date"]) == ("Greetings", "2026-04-03")
        assert again.edits.get("letters/one.txt").found.title == "A letter"
        assert again.tags.list_all().banned == ("letter",)
        assert artifacts.of_digest(again.database.read(), "letters/one.txt", "url-crawl") == {
            "snapshot.html": b"<p>captured</p>"
        }


def test_only_its_owner_may_read_a_backup_and_nothing_is_left_beside_it(app: App, shelf: Path) -> None:
    made = back_up(app.open_vault, app.settings, shelf)
    assert stat.S_IMODE(made.archive.stat().st_mode) == 0o600
    assert [path.name for path in shelf.iterdir()] == [made.archive.name]
    assert made.size == made.archive.stat().st_size


def test_a_backup_is_consistent_while_others_write(app: App, shelf: Path, tmp_path: Path, server: Path) -> None:
    """Each round writes two rows that belong together; no copy may hold one without the other."""
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            value = f"{number:010}" + "x" * 5000

            def both(db: sqlite3.Connection, value: str = value) -> None:
                for name in ("left", "right"):
                    db.execute("INSERT OR REPLACE INTO marks VALUES (?, ?)", (name, value))

            app.database.write(both)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        archives = [back_up(app.open_vault, app.settings, shelf / f"{number}.tar").archive for number in range(5)]
    finally:
        stop.set()
        writer.join()
    for number, archive in enumerate(archives):
        assert check(archive) == []
        restore(archive, tmp_path / f"new {number}", server)
        with closing(sqlite3.connect(tmp_path / f"new {number}/.chyme/vault.db")) as db:
            both = dict(db.execute("SELECT name, value FROM marks WHERE name IN ('left', 'right')"))
            assert both.get("left") == both.get("right")


def test_a_backup_overwrites_nothing(app: App, shelf: Path) -> None:
    (shelf / "mine.tar").write_text("mine")
    with pytest.raises(UsageError, match="nothing is overwritten"):
        back_up(app.open_vault, app.settings, shelf / "mine.tar")
    assert (shelf / "mine.tar").read_text() == "mine"


def test_a_backup_is_not_put_into_the_vault(app: App) -> None:
    with pytest.raises(UsageError, match="inside the vault"):
        back_up(app.open_vault, app.settings, app.vault.root / "backup.tar")
    with pytest.raises(UsageError, match="no such folder"):
        back_up(app.open_vault, app.settings, app.vault.root.parent / "nowhere/backup.tar")


def test_files_are_included_on_request(app: App, shelf: Path, tmp_path: Path, server: Path) -> None:
    put(app, "a/plan.md", "# Plan")
    put(app, b"caf\xe9.txt", "not UTF-8")
    (app.vault.root / ".chymeignore").write_text("*.log\n")
    (app.vault.root / ".chymeprivate").write_text("diary*\n")
    (app.vault.root / "noise.log").write_text("ignored")
    (app.vault.root / "out.txt").symlink_to("/etc/passwd")
    (app.vault.root / "link.md").symlink_to("a/plan.md")

    without = back_up(app.open_vault, app.settings, shelf / "without.tar")
    made = back_up(app.open_vault, app.settings, shelf / "with.tar", with_files=True)
    assert (made.changed, made.missing) == ((), ())
    assert without.parts < made.parts
    done = restore(made.archive, tmp_path / "new", server)

    new = tmp_path / "new"
    assert (new / "a/plan.md").read_text() == (new / "link.md").read_text() == "# Plan"
    assert not (new / "link.md").is_symlink()
    assert Path(os.fsdecode(os.fsencode(new) + b"/caf\xe9.txt")).read_text() == "not UTF-8"
    assert (new / ".chymeprivate").read_text() == "diary*\n"
    assert not (new / "noise.log").exists()
    assert not (new / "out.txt").exists()
    assert done.kept == ()
    assert [name for name in manifest_of(without.archive).parts if name.startswith("files/")] == [
        "files/.chymeignore",
        "files/.chymeprivate",
    ]


def test_a_file_that_is_there_is_never_overwritten(app: App, shelf: Path, tmp_path: Path, server: Path) -> None:
    put(app, "plan.md", "old plan")
    put(app, "same.md", "same")
    made = back_up(app.open_vault, app.settings, shelf, with_files=True)
    new = tmp_path / "new"
    new.mkdir()
    (new / "plan.md").write_text("new plan")
    (new / "same.md").write_text("same")

    assert restore(made.archive, new, server).kept == ("files/plan.md",)
    assert (new / "plan.md").read_text() == "new plan"


def test_the_trash_is_included_on_request(app: App, shelf: Path, tmp_path: Path, server: Path) -> None:
    put(app, "letter.txt", "Dear Ada")
    app.trash.put(["letter.txt"])
    made = back_up(app.open_vault, app.settings, shelf, with_trash=True)
    restore(made.archive, tmp_path / "new", server)
    with open_app(tmp_path / "new") as again:
        assert [trashed.path for trashed in again.trash.list_all()] == ["letter.txt"]
        again.trash.restore([trashed.id for trashed in again.trash.list_all()])
        assert (tmp_path / "new/letter.txt").read_text() == "Dear Ada"


def test_the_previous_state_is_put_aside(app: App, shelf: Path, tmp_path: Path, server: Path) -> None:
    put_letter(app)
    (app.vault.root / ".chyme/settings.toml").write_text("port = 1\n")
    made = back_up(app.open_vault, app.settings, shelf)
    new = tmp_path / "new"
    new.mkdir()
    with open_app(new) as other:
        put(other, "mine.txt", "mine")
    (new / ".chyme/settings.toml").write_text("port = 2\n")

    done = restore(made.archive, new, server, with_settings=True)

    assert (done.settings, done.settings_in_force) == (str(new / ".chyme/settings.toml"), True)
    assert len(done.aside) == 2
    assert sorted(Path(path).name.split(".")[0] for path in done.aside) == ["settings", "vault"]
    before = next(Path(path) for path in done.aside if path.endswith(".db"))
    with closing(sqlite3.connect(before)) as db:
        assert db.execute("SELECT path FROM files").fetchall() == [("mine.txt",)]
    assert (new / ".chyme/settings.toml").read_text() == "port = 1\n"
    with open_app(new) as again:
        assert file_at(again, "letters/one.txt")


def test_a_broken_vault_can_be_restored(app: App, shelf: Path, tmp_path: Path, server: Path) -> None:
    put_letter(app)
    made = back_up(app.open_vault, app.settings, shelf)
    new = tmp_path / "new"
    (new / ".chyme").mkdir(parents=True)
    (new / ".chyme/vault.db").write_bytes(b"no database" * 1000)
    (new / ".chyme/vault.db-wal").write_bytes(b"no journal")

    restore(made.archive, new, server)

    with open_app(new) as again:
        assert file_at(again, "letters/one.txt")
    assert any(b"no database" in path.read_bytes() for path in (new / ".chyme").glob("vault.before-*.db"))


def test_restoring_is_refused_while_another_process_has_the_vault_open(app: App, shelf: Path, server: Path) -> None:
    put_letter(app)
    made = back_up(app.open_vault, app.settings, shelf)
    with pytest.raises(VaultError, match="open in another chyme process"):
        restore(made.archive, app.vault.root, server)
    assert file_at(app, "letters/one.txt")


def test_processing_locks_are_not_restored(app: App, shelf: Path, tmp_path: Path, server: Path) -> None:
    file = put(app, "a.txt")
    app.database.write(
        lambda db: db.execute(
            "INSERT INTO processing_locks VALUES (?, 'somebody', '2026', '9999-01-01T00:00:00Z', 't')", (file.id,)
        )
    )
    made = back_up(app.open_vault, app.settings, shelf)
    restore(made.archive, tmp_path / "new", server)
    with open_app(tmp_path / "new") as again:
        assert again.database.read().execute("SELECT count(*) FROM processing_locks").fetchone() == (0,)


def test_a_state_dir_is_not_followed_to_the_vault_that_was_backed_up(tmp_path: Path, shelf: Path, server: Path) -> None:
    vault, elsewhere = tmp_path / "one", tmp_path / "elsewhere"
    (vault / ".chyme").mkdir(parents=True)
    (vault / ".chyme/settings.toml").write_text(f'state_dir = "{elsewhere}"\nport = 7\n')
    with open_app(vault) as app:
        put(app, "a.txt")
        made = back_up(app.open_vault, app.settings, shelf)
    assert made.secrets

    restore(made.archive, tmp_path / "new", server, with_settings=True)

    with open_app(tmp_path / "new") as again:
        assert again.state == tmp_path / "new/.chyme"
        assert again.settings.port == 7
        assert file_at(again, "a.txt")


HOSTILE = 'browser = "/vault/run.sh"\n"state_dir" = "/elsewhere"\nserver_dir = "/elsewhere"\nport = 7\n'


def archive_with_settings(app: App, shelf: Path, text: str | bytes) -> Path:
    data = text.encode() if isinstance(text, str) else text
    made = back_up(app.open_vault, app.settings, shelf / f"{len(list(shelf.iterdir()))}.tar")
    return rewrite(made.archive, smuggle("state/settings.toml", data))


def test_settings_of_an_archive_are_written_beside_and_are_not_in_force(
    app: App, shelf: Path, tmp_path: Path, server: Path
) -> None:
    bad, new = archive_with_settings(app, shelf, HOSTILE), tmp_path / "new"

    done = restore(bad, new, server)

    beside = new / ".chyme/settings.restored.toml"
    assert (done.settings, done.settings_in_force) == (str(beside), False)
    assert stat.S_IMODE(beside.stat().st_mode) == 0o600
    assert not (new / ".chyme/settings.toml").exists()
    with open_app(new) as again:
        from_environment = {name: getattr(again.settings, name) for name in ("crawl", "server_dir", "weights_fetch")}
        assert again.settings == Settings(**from_environment)
    beside.rename(new / ".chyme/settings.toml")
    with open_app(new) as again:
        assert (again.settings.port, again.settings.state_dir, again.state) == (7, "", new / ".chyme")
    assert tomllib.loads((new / ".chyme/settings.toml").read_text()) == {"browser": "/vault/run.sh", "port": 7}


def test_settings_that_are_there_stay_in_force_and_none_are_lost(
    app: App, shelf: Path, tmp_path: Path, server: Path
) -> None:
    first, second = (archive_with_settings(app, shelf, f"port = {number}\n") for number in (1, 2))
    new = tmp_path / "new"
    (new / ".chyme").mkdir(parents=True)
    (new / ".chyme/settings.toml").write_text("port = 3\n")
    for archive in (first, second):
        assert not restore(archive, new, server).settings_in_force
    assert (new / ".chyme/settings.toml").read_text() == "port = 3\n"
    assert (new / ".chyme/settings.restored.toml").read_text() == "port = 2\n"
    assert [path.read_text() for path in (new / ".chyme").glob("settings.restored.before-*")] == ["port = 1\n"]

    (new / ".chyme/settings.toml").write_text("port = 1\n")
    (new / ".chyme/settings.restored.toml").unlink()
    assert restore(first, new, server).settings_in_force
    assert not (new / ".chyme/settings.restored.toml").exists()


def test_the_state_dir_of_this_vault_stays_when_settings_of_an_archive_are_put_in_force(
    app: App, shelf: Path, tmp_path: Path, server: Path
) -> None:
    put_letter(app)
    archive, new, local = archive_with_settings(app, shelf, HOSTILE), tmp_path / "new", tmp_path / "local disk"
    (new / ".chyme").mkdir(parents=True)
    (new / ".chyme/settings.toml").write_text(f'state_dir = "{local}"\n')

    assert restore(archive, new, server, with_settings=True).settings_in_force

    with open_app(new) as again:
        assert (again.state, again.settings.port) == (local, 7)
        assert file_at(again, "letters/one.txt")
    assert "server_dir" not in tomllib.loads((new / ".chyme/settings.toml").read_text())


@pytest.mark.parametrize("broken", [b"port = ", b"\xff", b"[" * 10_000])
def test_settings_that_cannot_be_understood_are_not_put_in_force(
    app: App, shelf: Path, tmp_path: Path, server: Path, broken: bytes
) -> None:
    archive, new = archive_with_settings(app, shelf, broken), tmp_path / "new"
    with pytest.raises(UsageError, match="leave out --settings"):
        restore(archive, new, server, with_settings=True)
    assert not (new / ".chyme/vault.db").exists()
    restore(archive, new, server)
    assert (new / ".chyme/settings.restored.toml").read_bytes() == broken
    assert not (new / ".chyme/settings.toml").exists()


def test_settings_that_are_not_in_the_archive_cannot_be_restored(
    app: App, shelf: Path, tmp_path: Path, server: Path
) -> None:
    made = back_up(app.open_vault, app.settings, shelf)
    with pytest.raises(UsageError, match="no settings in it"):
        restore(made.archive, tmp_path / "new", server, with_settings=True)
    assert restore(made.archive, tmp_path / "new", server).settings is None


def add_accounts(server: Path, *names: str) -> list[str]:
    with closing(Authenticator(server, now)) as authenticator:
        for name in names:
            authenticator.tokens.add(name, Right.READ, None, None, None)
        return [token.name for token in authenticator.tokens.list_all()]


def test_accounts_are_included_and_replace_existing_accounts_only_on_request(
    app: App, shelf: Path, tmp_path: Path, server: Path
) -> None:
    assert add_accounts(server, "phone") == ["phone"]
    with closing(sqlite3.connect(server / "server.db")) as db, db:
        db.execute("PRAGMA foreign_keys = OFF")
        db.execute("INSERT INTO sessions VALUES (1, ?, 1, '', '', '', '', '')", ("0" * 64,))
    made = back_up(app.open_vault, app.settings, shelf)
    other = tmp_path / "other server"

    assert not restore(made.archive, tmp_path / "a", other).server
    assert not other.exists()
    assert restore(made.archive, tmp_path / "b", other, with_server=True).server
    assert add_accounts(other) == ["phone"]
    with closing(sqlite3.connect(other / "server.db")) as db:
        assert db.execute("SELECT count(*) FROM sessions").fetchone() == (0,)
    assert stat.S_IMODE((other / "server.db").stat().st_mode) == 0o600

    add_accounts(other, "tablet")
    with pytest.raises(UsageError, match="there are accounts already"):
        restore(made.archive, tmp_path / "c", other, with_server=True)
    assert not (tmp_path / "c").exists()
    done = restore(made.archive, tmp_path / "c", other, with_server=True, replace=True)
    assert add_accounts(other) == ["phone"]
    assert any("server.before-" in path for path in done.aside)


def test_nothing_is_restored_while_a_server_has_the_accounts_open(
    app: App, shelf: Path, tmp_path: Path, server: Path
) -> None:
    add_accounts(server, "phone")
    made = back_up(app.open_vault, app.settings, shelf)
    other = tmp_path / "other server"
    add_accounts(other, "tablet")
    with closing(Authenticator(other, now)) as authenticator:
        assert [token.name for token in authenticator.tokens.list_all()] == ["tablet"]
        with pytest.raises(VaultError, match="open in another chyme process"):
            restore(made.archive, tmp_path / "new", other, with_server=True, replace=True)
    assert not (tmp_path / "new/.chyme/vault.db").exists()


def test_accounts_that_are_not_in_the_archive_cannot_be_restored(
    app: App, shelf: Path, tmp_path: Path, server: Path
) -> None:
    made = back_up(app.open_vault, app.settings, shelf)
    with pytest.raises(UsageError, match="no accounts in it"):
        restore(made.archive, tmp_path / "new", server, with_server=True)


@pytest.mark.parametrize(
    "name", ["/etc/evil", "files/../../evil", "../evil", "files//evil", "files/./evil", "what/ever"]
)
def test_no_name_in_an_archive_leads_out_of_it(app: App, shelf: Path, tmp_path: Path, server: Path, name: str) -> None:
    bad = rewrite(back_up(app.open_vault, app.settings, shelf).archive, smuggle(name))
    with pytest.raises(UsageError, match="not to be trusted"):
        restore(bad, tmp_path / "new", server)
    assert not list(tmp_path.rglob("evil"))
    assert not (tmp_path / "new/.chyme/vault.db").exists()


@pytest.mark.parametrize(
    "name",
    [
        *("files/.chyme/settings.toml", "files/.chyme", "files/.CHYME/settings.toml", "files/.Chyme"),
        *("files/sub/.chyme/settings.toml", "files/a/b/.ChYmE/x", "files/.ch\u200cyme/settings.toml"),
        "trash/.chyme/settings.toml",
    ],
)
def test_files_of_chymes_own_folder_are_not_taken_from_an_archive(
    app: App, shelf: Path, tmp_path: Path, server: Path, name: str
) -> None:
    bad = rewrite(back_up(app.open_vault, app.settings, shelf).archive, smuggle(name))
    with pytest.raises(UsageError, match="chyme's own folder"):
        restore(bad, tmp_path / "new", server)
    assert not (tmp_path / "new").exists()


def test_nothing_in_the_trash_of_an_archive_is_brought_back_into_chymes_own_folder(
    app: App, shelf: Path, tmp_path: Path, server: Path
) -> None:
    put(app, "letter.txt", "Dear Ada")
    (trashed,) = app.trash.put(["letter.txt"])
    made = back_up(app.open_vault, app.settings, shelf, with_trash=True)
    for path in (".chyme/settings.toml", "sub/.Chyme/settings.toml"):

        def change(manifest: dict[str, Any], entries: list[Entry], path: str = path) -> None:
            note = json.dumps({"id": trashed.id, "path": path, "at": "", "size": 1, "file_id": 1}).encode()
            at = next(at for at, (name, _) in enumerate(entries) if name.endswith(".json"))
            entries[at] = (entries[at][0], note)
            manifest["parts"][at] |= {"size": len(note), "sha256": hashlib.sha256(note).hexdigest()}

        new = tmp_path / path.replace("/", " ")
        restore(rewrite(made.archive, change), new, server)
        with open_app(new) as again:
            assert again.trash.list_all() == []
            with pytest.raises(UsageError, match="not in the trash"):
                again.trash.restore([trashed.id])


@pytest.mark.parametrize("date", ["nan", "inf", "-inf", "1e300", "-1e300", "9223372036854775808"])
def test_an_impossible_time_is_refused_in_a_sentence(
    app: App, shelf: Path, tmp_path: Path, server: Path, date: str
) -> None:
    bad = rewrite(back_up(app.open_vault, app.settings, shelf).archive, smuggle("files/evil"), {"files/evil": date})
    with pytest.raises(UsageError, match="an impossible time"):
        restore(bad, tmp_path / "new", server)
    assert check(bad)
    assert not (tmp_path / "new/evil").exists()


@pytest.mark.parametrize("date", ["-1e10", "253402300800.5", "1e17"])
def test_a_time_long_ago_or_far_in_the_future_is_accepted(
    app: App, shelf: Path, tmp_path: Path, server: Path, date: str
) -> None:
    odd = rewrite(back_up(app.open_vault, app.settings, shelf).archive, smuggle("files/odd"), {"files/odd": date})
    assert restore(odd, tmp_path / "new", server).files == 1


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE])
def test_nothing_but_plain_files_is_taken_from_an_archive(
    app: App, shelf: Path, tmp_path: Path, server: Path, kind: bytes
) -> None:
    bad = rewrite(
        back_up(app.open_vault, app.settings, shelf).archive, smuggle("files/evil", b""), {}, **{"files/evil": kind}
    )
    with pytest.raises(UsageError, match="not to be trusted"):
        restore(bad, tmp_path / "new", server)
    assert check(bad)
    assert not os.path.lexists(tmp_path / "new/evil")


def test_a_linked_folder_in_the_vault_leads_no_file_out_of_it(
    app: App, shelf: Path, tmp_path: Path, server: Path
) -> None:
    put(app, "sub/plan.md", "# Plan")
    made = back_up(app.open_vault, app.settings, shelf, with_files=True)
    outside, new = tmp_path / "outside", tmp_path / "new"
    outside.mkdir()
    new.mkdir()
    (new / "sub").symlink_to(outside)
    assert restore(made.archive, new, server).kept == ("files/sub/plan.md",)
    assert list(outside.iterdir()) == []


def test_a_part_that_the_manifest_does_not_name_is_refused(app: App, shelf: Path, tmp_path: Path, server: Path) -> None:
    def change(manifest: dict[str, Any], entries: list[Entry]) -> None:
        entries.append(("files/more.txt", b"more"))

    bad = rewrite(back_up(app.open_vault, app.settings, shelf).archive, change)
    assert check(bad)
    with pytest.raises(UsageError, match="not what its manifest says"):
        restore(bad, tmp_path / "new", server)


@pytest.mark.parametrize("field", ["size", "sha256"])
def test_a_part_that_does_not_match_the_manifest_is_refused(
    app: App, shelf: Path, tmp_path: Path, server: Path, field: str
) -> None:
    def change(manifest: dict[str, Any], entries: list[Entry]) -> None:
        manifest["parts"][0][field] = 1 if field == "size" else "0" * 64

    put_letter(app)
    made = back_up(app.open_vault, app.settings, shelf)
    new = tmp_path / "new"
    restore(made.archive, new, server)
    before = (new / ".chyme/vault.db").read_bytes()
    bad = rewrite(made.archive, change)
    assert check(bad)
    with pytest.raises(UsageError):
        restore(bad, new, server)
    assert (new / ".chyme/vault.db").read_bytes() == before
    assert not list((new / ".chyme").glob(".chyme-restore-*"))


def test_a_newer_archive_is_refused_with_the_way_out(app: App, shelf: Path, tmp_path: Path, server: Path) -> None:
    def change(manifest: dict[str, Any], entries: list[Entry]) -> None:
        manifest["schema"] = 9999

    bad = rewrite(back_up(app.open_vault, app.settings, shelf).archive, change)
    with pytest.raises(UsageError, match="upgrade chyme"):
        restore(bad, tmp_path / "new", server)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_an_archive_that_is_cut_short_is_refused(
    app: App, shelf: Path, tmp_path: Path, server: Path, share: float
) -> None:
    put_letter(app)
    data = back_up(app.open_vault, app.settings, shelf).archive.read_bytes().rstrip(b"\0")
    short = shelf / "short.tar"
    short.write_bytes(data[: int(len(data) * share)])
    assert check(short)
    with pytest.raises(UsageError):
        restore(short, tmp_path / "new", server)
    assert not (tmp_path / "new/.chyme/vault.db").exists()


def test_an_older_backup_is_brought_up_to_date_when_it_is_opened(
    app: App, shelf: Path, tmp_path: Path, server: Path
) -> None:
    """The archive has schema 7, as it was before schema 8 existed."""
    from chyme.core.store.sqlite.database import _apply, connect, migrations

    old = shelf / "vault.db"
    with closing(connect(old)) as db:
        for number, name, script in migrations()[:7]:
            _apply(db, number, name, script)
        db.execute("PRAGMA journal_mode = DELETE")
    data = old.read_bytes()

    def change(manifest: dict[str, Any], entries: list[Entry]) -> None:
        entries[0] = ("state/vault.db", data)
        manifest["schema"] = 7
        manifest["parts"][0] |= {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}

    restore(rewrite(back_up(app.open_vault, app.settings, shelf).archive, change), tmp_path / "new", server)
    with open_app(tmp_path / "new") as again:
        assert again.documents.problems() == []
        assert again.database.read().execute("PRAGMA user_version").fetchone()[0] == migrations()[-1][0]


def test_a_damaged_database_is_found_by_looking_into_the_archive(app: App, shelf: Path) -> None:
    """The hashes agree: the database was broken before it was backed up."""

    def change(manifest: dict[str, Any], entries: list[Entry]) -> None:
        data = entries[0][1][:4096] + b"\0" * 4096 + entries[0][1][8192:]
        entries[0] = ("state/vault.db", data)
        manifest["parts"][0]["sha256"] = hashlib.sha256(data).hexdigest()

    put_letter(app)
    assert check(rewrite(back_up(app.open_vault, app.settings, shelf).archive, change))


def test_a_file_that_shrinks_while_it_is_read_is_reported(app: App, shelf: Path) -> None:
    from chyme.application.backup.archive import ArchiveWriter

    with (shelf / "x.tar").open("wb") as stream:
        writer = ArchiveWriter(stream)
        assert not writer.add("files/a", io.BytesIO(b"abc"), 5)
        assert writer.add("files/b", io.BytesIO(b"abcdef"), 3)
        writer.finish(
            {
                "chyme": "",
                "made_at": "",
                "vault": "",
                "schema": 1,
                "server_schema": None,
                "counts": {},
                "changed": [],
                "missing": [],
            }
        )
    with tarfile.open(shelf / "x.tar") as tar:
        assert tar.extractfile("files/a").read() == b"abc\0\0"  # type: ignore[union-attr]
        assert tar.extractfile("files/b").read() == b"abc"  # type: ignore[union-attr]


def test_leftovers_of_a_killed_backup_are_swept(app: App, shelf: Path) -> None:
    dead = shelf / ".chyme-backup-dead"
    dead.mkdir()
    (dead / "lock").touch()
    (dead / "archive").write_bytes(b"half")
    made: BackupResult = back_up(app.open_vault, app.settings, shelf)
    assert [path.name for path in shelf.iterdir()] == [made.archive.name]


def test_the_cache_of_vectors_goes_with_the_state_it_belonged_to(
    app: App, shelf: Path, tmp_path: Path, server: Path
) -> None:
    made = back_up(app.open_vault, app.settings, shelf)
    new = tmp_path / "new"
    restore(made.archive, new, server)
    (new / ".chyme/vectors").mkdir()
    restore(made.archive, new, server)
    assert not (new / ".chyme/vectors").exists()
