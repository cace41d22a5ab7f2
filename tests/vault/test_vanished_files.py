"""Vanished files are hidden at once, come back with everything, and are purged without a trace."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from watching import Folder

from chyme.errors import UsageError, VaultError
from chyme.model import iso
from chyme.vault.vanished_files import purge_vanished

SECRET = "zanzibarsecret"


def purge(folder: Folder, days: float = 30, confirmed: bool = False) -> int:
    folder.forward(days)
    return purge_vanished(folder.database, folder.intake, iso(folder.now), confirmed)


def traces(folder: Folder, word: str) -> list[str]:
    """Files in chyme's own folder that contain the word."""
    found = []
    for path in sorted((folder.root / ".chyme").rglob("*")):
        if path.is_file() and word.encode() in path.read_bytes().lower():
            found.append(path.name)
    return found


def test_a_vanished_file_is_hidden_at_once_and_comes_back_with_everything(folder: Folder) -> None:
    folder.put("a.txt", "walrus")
    folder.put("b.txt", "otter")
    folder.take_in()
    first = folder.id("a.txt")
    aside = folder.root.parent / "aside"
    (folder.root / "a.txt").rename(aside)
    report = folder.scan()
    assert (report.vanished, folder.paths(), folder.found("walrus")) == (1, ["b.txt"], [])
    aside.rename(folder.root / "a.txt")
    report = folder.scan()

    assert (report.returned, report.new, report.changed) == (1, 0, 0)
    assert folder.found("walrus") == ["a.txt"]
    assert folder.id("a.txt") == first
    assert folder.digest() == 0


def test_a_file_that_comes_back_with_other_content_is_digested(folder: Folder) -> None:
    folder.put("a.txt", "walrus").unlink()
    folder.put("a.txt", "walrus")
    folder.take_in()
    (folder.root / "a.txt").unlink()
    folder.scan()
    folder.put("a.txt", "otter")

    assert folder.take_in() == 1
    assert (folder.found("walrus"), folder.found("otter")) == ([], ["a.txt"])


def test_a_half_digested_file_goes_on_when_it_is_back(folder: Folder) -> None:
    folder.put("a.txt", "walrus")
    folder.scan()
    aside = folder.root.parent / "aside"
    (folder.root / "a.txt").rename(aside)
    folder.scan()
    assert folder.digest() == 0
    aside.rename(folder.root / "a.txt")
    folder.scan()

    assert folder.digest() == 1


@pytest.mark.parametrize("changed_before", [False, True])
def test_a_purged_file_leaves_no_trace(folder: Folder, changed_before: bool) -> None:
    for number in range(30):
        folder.put(f"{number}.txt", f"harmless {number} " * 200)
    folder.put(f"sub/{SECRET}name.txt", f"{SECRET} " * (20_000 if changed_before else 500))
    folder.take_in()
    if changed_before:
        folder.put(f"sub/{SECRET}name.txt", f"shorter {SECRET} now")
        folder.take_in()
    assert traces(folder, SECRET)
    (folder.root / f"sub/{SECRET}name.txt").unlink()
    folder.scan()
    assert purge(folder, 0) == 1

    assert traces(folder, SECRET) == []
    assert folder.found(SECRET) == []
    assert folder.problems() == []


def test_nothing_is_purged_before_its_time_or_while_it_is_there(folder: Folder) -> None:
    folder.put("a.txt")
    folder.put("b.txt")
    folder.take_in()
    (folder.root / "a.txt").unlink()
    folder.scan()
    vanished_at = folder.now

    assert purge_vanished(folder.database, folder.intake, iso(vanished_at.replace(year=2025))) == 0
    assert purge(folder) == 1
    assert folder.row("SELECT count(*) FROM files") == (1,)


def test_after_too_many_vanished_at_once_nothing_is_purged_until_confirmed(folder: Folder) -> None:
    for number in range(40):
        folder.put(f"{'lost' if number < 12 else 'kept'}/{number}.txt")
    folder.take_in()
    shutil.rmtree(folder.root / "lost")
    assert folder.scan().vanished == 12

    with pytest.raises(UsageError, match="12 of 40 files vanished at once"):
        purge(folder)
    assert folder.row("SELECT count(*) FROM files") == (40,)
    assert purge(folder, confirmed=True) == 12


def test_a_few_deleted_files_are_a_person_tidying_up(folder: Folder) -> None:
    for number in range(4):
        folder.put(f"{number}.txt")
    folder.take_in()
    (folder.root / "0.txt").unlink()
    folder.scan()

    assert purge(folder) == 1


def test_when_nothing_is_left_even_a_small_vault_waits_for_a_person(folder: Folder) -> None:
    for number in range(3):
        folder.put(f"{number}.txt")
    folder.take_in()
    for number in range(3):
        (folder.root / f"{number}.txt").unlink()
    folder.scan()

    with pytest.raises(UsageError, match="3 of 3"):
        purge(folder)


def test_a_missing_vault_is_an_error_and_hides_nothing(folder: Folder, tmp_path: Path) -> None:
    folder.put("sub/a.txt")
    folder.take_in()
    folder.root.rename(tmp_path / "elsewhere")
    try:
        with pytest.raises(VaultError, match=r"vault: cannot be read \(No such file"):
            folder.scan()
        with pytest.raises(VaultError, match="cannot be read"):
            folder.scanner.scan_paths(["sub/a.txt"])
        assert folder.paths() == ["sub/a.txt"]
    finally:
        (tmp_path / "elsewhere").rename(folder.root)
    assert not folder.scan().has_changes


def test_a_file_that_became_a_folder_or_a_pipe_is_gone(folder: Folder) -> None:
    folder.put("a", "walrus")
    folder.put("b", "otter")
    folder.put("c")
    folder.take_in()
    (folder.root / "a").unlink()
    (folder.root / "b").unlink()
    folder.put("a/inside.txt")
    (folder.root / "b").symlink_to("nowhere")
    folder.scanner.scan_paths(["a", "b"])

    assert folder.paths() == ["a/inside.txt", "c"]
