"""Scratch folders: a dead process leaves none behind, and none is taken from a living process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from chyme.core.pipeline.leases import this_process
from chyme.core.pipeline.scratch_folders import NAMELESS_SECONDS, ScratchFolders

HOLDER = """
import sys
from pathlib import Path
from chyme.core.pipeline.leases import this_process
from chyme.core.pipeline.scratch_folders import ScratchFolders

scratch = ScratchFolders(Path(sys.argv[1]), this_process())
with scratch.lend("7-kept"), scratch.lend(None), scratch.lend("8-full") as full:
    (full / "part").write_text("half a recording")
    print("ready", flush=True)
    sys.stdin.read()
"""


def names(root: Path) -> set[str]:
    return {folder.name for folder in root.iterdir()}


def start_holder(root: Path) -> subprocess.Popen[bytes]:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, os.fspath(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None and holder.stdout.readline() == b"ready\n"
    return holder


def test_nothing_empty_stays_behind_a_process_that_was_killed(tmp_path: Path) -> None:
    with start_holder(tmp_path) as holder:
        assert len(names(tmp_path)) == 3
        holder.send_signal(signal.SIGKILL)
    scratch = ScratchFolders(tmp_path, this_process())
    assert names(tmp_path) == {scratch._lent.name, "8-full"}, "partial work stays for the next attempt"
    scratch.close()
    assert names(tmp_path) == {"8-full"}


def test_folders_lent_to_a_living_process_stay(tmp_path: Path) -> None:
    with start_holder(tmp_path) as holder:
        before = names(tmp_path)
        scratch = ScratchFolders(tmp_path, this_process())
        scratch.remove_stale()
        assert names(tmp_path) == before | {scratch._lent.name}
        scratch.close()
        holder.communicate()


def test_a_folder_whose_process_died_before_it_named_itself_is_removed_after_a_while(tmp_path: Path) -> None:
    nameless = tmp_path / "lent-0123456789abcdef"
    nameless.mkdir()
    scratch = ScratchFolders(tmp_path, this_process())
    assert nameless.exists(), "its process may be about to name itself"
    long_ago = time.time() - 2 * NAMELESS_SECONDS
    os.utime(nameless, (long_ago, long_ago))
    scratch.remove_stale()
    assert not nameless.exists()
    scratch.close()


def test_a_reusable_folder_that_stayed_empty_is_removed_after_its_attempt(tmp_path: Path) -> None:
    scratch = ScratchFolders(tmp_path, this_process())
    with scratch.lend("7-kept") as folder:
        scratch.remove_stale()
        assert folder.exists()
    assert not folder.exists()
    scratch.close()
    assert names(tmp_path) == set()
