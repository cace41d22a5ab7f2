"""A vault on a disk that cannot be written: one sentence with the way out, and known data can still be read."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from running_chyme import Ended, RunningChyme, unmount

pytestmark = pytest.mark.slow


@pytest.fixture
def seal(chyme: RunningChyme) -> Iterator[object]:
    """Makes a folder read-only: with a mount for root, whom modes do not stop, otherwise with its modes."""
    sealed: list[Path] = []

    def make_read_only(folder: Path) -> None:
        if os.geteuid() == 0:
            for options in (["--bind"], ["-o", "remount,ro,bind"]):
                mounted = subprocess.run(
                    ["mount", *options, folder, folder], capture_output=True, text=True, check=False
                )
                if mounted.returncode:
                    pytest.skip(f"a read-only mount cannot be made here: {mounted.stderr.strip()}")
                if options == ["--bind"]:
                    sealed.append(folder)
            return
        sealed.append(folder)
        for top, _, names in os.walk(folder):
            for name in names:
                os.chmod(os.path.join(top, name), 0o400)
            os.chmod(top, 0o500)

    yield make_read_only
    chyme.close()
    for folder in reversed(sealed):
        if os.geteuid() == 0:
            unmount(folder)
        else:
            for top, _, names in os.walk(folder):
                os.chmod(top, 0o700)
                for name in names:
                    os.chmod(os.path.join(top, name), 0o600)


def assert_refused(ended: Ended) -> None:
    assert ended.code == 2, ended.err
    assert ended.err.startswith("chyme: ") and ended.err.count("\n") == 1, ended.err
    assert "read-only" in ended.err and "state_dir (CHYME_STATE_DIR)" in ended.err


def test_a_folder_that_cannot_be_written_is_reported_and_state_dir_helps(chyme: RunningChyme, seal: object) -> None:
    chyme.drop("note.md", "# Note\n\nmarigold")
    seal(chyme.vault)  # type: ignore[operator]
    for command in ("digest", "serve"):
        assert_refused(chyme.run(command, *(["--port", "0"] if command == "serve" else [])))
    elsewhere = {"CHYME_STATE_DIR": os.fspath(chyme.folder / "state")}
    assert chyme.run("digest", env=elsewhere).code == 0
    assert "note.md" in chyme.run("search", "marigold", env=elsewhere).out


def test_a_digested_vault_can_be_read_when_it_is_read_only(chyme: RunningChyme, seal: object) -> None:
    chyme.drop("note.md", "# Note\n\nmarigold")
    assert chyme.run("digest").code == 0
    before = sorted(path.name for path in (chyme.vault / ".chyme").iterdir())
    seal(chyme.vault)  # type: ignore[operator]

    found = chyme.run("search", "marigold")
    assert (found.code, found.err) == (0, "") and "note.md" in found.out, found
    assert chyme.run("status", "--json").json["files"] == 1
    assert "note.md" in chyme.run("show", "note.md").out
    for command in (
        ["digest"],
        ["edit", "note.md", "--title", "Flowers"],
        ["reset", "--yes"],
        ["serve", "--port", "0"],
    ):
        assert_refused(chyme.run(*command))
    assert sorted(path.name for path in (chyme.vault / ".chyme").iterdir()) == before


def test_the_journal_of_a_killed_chyme_is_read_as_well(chyme: RunningChyme, seal: object) -> None:
    chyme.drop("note.md", "# Note\n\nmarigold")
    assert chyme.run("digest").code == 0
    state = chyme.vault / ".chyme"
    with closing(sqlite3.connect(state / "vault.db")) as db:
        db.execute("UPDATE documents SET title = 'Flowers of the field'")
        db.commit()
        for end in ("", "-wal", "-shm"):  # as a kill leaves them
            shutil.copy(f"{state / 'vault.db'}{end}", f"{chyme.folder / 'copy'}{end}")
    for end in ("", "-wal", "-shm"):
        shutil.move(f"{chyme.folder / 'copy'}{end}", f"{state / 'vault.db'}{end}")
    seal(chyme.vault)  # type: ignore[operator]
    ended = chyme.run("show", "note.md")
    assert "Flowers of the field" in ended.out, ended
