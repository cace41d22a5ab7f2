"""The cache of vectors is in a folder that others may have written to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chyme.core.files.untrusted_files import open_lock, open_regular


def test_a_lock_is_not_followed_to_another_file(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "lock").symlink_to(victim)
    with pytest.raises(OSError, match="lock"):
        open_lock(tmp_path / "lock")
    assert victim.read_text() == "precious"


def test_a_lock_changes_no_existing_file_and_is_private_to_its_owner(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("kept")
    open_lock(tmp_path / "lock").close()
    assert (tmp_path / "lock").read_text() == "kept"
    open_lock(tmp_path / "new").close()
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600


def test_a_pipe_is_refused_rather_than_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "0-64.vectors")
    with pytest.raises(OSError, match="no plain file"):
        open_regular(tmp_path / "0-64.vectors")
