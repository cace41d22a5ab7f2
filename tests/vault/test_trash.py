"""Deleting a file, bringing it back, and deleting it for good."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from sqlite3 import Connection

import pytest
from described_vault import classify, file_at, listed, put

from chyme.application.app import App, open_app
from chyme.application.settings import Settings
from chyme.core.clock import now
from chyme.core.store import artifacts, digests, files
from chyme.errors import NotFound, UsageError, VaultError
from chyme.model import File
from chyme.vault.file_registry import FileRegistry

pytestmark = pytest.mark.slow  # each test is a little slow, and there are many

ODD_NAMES = (
    *("plain.txt", "in/deep/er.txt", "quo\"te's.txt", "new\nline.txt", "per%cent%2e.txt", "ümlaut 日本.txt"),
    *("a" * 250 + ".txt", "semi;colon, comma.txt", b"latin\xe9.txt", "$(touch x).txt", "-rf.txt"),
)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with open_app(tmp_path) as opened:
        yield opened


def in_trash(app: App) -> list[str]:
    return [entry.path for entry in app.trash.list_all()]


def test_a_deleted_file_leaves_the_vault_and_lies_in_the_trash_under_its_name(app: App) -> None:
    put(app, "in/letter.txt", "Dear all")
    (trashed,) = app.trash.put(["in/letter.txt"])
    assert listed(app) == [] and app.file_list.page().cards == ()
    assert in_trash(app) == ["in/letter.txt"] and trashed.size == 8
    assert (app.state / "trash" / trashed.id / "letter.txt").read_text() == "Dear all"


def test_what_was_known_is_known_again_and_nothing_is_digested_again(app: App) -> None:
    file = put(app, "letter.txt")
    classify(app, file, "A letter", "2024-01-02", "post")
    before = {name: row.updated_at for name, row in digests.of_file(app.database.read(), file.id).items()}
    (trashed,) = app.trash.put(["letter.txt"])
    (back,) = app.trash.restore([trashed.id])
    assert back.path == "letter.txt" and in_trash(app) == []
    again = file_at(app, "letter.txt")
    assert (again.id, again.vanished_at, again.created_at) == (file.id, None, file.created_at)
    assert {name: row.updated_at for name, row in digests.of_file(app.database.read(), file.id).items()} == before
    assert app.file_list.cards(["letter.txt"])[0].title == "A letter"


@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_name_comes_back_as_it_was(app: App, name: str | bytes) -> None:
    file = put(app, name)
    before = listed(app)
    (trashed,) = app.trash.put([file.path])
    assert listed(app) == []
    (back,) = app.trash.restore([trashed.id])
    assert (back.path, listed(app)) == (file.path, before)
    assert file_at(app, file.path).id == file.id


def test_a_new_file_at_the_old_path_stays_and_the_old_file_is_restored_beside_it(app: App) -> None:
    old = put(app, "in/plan.txt", "the old plan")
    classify(app, old, "The old plan")
    (trashed,) = app.trash.put(["in/plan.txt"])
    new = put(app, "in/plan.txt", "the new plan")
    assert new.id != old.id
    (back,) = app.trash.restore([trashed.id])
    assert back.path == "in/plan 2.txt"
    assert (app.vault.root / "in/plan.txt").read_text() == "the new plan"
    assert (app.vault.root / "in/plan 2.txt").read_text() == "the old plan"
    assert file_at(app, "in/plan 2.txt").id == old.id
    assert app.file_list.cards(["in/plan 2.txt"])[0].title == "The old plan"


def test_two_files_of_one_name_lie_in_the_trash_side_by_side(app: App) -> None:
    for text in ("one", "two"):
        put(app, "same.txt", text)
        app.trash.put(["same.txt"])
    assert in_trash(app) == ["same.txt", "same.txt"]
    app.trash.restore([entry.id for entry in reversed(app.trash.list_all())])
    assert [(app.vault.root / name).read_text() for name in listed(app)] == ["two", "one"]


def test_a_folder_that_is_gone_is_made_again(app: App) -> None:
    put(app, "far/down/a.txt")
    (trashed,) = app.trash.put(["far/down/a.txt"])
    shutil.rmtree(app.vault.root / "far")
    assert [entry.path for entry in app.trash.restore([trashed.id])] == ["far/down/a.txt"]


def test_emptying_leaves_nothing_on_disk_and_nothing_known(app: App) -> None:
    file = put(app, "secret.txt")
    classify(app, file, "A secret")
    app.trash.put(["secret.txt"])
    assert app.trash.empty() == 1
    assert in_trash(app) == [] and os.listdir(app.state / "trash") == []
    assert files.by_id(app.database.read(), file.id) is None
    assert app.database.read().execute("SELECT count(*) FROM sqlar").fetchone() == (0,)


def test_one_file_can_be_deleted_for_good_and_the_others_stay(app: App) -> None:
    for name in ("a.txt", "b.txt"):
        put(app, name)
    a, _ = app.trash.put(["a.txt", "b.txt"])
    assert app.trash.empty([a.id]) == 1 and in_trash(app) == ["b.txt"]


def test_a_copy_that_was_brought_back_by_hand_stays_known_when_the_trash_is_emptied(app: App) -> None:
    file = put(app, "a.txt", "the very same text")
    (trashed,) = app.trash.put(["a.txt"])
    shutil.copy2(app.state / "trash" / trashed.id / "a.txt", app.vault.root / "copy.txt")
    os.utime(app.vault.root / "copy.txt", (1, 1))
    app.scan_and_settle()
    assert file_at(app, "copy.txt").id == file.id
    app.trash.empty()
    assert file_at(app, "copy.txt").vanished_at is None


def test_nothing_is_deleted_unless_all_are_files_of_the_vault(app: App) -> None:
    put(app, "a.txt")
    for wrong in ("nowhere.txt", "../outside", "", "/etc/passwd", "a.txt/x", ".chyme/vault.db"):
        with pytest.raises(UsageError, match="is not a file of this vault"):
            app.trash.put(["a.txt", wrong])
    assert listed(app) == ["a.txt"]


def test_a_file_that_is_gone_already_is_reported(app: App) -> None:
    put(app, "a.txt")
    (app.vault.root / "a.txt").unlink()
    with pytest.raises(UsageError, match="is not there any more"):
        app.trash.put(["a.txt"])
    assert in_trash(app) == []


def test_a_folder_that_became_a_link_out_of_the_vault_is_not_followed(
    app: App, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "a.txt").write_text("not ours")
    put(app, "in/a.txt")
    shutil.rmtree(app.vault.root / "in")
    (app.vault.root / "in").symlink_to(outside)
    with pytest.raises(UsageError, match="is not there any more"):
        app.trash.put(["in/a.txt"])
    assert (outside / "a.txt").read_text() == "not ours"


def test_nothing_is_brought_back_through_a_link_out_of_the_vault(
    app: App, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    put(app, "in/a.txt")
    (trashed,) = app.trash.put(["in/a.txt"])
    (app.vault.root / "in").rmdir()
    (app.vault.root / "in").symlink_to(outside)
    with pytest.raises(Exception, match="cannot be brought back"):
        app.trash.restore([trashed.id])
    assert list(outside.iterdir()) == [] and in_trash(app) == ["in/a.txt"]


def test_a_link_is_deleted_as_a_link_and_what_it_leads_to_stays(app: App) -> None:
    put(app, "real.txt", "the text")
    (app.vault.root / "link.txt").symlink_to("real.txt")
    app.scan_and_settle()
    (trashed,) = app.trash.put(["link.txt"])
    assert (app.vault.root / "real.txt").read_text() == "the text" and listed(app) == ["real.txt"]
    app.trash.restore([trashed.id])
    assert os.readlink(app.vault.root / "link.txt") == "real.txt"


@pytest.mark.parametrize("id_", ["", "x", "../../vault.db", "..", "20260101T000000000000Z-00000000", "\0", "a" * 5000])
def test_a_file_that_is_not_in_the_trash_is_neither_restored_nor_deleted(app: App, id_: str) -> None:
    with pytest.raises(NotFound, match="is not in the trash"):
        app.trash.restore([id_])
    with pytest.raises(NotFound):
        app.trash.empty([id_])


@pytest.mark.parametrize("path", ["../out.txt", "/etc/x", "a/../../b", "a//b", "", "nul\0.txt"])
def test_a_trash_note_that_leads_out_of_the_vault_is_not_trusted(app: App, path: str) -> None:
    put(app, "a.txt")
    (trashed,) = app.trash.put(["a.txt"])
    note = app.state / "trash" / f"{trashed.id}.json"
    note.write_text(json.dumps({**json.loads(note.read_text()), "path": path}))
    assert app.trash.list_all() == []
    with pytest.raises(NotFound):
        app.trash.restore([trashed.id])


def test_the_trash_works_from_one_disk_to_another(tmp_path: Path, other_disk: Path) -> None:
    with open_app(tmp_path, Settings(state_dir=os.fspath(other_disk))) as app:
        file = put(app, "a.txt", "from disk to disk")
        os.utime(tmp_path / "a.txt", (1_500_000_000, 1_500_000_000))
        app.scan_and_settle()
        (trashed,) = app.trash.put(["a.txt"])
        assert listed(app) == [] and (other_disk / "trash" / trashed.id / "a.txt").is_file()
        app.trash.restore([trashed.id])
        app.scan_and_settle()
        assert (tmp_path / "a.txt").read_text() == "from disk to disk"
        assert (tmp_path / "a.txt").stat().st_mtime == 1_500_000_000
        assert file_at(app, "a.txt").id == file.id and in_trash(app) == []


@pytest.fixture
def other_disk(tmp_path: Path) -> Iterator[Path]:
    folder = Path("/dev/shm") / f"chyme-test-{os.getpid()}"
    if not folder.parent.is_dir() or folder.parent.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system here")
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


def test_deleting_the_only_file_does_not_hold_up_purging(app: App) -> None:
    put(app, "a.txt")
    app.trash.put(["a.txt"])
    app.scan()
    assert app.documents.status()["purge_waits"] is None


def test_artifacts_of_a_deleted_file_are_not_served_and_are_there_again_afterwards(app: App) -> None:
    file = put(app, "a.txt")
    name = artifacts.name_of("a.txt", "sketch", "thumbnail.jpg")

    def keep(db: Connection) -> None:
        digests.register(db, file.id, file.path, [("sketch", True, 0)], "", "now")
        first = artifacts.replace(db, "a.txt", "sketch", [artifacts.PackedArtifact("thumbnail.jpg", 3, b"abc")], 0)
        digests.complete(db, file.id, "sketch", "{}", "hash", first, "recipe", "input", 1, "now")

    app.database.write(keep)
    assert app.documents.artifact(name) == b"abc"
    (trashed,) = app.trash.put(["a.txt"])
    assert app.documents.artifact(name) is None
    app.trash.restore([trashed.id])
    assert app.documents.artifact(name) == b"abc"


def test_what_is_known_of_a_deleted_file_survives_purging_but_not_the_loss_of_the_trash(app: App) -> None:
    file = put(app, "a.txt")
    app.trash.put(["a.txt"])
    assert (app.purge(everything=True, confirmed=True), app.documents.status()["vanished"]) == (0, 0)
    assert files.by_id(app.database.read(), file.id) is not None
    shutil.rmtree(app.state / "trash")  # as if a person deleted the folder by hand
    app.trash.empty()
    assert files.by_id(app.database.read(), file.id) is None


def test_emptying_the_trash_forgets_nothing_of_what_is_deleted_at_the_same_time(app: App) -> None:
    names = [f"{number}.txt" for number in range(40)]
    ids = [put(app, name).id for name in names]
    deleting = threading.Thread(target=lambda: [app.trash.put([name]) for name in names])
    deleting.start()
    while deleting.is_alive():
        app.trash.empty([])
    deleting.join()
    assert len(in_trash(app)) == 40
    assert all(files.by_id(app.database.read(), file_id) for file_id in ids)


class Hasty(FileRegistry):
    """A scan finds every file between being hidden and being moved."""

    scan: Callable[[], object]

    def hide_trashed(self, file: File) -> bool:
        done = super().hide_trashed(file)
        self.scan()
        return done


def test_a_file_that_a_scan_finds_while_it_is_deleted_is_in_the_trash_anyway(app: App) -> None:
    file = put(app, "a.txt")
    app.open_vault.registry = Hasty(app.database, app.rules, now)
    app.open_vault.registry.scan = app.scan
    app.trash.put(["a.txt"])
    assert app.list_vanished() == [] and in_trash(app) == ["a.txt"]
    assert [entry.id for entry in files.in_trash(app.database.read())] == [file.id]
    app.trash.empty()
    assert files.by_id(app.database.read(), file.id) is None


def test_a_file_that_is_elsewhere_by_now_is_not_deleted(app: App) -> None:
    put(app, "a.txt")

    class Late(FileRegistry):
        def hide_trashed(self, file: File) -> bool:
            (app.vault.root / "a.txt").rename(app.vault.root / "b.txt")
            app.scan()
            (app.vault.root / "a.txt").write_text("another")
            return super().hide_trashed(file)

    app.open_vault.registry = Late(app.database, app.rules, now)
    with pytest.raises(UsageError, match="is not there any more"):
        app.trash.put(["a.txt"])
    assert in_trash(app) == [] and os.listdir(app.state / "trash") == []
    assert {path.name for path in app.vault.root.glob("*.txt")} == {"a.txt", "b.txt"}


def test_files_restored_before_a_failure_are_known(app: App) -> None:
    for name in ("a.txt", "b.txt"):
        put(app, name)
    a, b = app.trash.put(["a.txt", "b.txt"])
    (app.state / "trash" / b.id / "b.txt").unlink()
    with pytest.raises(VaultError, match="cannot be brought back"):
        app.trash.restore([a.id, b.id])
    assert file_at(app, "a.txt").vanished_at is None
