"""A temporary folder, while other threads make and sweep theirs at the same moment."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from chyme.core.files.temporary_folder import LockedFolder, TemporaryFolder

PREFIX = "chyme-tried-"


def test_folders_made_at_the_same_moment_are_not_swept_by_each_other() -> None:
    def make_and_remove(_number: int) -> None:
        folder = TemporaryFolder(PREFIX)
        try:
            (folder.path / "mine").write_text("still here")
            assert (folder.path / "mine").read_text() == "still here"
        finally:
            folder.remove()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(make_and_remove, range(300)))


def test_what_a_killed_process_left_is_removed_and_what_is_in_use_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, foreign = tmp_path / f"{PREFIX}left", tmp_path / "another-left"
    for folder in (left, foreign):
        (folder / "inner").mkdir(parents=True)
    first = LockedFolder(PREFIX)
    (first.path / "mine").write_text("still here")

    second = LockedFolder(PREFIX)

    assert not left.exists() and foreign.exists()
    assert (first.path / "mine").read_text() == "still here"
    for used in (first, second):
        used.remove()
        used.remove()  # closing twice does no harm
        assert not used.path.exists()
