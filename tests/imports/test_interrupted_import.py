"""An import that is killed goes on where it was: nothing is lost, nothing is there twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from made_exports import many_letters
from waiting import wait_until

from chyme.application.app import open_app

pytestmark = pytest.mark.slow

LETTERS = 450


def importing(vault: Path, export: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "chyme", "import", "paperless", str(export), "--vault", str(vault)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def letters(vault: Path) -> list[Path]:
    return list(vault.glob("Paperless/letter *.txt"))


def has_letters(vault: Path, count: int) -> bool:
    return len(letters(vault)) >= count


def test_an_import_killed_in_the_middle_is_continued_without_loss_or_doubles(tmp_path: Path) -> None:
    export, vault = many_letters(tmp_path / "export", LETTERS), tmp_path / "vault"
    vault.mkdir()
    for at_least in (30, 160):
        process = importing(vault, export)
        try:
            wait_until(partial(has_letters, vault, at_least))
            os.kill(process.pid, signal.SIGKILL)
        finally:
            process.kill()
            process.communicate()
    interrupted_at = len(letters(vault))
    assert 0 < interrupted_at < LETTERS, "it was not killed in the middle"

    process = importing(vault, export)
    _, complaints = process.communicate()
    assert process.returncode == 0, complaints

    assert len(letters(vault)) == LETTERS
    with open_app(vault) as app:
        app.scan()
        db = app.database.read()
        assert db.execute("SELECT count(*), count(DISTINCT hash) FROM files").fetchone() == (LETTERS, LETTERS)
        (recorded,) = db.execute("SELECT count(DISTINCT file_id) FROM imported_items").fetchone()
        assert recorded == LETTERS
        for number in (1, 131, 261, LETTERS):
            shown = app.edits.get(f"Paperless/letter {number:05}.txt")
            assert shown.document.title == f"Document {number}"
            assert shown.properties["archive number"] == str(number)
    assert list((vault / ".chyme/incoming").iterdir()) == []
