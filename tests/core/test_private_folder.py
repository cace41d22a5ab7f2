"""A folder of one's own, among others who make and sweep theirs at the same moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from chyme.core.files.temporary_folder import TemporaryFolder

PREFIX = "chyme-tried-"


def test_those_who_come_at_the_same_moment_do_not_sweep_each_other_away() -> None:
    def come_and_go(_number: int) -> None:
        folder = TemporaryFolder(PREFIX)
        try:
            (folder.path / "mine").write_text("still here")
            assert (folder.path / "mine").read_text() == "still here"
        finally:
            folder.remove()

    with ThreadPoolExecutor(8) as crowd:
        list(crowd.map(come_and_go, range(300)))
