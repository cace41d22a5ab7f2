"""Renaming without writing over anything, by each of the three ways."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chyme.vault.safe_move import rename_by_hard_link, rename_in, rename_over_placeholder

Way = Callable[[int, str, str], None]
WAYS = [rename_in, rename_by_hard_link, rename_over_placeholder]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "a").write_text("mine")
    handle = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield handle
    os.close(handle)


@pytest.mark.parametrize("way", WAYS)
def test_the_file_is_the_same_under_its_new_name(folder: int, tmp_path: Path, way: Way) -> None:
    before = (tmp_path / "a").stat()
    way(folder, "a", "b")
    after = (tmp_path / "b").stat()
    assert os.listdir(tmp_path) == ["b"]
    assert (after.st_ino, after.st_mtime_ns, after.st_nlink) == (before.st_ino, before.st_mtime_ns, 1)


@pytest.mark.parametrize("way", WAYS)
def test_no_file_is_written_over(folder: int, tmp_path: Path, way: Way) -> None:
    (tmp_path / "b").write_text("theirs")
    with pytest.raises(FileExistsError):
        way(folder, "a", "b")
    assert ((tmp_path / "a").read_text(), (tmp_path / "b").read_text()) == ("mine", "theirs")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("taken_by", ["a folder", "a link to nowhere", "an empty file"])
def test_nothing_else_is_written_over(folder: int, tmp_path: Path, way: Way, taken_by: str) -> None:
    if taken_by == "a folder":
        (tmp_path / "b").mkdir()
    elif taken_by == "an empty file":
        (tmp_path / "b").touch()
    else:
        (tmp_path / "b").symlink_to("nowhere")
    with pytest.raises(FileExistsError):
        way(folder, "a", "b")
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]
    assert (tmp_path / "a").read_text() == "mine"


@pytest.mark.parametrize("way", WAYS)
def test_a_link_is_renamed_itself(folder: int, tmp_path: Path, way: Way) -> None:
    (tmp_path / "link").symlink_to("a")
    way(folder, "link", "other")
    assert os.readlink(tmp_path / "other") == "a"
    assert sorted(os.listdir(tmp_path)) == ["a", "other"]


@pytest.mark.parametrize("way", WAYS)
def test_a_file_that_is_not_there_leaves_nothing_behind(folder: int, tmp_path: Path, way: Way) -> None:
    with pytest.raises(FileNotFoundError):
        way(folder, "nobody", "b")
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("way", WAYS)
def test_a_name_that_is_too_long_is_reported(folder: int, tmp_path: Path, way: Way) -> None:
    with pytest.raises(OSError) as caught:
        way(folder, "a", "b" * 300)
    assert caught.value.errno == errno.ENAMETOOLONG
    assert os.listdir(tmp_path) == ["a"]


def test_names_need_not_be_utf_8(folder: int, tmp_path: Path) -> None:
    rename_in(folder, "a", os.fsdecode(b"caf\xe9"))
    assert os.listdir(os.fsencode(tmp_path)) == [b"caf\xe9"]
    rename_in(folder, os.fsdecode(b"caf\xe9"), "café")
    assert os.listdir(tmp_path) == ["café"]
