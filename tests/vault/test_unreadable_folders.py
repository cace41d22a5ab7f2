"""A folder that cannot be read proves nothing about its files. Tested as a user to whom permissions apply."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from watching import Folder

from chyme.errors import VaultError

NOBODY = 65534


@pytest.fixture(autouse=True)
def rehearsed(tmp_path: Path) -> None:
    """Import everything before the rights are dropped: Python itself may be where only root can read."""
    folder = Folder(tmp_path / "rehearsal")
    folder.put("a.txt", "walrus")
    folder.take_in()
    folder.close()


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that an unprivileged user can reach (pytest's own folders are closed to others)."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)
    yield path
    for folder, inside, _ in os.walk(path):
        for name in inside:
            Path(folder, name).chmod(0o755)  # before it is walked into
    shutil.rmtree(path)


def as_a_user(story: Callable[[Path], None], place: Path) -> None:
    """Run the story in a child process to which permissions apply."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setresgid(NOBODY, NOBODY, NOBODY)
                os.setresuid(NOBODY, NOBODY, NOBODY)
            story(place)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, "the story failed; see above"


@pytest.mark.parametrize("mode", [0o000, 0o111, 0o444])
def test_a_folder_made_unreadable_for_a_while_loses_nothing(place: Path, mode: int) -> None:
    def story(place: Path) -> None:
        folder = Folder(place / "vault")
        for number in range(5):
            folder.put(f"dark/deep/{number}.txt", f"pelican {number}")
            folder.put(f"light/{number}.txt")
        assert folder.take_in() == 10
        everything = folder.paths()
        (folder.root / "dark").chmod(mode)
        report = folder.scan()
        assert report.vanished == 0
        if mode != 0o111:  # 0o111 can be entered but not listed: the folder below is not found, yet it is there
            assert report.unreadable
        folder.scanner.scan_paths(["dark", "dark/deep", "dark/deep/0.txt"])
        assert folder.paths() == everything
        (folder.root / "dark").chmod(0o755)
        assert not folder.scan().has_changes
        assert folder.digest() == 0
        assert folder.paths() == everything
        folder.close()

    as_a_user(story, place)


def test_an_unreadable_file_is_reported_not_waited_for_and_taken_when_it_can_be_read(place: Path) -> None:
    def story(place: Path) -> None:
        folder = Folder(place / "vault")
        folder.put("a.txt", "walrus")
        path = folder.put("sub/b.txt", "otter")
        path.chmod(0)
        report = folder.scan()
        assert (folder.paths(), report.unreadable, folder.scanner.unfinished_count) == (["a.txt"], ["sub/b.txt"], 0)
        path.chmod(0o644)
        assert folder.take_in() == 2
        path.write_text("changed and closed again")
        path.chmod(0)
        folder.scan()
        assert folder.paths() == ["a.txt", "sub/b.txt"]
        assert folder.digest() == 0
        folder.close()

    as_a_user(story, place)


def test_an_unreadable_vault_is_an_error_and_hides_nothing(place: Path) -> None:
    def story(place: Path) -> None:
        folder = Folder(place / "vault")
        folder.put("a.txt")
        folder.take_in()
        folder.root.chmod(0o300)
        try:
            folder.scan()
        except VaultError as error:
            assert "cannot be read (Permission denied)" in str(error)
        else:
            raise AssertionError("no error")
        assert folder.paths() == ["a.txt"]
        folder.root.chmod(0o755)
        assert not folder.scan().has_changes
        folder.close()

    as_a_user(story, place)


def test_a_file_in_an_unreadable_folder_is_not_taken_for_moved(place: Path) -> None:
    def story(place: Path) -> None:
        folder = Folder(place / "vault")
        folder.put("dark/a.txt", "the same text")
        folder.take_in()
        first = folder.id("dark/a.txt")
        (folder.root / "dark").chmod(0)
        folder.put("b.txt", "the same text")
        folder.take_in()
        assert folder.id("b.txt") != first
        assert folder.paths() == ["b.txt", "dark/a.txt"]
        folder.close()

    as_a_user(story, place)
