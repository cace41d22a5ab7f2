"""A backup of a busy vault contains everything done before it began; a kill at any moment loses nothing."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import threading
import time
from contextlib import closing
from pathlib import Path
from signal import SIGKILL, SIGTERM

import pytest
from running_chyme import SAMPLES, RunningChyme, Server, unmount, wait_until
from waiting import AMPLE

pytestmark = pytest.mark.slow

NOTES = 120
COMPLETED = "SELECT file_path, digester, content_hash, content FROM digests WHERE status = 'completed'"
TITLES = "SELECT f.path, e.value FROM edits e JOIN files f ON f.id = e.file_id"


def rows(vault: Path, question: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(vault / ".chyme/vault.db", timeout=30)) as db:
        return db.execute(question).fetchall()


def set_title(server: Server, number: int, title: str) -> None:
    answer = server.http.patch(f"/api/files/note%20{number}.md", json={"title": title})
    assert answer.status_code == 200, answer.text


def assert_healthy(chyme: RunningChyme, vault: Path) -> None:
    verified = chyme.run("verify", vault=vault)
    assert (verified.code, verified.out) == (0, "all is well\n"), verified.out + verified.err


def test_a_backup_made_during_digestion_and_edits_contains_all_that_came_before(chyme: RunningChyme) -> None:
    for number in range(NOTES):
        chyme.drop(f"note {number}.md", f"# Note {number}\n\nA note about marigolds, the {number}th of them.\n")
    chyme.drop("contract.pdf", (SAMPLES / "contract.pdf").read_bytes())
    server = chyme.serve()
    wait_until(lambda: len(chyme.rows(COMPLETED)) > 60)
    for number in range(10):
        set_title(server, number, f"By hand {number}")
    before = set(chyme.rows(COMPLETED + " AND digester NOT LIKE 'search-%'"))
    assert chyme.rows("SELECT count(*) FROM digests WHERE status = 'todo'")[0][0] > 0

    stop, made = threading.Event(), list[int]()

    def edit() -> None:
        while not stop.is_set():
            set_title(server, 10 + len(made) % 50, f"Meanwhile {len(made)}")
            made.append(1)

    editing = threading.Thread(target=edit)
    editing.start()
    try:
        ended = chyme.run("backup", str(chyme.folder / "b.tar"), "--files", "--json")
    finally:
        stop.set()
        editing.join()
    assert ended.code == 0, ended.err
    assert made, "nothing was edited during the backup"
    assert chyme.run("backup", "--check", str(chyme.folder / "b.tar")).code == 0

    new = chyme.folder / "new"
    back = chyme.run("restore", str(chyme.folder / "b.tar"), "--into", str(new), anywhere=True)
    assert back.code == 0, back.err
    assert_healthy(chyme, new)
    edits = {path: value for path, value in rows(new, TITLES)}  # noqa: C416 - rows have no known length
    assert all(edits[f"note {number}.md"] == f'"By hand {number}"' for number in range(10))
    after = {(path, digester): content for path, digester, _, content in rows(new, COMPLETED)}
    missing = [(path, digester) for path, digester, _, _ in before if (path, digester) not in after]
    assert missing == [], f"{len(missing)} digests that were completed before are missing"
    refused = chyme.run("restore", str(chyme.folder / "b.tar"), "--into", str(chyme.vault), anywhere=True)
    assert refused.code == 2
    assert "open in another chyme process" in refused.err
    assert server.end(SIGTERM) == 0

    moments = {
        (row[0], row[1]): row[2]
        for row in rows(new, "SELECT file_path, digester, updated_at FROM digests WHERE status = 'completed'")
    }
    finished = chyme.run("digest", vault=new)
    assert finished.code == 0, finished.err
    assert_healthy(chyme, new)
    assert rows(new, "SELECT count(*) FROM digests WHERE settled = 0") == [(0,)]
    assert rows(new, "SELECT count(*) FROM files WHERE vanished_at IS NULL") == [(NOTES + 1,)]
    again = {
        (row[0], row[1]): row[2]
        for row in rows(new, "SELECT file_path, digester, updated_at FROM digests WHERE status = 'completed'")
    }
    redone = [
        key
        for key, moment in moments.items()
        if again[key] != moment and not str(key[1]).startswith(("search-", "tag"))
    ]
    assert redone == [], "digests that were completed in the backup were made again"


def test_restoring_onto_copies_of_the_same_files_digests_nothing_again(chyme: RunningChyme) -> None:
    for number in range(5):
        chyme.drop(f"note {number}.md", f"# Note {number}\n\nmarigold {number}\n")
    chyme.drop("contract.pdf", (SAMPLES / "contract.pdf").read_bytes())
    assert chyme.run("digest").code == 0
    assert chyme.run("edit", "note 1.md", "--title", "By hand").code == 0
    assert chyme.run("backup", str(chyme.folder / "b.tar")).code == 0
    new = chyme.folder / "new"
    new.mkdir()
    for file in chyme.vault.glob("*.*"):
        if file.is_file():
            (new / file.name).write_bytes(file.read_bytes())  # another inode, another time
            os.utime(new / file.name, (1_000_000_000, 1_000_000_000))

    assert chyme.run("restore", str(chyme.folder / "b.tar"), "--into", str(new), anywhere=True).code == 0
    question = "SELECT file_path, digester, status, updated_at FROM digests ORDER BY 1, 2"
    before = rows(new, question)
    assert chyme.run("digest", vault=new).code == 0

    assert rows(new, question) == before
    assert rows(new, "SELECT count(*) FROM files WHERE vanished_at IS NOT NULL") == [(0,)]
    assert chyme.run("show", "note 1.md", "--json", vault=new).json["document"]["title"] == "By hand"
    assert_healthy(chyme, new)


@pytest.fixture
def large(chyme: RunningChyme) -> RunningChyme:
    """A vault whose backup takes a moment."""
    chyme.drop("note.md", "# Note\n\nmarigold\n")
    for number in range(6):
        chyme.drop(f"ballast {number}.bin", random.Random(number).randbytes(20 << 20))
    assert chyme.run("digest").code == 0
    return chyme


def kill_at_work(chyme: RunningChyme, workplace: Path, seconds: float, *arguments: str) -> bool:
    """Kill a command `seconds` after its work folder has appeared. Return whether it was still running."""
    nowhere = subprocess.DEVNULL
    process = chyme.popen(*arguments, env=chyme.environment(), stdout=nowhere, stderr=nowhere)
    wait_until(lambda: process.poll() is not None or any(workplace.glob(".chyme-*-*/*")))
    time.sleep(seconds)
    alive = process.poll() is None
    process.send_signal(SIGKILL)
    process.wait(AMPLE)
    return alive


def test_a_kill_during_a_backup_leaves_the_vault_whole_and_no_broken_archive(large: RunningChyme) -> None:
    shelf = large.folder / "shelf"
    killed = 0
    for turn in range(6):
        archive = shelf / str(turn) / "b.tar"
        archive.parent.mkdir(parents=True)
        command = ("backup", os.fspath(archive), "--files", "--vault", os.fspath(large.vault))
        killed += kill_at_work(large, archive.parent, turn * 0.06, *command)
        if archive.exists():
            assert large.run("backup", "--check", os.fspath(archive)).code == 0
    assert killed
    assert_healthy(large, large.vault)
    assert any((shelf / "0").iterdir())
    assert large.run("backup", os.fspath(shelf / "0/last.tar"), "--files").code == 0
    assert [path.name for path in (shelf / "0").iterdir()] == ["last.tar"], (
        "files of the killed backup were not removed"
    )


def test_a_kill_during_a_restore_leaves_the_old_or_the_new_vault(large: RunningChyme) -> None:
    archive = os.fspath(large.folder / "b.tar")
    assert large.run("edit", "note.md", "--title", "From the backup").code == 0
    assert large.run("backup", archive, "--files").code == 0
    old = large.folder / "old"
    old.mkdir()
    (old / "note.md").write_text("# Note\n\nmarigold\n")
    os.utime(old / "note.md", (1_000_000_000, 1_000_000_000))
    assert large.run("digest", vault=old).code == 0
    assert large.run("edit", "note.md", "--title", "From before", vault=old).code == 0

    killed = 0
    for turn in range(4):
        new = large.folder / f"new {turn}"
        shutil.copytree(old, new)
        command = ("restore", archive, "--into", os.fspath(new))
        killed += kill_at_work(large, new / ".chyme", turn * 0.15, *command)
        assert_healthy(large, new)
        title = large.run("show", "note.md", "--json", vault=new).json["document"]["title"]
        assert title in ("From before", "From the backup")
    assert killed
    new = large.folder / "new 0"
    assert large.run("restore", *command[1:3], os.fspath(new), anywhere=True).code == 0
    assert large.run("show", "note.md", "--json", vault=new).json["document"]["title"] == "From the backup"
    assert not list((new / ".chyme").glob(".chyme-restore-*"))


@pytest.mark.parametrize("size", ["300k", "8m"])
def test_a_full_disk_is_reported_and_no_partial_archive_is_left(chyme: RunningChyme, tmp_path: Path, size: str) -> None:
    """Too small for the copy of the database, or too small for the files."""
    chyme.drop("note.md", "# Note\n\nmarigold\n")
    chyme.drop("ballast.bin", random.Random(1).randbytes(10 << 20))
    assert chyme.run("digest").code == 0
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    if (
        os.geteuid() != 0
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", shelf], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("a small file system cannot be mounted here")
    try:
        ended = chyme.run("backup", os.fspath(shelf / "b.tar"), "--files")
        left = list(shelf.iterdir())
    finally:
        unmount(shelf)
    assert ended.code == 2
    assert "room" in ended.err
    assert "Traceback" not in ended.err
    assert left == []
    assert_healthy(chyme, chyme.vault)
