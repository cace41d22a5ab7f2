"""Folders for files on their way in."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from waiting import AMPLE

from chyme.vault.intake.upload_staging import UploadStaging


def test_a_lent_folder_is_gone_afterwards(tmp_path: Path) -> None:
    incoming = UploadStaging(tmp_path)
    with incoming.temporary_folder() as folder:
        (folder / "a").write_text("x")
        assert folder.stat().st_mode & 0o077 == 0
    assert list(incoming.folder.iterdir()) == []


def test_a_folder_in_use_is_not_swept_away(tmp_path: Path) -> None:
    with UploadStaging(tmp_path).temporary_folder() as folder:
        assert UploadStaging(tmp_path).sweep() == 0
        assert folder.exists()


def test_the_folder_of_a_killed_process_is_swept_away(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from chyme.vault.intake.upload_staging import UploadStaging\n"
        "with UploadStaging(Path(sys.argv[1])).temporary_folder() as folder:\n"
        "    (folder / 'half').write_text('x'); print('ready', flush=True); time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, os.fspath(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGKILL)
        process.wait(AMPLE)
    incoming = UploadStaging(tmp_path)
    assert len(list(incoming.folder.iterdir())) == 1
    assert incoming.sweep() == 1
    assert list(incoming.folder.iterdir()) == []


def test_nothing_to_sweep_is_no_trouble(tmp_path: Path) -> None:
    assert UploadStaging(tmp_path).sweep() == 0
