"""A temporary folder, while other threads make and sweep theirs at the same moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from chyme.core.files.temporary_folder import TemporaryFolder

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
