"""Files that were renamed, exchanged or copied while no watcher ran keep everything they had."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from watching import Folder

from chyme.core.store import artifacts


def test_a_renamed_folder_of_a_hundred_files_is_not_digested_again(folder: Folder) -> None:
    for number in range(100):
        folder.put(f"old/{number}.txt", f"pelican number{number}")
    assert folder.take_in() == 100
    ids = {number: folder.id(f"old/{number}.txt") for number in range(100)}
    (folder.root / "old").rename(folder.root / "new name")
    report = folder.scan()

    assert (report.new, report.moved, report.vanished) == (0, 100, 0)
    assert folder.digest() == 0
    assert {number: folder.id(f"new name/{number}.txt") for number in range(100)} == ids
    assert folder.found("number42") == ["new name/42.txt"]
    assert folder.found("pelican")[0].startswith("new name/")
    assert folder.problems() == []


def test_artifacts_follow_a_renamed_file(folder: Folder) -> None:
    folder.put("a.txt", "whale")
    folder.take_in()
    (folder.root / "a.txt").rename(folder.root / "b.txt")
    folder.scan()
    name = folder.row("SELECT sqlar_name FROM digests WHERE file_id = ? AND digester = 'keeper'", folder.id("b.txt"))[0]

    assert name == artifacts.name_of("b.txt", "keeper", "copy.txt")
    assert artifacts.of_digest(folder.db, "b.txt", "keeper")["copy.txt"].startswith(b"whale")
    assert artifacts.of_digest(folder.db, "a.txt", "keeper") == {}
    assert folder.row("SELECT DISTINCT file_path FROM digests") == ("b.txt",)


def test_two_files_that_exchanged_their_names_keep_their_digests(folder: Folder) -> None:
    folder.put("a.txt", "first animal: whale")
    folder.put("b.txt", "second animal: heron")
    folder.take_in()
    whale, heron = folder.id("a.txt"), folder.id("b.txt")
    _swap(folder.root / "a.txt", folder.root / "b.txt")

    assert folder.take_in() == 0
    assert (folder.id("b.txt"), folder.id("a.txt")) == (whale, heron)
    assert (folder.found("whale"), folder.found("heron")) == (["b.txt"], ["a.txt"])
    assert artifacts.of_digest(folder.db, "a.txt", "keeper")["copy.txt"].startswith(b"second")
    assert artifacts.of_digest(folder.db, "b.txt", "keeper")["copy.txt"].startswith(b"first")
    assert folder.problems() == []


def test_files_that_changed_places_in_a_ring_keep_their_digests(folder: Folder) -> None:
    for name in "abcd":
        folder.put(f"{name}.txt", f"ring {name * 5}")
    folder.take_in()
    ids = {name: folder.id(f"{name}.txt") for name in "abcd"}
    (folder.root / "d.txt").rename(folder.root / "aside")
    for name, following in ("cd", "bc", "ab"):
        (folder.root / f"{name}.txt").rename(folder.root / f"{following}.txt")
    (folder.root / "aside").rename(folder.root / "a.txt")

    assert folder.take_in() == 0
    assert {name: folder.id(f"{name}.txt") for name in "abcd"} == dict(zip("bcda", ids.values(), strict=True))
    assert folder.problems() == []


@pytest.mark.parametrize("names", [("log", "log.1", "log.2"), ("z", "m", "a"), ("a", "m", "z")])
def test_rotated_logs_keep_their_digests_and_only_the_new_log_is_digested(
    folder: Folder, names: tuple[str, str, str]
) -> None:
    newest, middle, oldest = (folder.root / name for name in names)
    newest.write_text("today")
    middle.write_text("yesterday")
    folder.take_in()
    was_newest, was_middle = folder.id(names[0]), folder.id(names[1])
    middle.rename(oldest)
    newest.rename(middle)
    newest.write_text("tomorrow")

    assert folder.take_in() == 1
    assert (folder.id(names[1]), folder.id(names[2])) == (was_newest, was_middle)
    assert [folder.kept(name) for name in names] == ["tomorrow", "today", "yesterday"]


def test_a_file_moved_over_another_takes_its_place(folder: Folder) -> None:
    folder.put("a.txt", "the one that stays: otter")
    folder.put("b.txt", "the one that is lost: badger")
    folder.take_in()
    stays, lost = folder.id("a.txt"), folder.id("b.txt")
    (folder.root / "a.txt").replace(folder.root / "b.txt")

    assert folder.take_in() == 0
    assert folder.paths() == ["b.txt"]
    assert folder.id("b.txt") == stays
    assert folder.found("badger") == []
    folder.put("c.txt", "the one that is lost: badger")
    assert folder.take_in() == 0
    assert folder.id("c.txt") == lost
    assert folder.problems() == []


def test_another_file_on_the_same_inode_is_digested_afresh(folder: Folder) -> None:
    folder.put("a.txt", "aaaaaaaa").unlink()
    folder.put("a.txt", "aaaaaaaa")
    folder.take_in()
    (folder.root / "a.txt").unlink()
    second = folder.put("b.txt", "bbbbbbbb")
    inode = str(second.stat().st_ino)  # most file systems reuse it at once; here it certainly is the same
    folder.database.write(lambda db: db.execute("UPDATE files SET inode = ?", (inode,)))

    assert folder.take_in() == 1
    assert folder.kept("b.txt") == "bbbbbbbb"
    assert folder.paths() == ["b.txt"]


def test_a_copy_with_its_time_preserved_is_a_file_of_its_own(folder: Folder) -> None:
    folder.put("a.txt", "copied")
    folder.take_in()
    first = folder.id("a.txt")
    shutil.copy2(folder.root / "a.txt", folder.root / "b.txt")
    folder.take_in()

    assert folder.paths() == ["a.txt", "b.txt"]
    assert folder.id("a.txt") == first
    assert folder.kept("b.txt") == "copied"


def test_a_copy_of_what_a_file_was_does_not_take_its_identity_when_the_file_is_edited(folder: Folder) -> None:
    folder.put("a.txt", "draft")
    folder.take_in()
    first = folder.id("a.txt")
    shutil.copy2(folder.root / "a.txt", folder.root / "a.bak.txt")
    folder.put("a.txt", "final")
    folder.take_in()

    assert folder.id("a.txt") == first
    assert (folder.kept("a.txt"), folder.kept("a.bak.txt")) == ("final", "draft")


def test_a_file_that_gets_the_text_of_a_vanished_file_stays_itself(folder: Folder) -> None:
    folder.put("a.txt", "one text")
    folder.put("b.txt", "another text")
    folder.take_in()
    first = folder.id("a.txt")
    (folder.root / "b.txt").unlink()
    folder.scan()
    folder.put("a.txt", "another text")
    folder.take_in()

    assert folder.id("a.txt") == first
    assert folder.kept("a.txt") == "another text"


def test_hard_links_are_separate_files_and_a_renamed_link_is_followed(folder: Folder) -> None:
    folder.put("a.txt", "linked")
    os.link(folder.root / "a.txt", folder.root / "b.txt")
    folder.take_in()
    first, second = folder.id("a.txt"), folder.id("b.txt")
    assert first != second
    (folder.root / "b.txt").rename(folder.root / "c.txt")

    assert folder.take_in() == 0
    assert (folder.id("a.txt"), folder.id("c.txt")) == (first, second)
    assert folder.paths() == ["a.txt", "c.txt"]


def test_another_extension_makes_another_kind_of_file(folder: Folder) -> None:
    folder.put("page.txt", "# Seal\n\nhttps is not all")
    folder.take_in()
    first = folder.id("page.txt")
    (folder.root / "page.txt").rename(folder.root / "page.md")
    folder.scan()

    assert folder.file("page.md").mime == "text/markdown"
    assert folder.id("page.md") == first
    assert folder.digest() == 1
    assert folder.row("SELECT title FROM documents WHERE file_id = ?", first) == ("Seal",)


def test_a_file_that_lost_its_inode_on_the_way_is_known_by_its_content(folder: Folder) -> None:
    folder.put("here/a.txt", "carried")
    folder.take_in()
    first = folder.id("here/a.txt")
    folder.put("there/a.txt", "carried")
    shutil.rmtree(folder.root / "here")

    assert folder.take_in() == 0
    assert folder.id("there/a.txt") == first
    assert folder.paths() == ["there/a.txt"]


def test_a_vault_restored_from_a_backup_is_not_digested_again(folder: Folder, tmp_path: Path) -> None:
    for number in range(20):
        folder.put(f"notes/{number}.txt")
    folder.take_in()
    shutil.copytree(folder.root / "notes", tmp_path / "backup")
    shutil.rmtree(folder.root / "notes")
    folder.scan()
    assert folder.paths() == []
    shutil.copytree(tmp_path / "backup", folder.root / "notes", copy_function=shutil.copyfile)
    report = folder.scan()

    assert (report.new, report.changed, report.returned) == (0, 0, 20)
    assert folder.digest() == 0
    assert len(folder.paths()) == 20


def test_each_new_path_takes_over_one_of_several_equal_files(folder: Folder) -> None:
    for name in ("x/a.txt", "x/b.txt", "y/a.txt"):
        folder.put(name, "all alike")
    folder.take_in()
    ids = {name: folder.id(name) for name in ("x/a.txt", "x/b.txt", "y/a.txt")}
    shutil.rmtree(folder.root / "x")
    shutil.rmtree(folder.root / "y")
    folder.put("z/b.txt", "all alike")
    folder.put("z/a.txt", "all alike")
    folder.put("z/c.txt", "all alike")

    assert folder.take_in() == 0
    assert folder.id("z/b.txt") == ids["x/b.txt"]
    assert {folder.id("z/a.txt"), folder.id("z/c.txt")} == {ids["x/a.txt"], ids["y/a.txt"]}


def test_an_empty_file_is_never_taken_for_another(folder: Folder) -> None:
    (folder.root / "a.txt").touch()
    folder.take_in()
    first = folder.id("a.txt")
    (folder.root / "a.txt").rename(folder.root / "b.txt")
    folder.take_in()

    assert folder.id("b.txt") != first
    assert folder.paths() == ["b.txt"]


def test_a_file_moved_while_it_is_digested_ends_under_its_new_path(folder: Folder) -> None:
    for number in range(3):
        folder.put(f"old/{number}.txt", f"pelican {number}")
    folder.scan()

    def rename() -> None:
        folder.keeper.meanwhile = lambda: None
        (folder.root / "old").rename(folder.root / "new")
        folder.scan()

    folder.keeper.meanwhile = rename

    assert folder.digest() == 3
    assert folder.found("pelican") == ["new/0.txt", "new/1.txt", "new/2.txt"]
    for number in range(3):
        path = f"new/{number}.txt"
        assert artifacts.of_digest(folder.db, path, "keeper")["copy.txt"].startswith(b"pelican %d" % number)
    assert folder.problems() == []


def test_a_folder_that_became_a_link_to_its_new_place_is_a_move(folder: Folder) -> None:
    folder.put("old/a.txt", "linked folder")
    folder.take_in()
    first = folder.id("old/a.txt")
    (folder.root / "old").rename(folder.root / "new")
    (folder.root / "old").symlink_to("new")

    assert folder.take_in() == 0
    assert folder.paths() == ["new/a.txt"]
    assert folder.id("new/a.txt") == first


def test_another_device_number_alone_causes_no_new_reading(folder: Folder) -> None:
    folder.put("a.txt", "same")
    folder.take_in()
    folder.database.write(lambda db: db.execute("UPDATE files SET dev = '99', hash = 'whatever it was'"))
    report = folder.scan()

    assert not report.has_changes
    assert folder.row("SELECT dev = '99', hash FROM files") == (0, "whatever it was")
    assert folder.digest() == 0


def _swap(first: Path, second: Path) -> None:
    aside = first.with_name("aside")
    first.rename(aside)
    second.rename(first)
    aside.rename(second)
