"""The folder in which a worker keeps files."""

from __future__ import annotations

from pathlib import Path

import pytest

from chyme.errors import UsageError
from chyme.workers.scratch_root import ScratchRoot


def test_what_an_earlier_worker_left_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "old"
    folder.mkdir(parents=True)
    (folder / "file").write_text("left")

    ScratchRoot(tmp_path, 1000).close()

    assert not folder.exists()


def test_two_workers_do_not_share_a_folder(tmp_path: Path) -> None:
    first = ScratchRoot(tmp_path, 1000)
    with pytest.raises(UsageError, match="--scratch"):
        ScratchRoot(tmp_path, 1000)
    first.close()

    ScratchRoot(tmp_path, 1000).close()


def test_what_is_used_counts_against_the_quota(tmp_path: Path) -> None:
    scratch = ScratchRoot(tmp_path, 1_000_000)
    before = scratch.free_bytes()
    run = scratch.make("run")
    (run / "file").write_bytes(b"x" * 100_000)

    assert before == 1_000_000
    assert scratch.free_bytes() <= 900_000
    (run / "more").write_bytes(b"x" * 1_000_000)
    assert scratch.free_bytes() == 0
    scratch.remove(run)
    assert scratch.free_bytes() == before
    scratch.close()
