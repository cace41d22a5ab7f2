"""Only the owner can access what chyme writes, for any umask and any earlier modes."""

from __future__ import annotations

import os
import stat
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from running_chyme import RunningChyme, wait_until

pytestmark = pytest.mark.slow

OTHERS = 0o077


@contextmanager
def umask(bits: int) -> Iterator[None]:
    before = os.umask(bits)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def readable_by_others(top: Path) -> list[str]:
    """All files and folders, including the top one, that others than the owner may access."""
    return [f"{mode(path):04o} {path}" for path in (top, *top.rglob("*")) if mode(path) & OTHERS]


def make_world_readable(top: Path) -> None:
    for path in (top, *top.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def test_the_state_of_a_vault_and_of_the_server_while_it_runs(chyme: RunningChyme) -> None:
    note = chyme.drop("note.md", "hello contract\n")
    server_dir = chyme.folder / "server"
    with umask(0):
        for folder in (chyme.vault / ".chyme", server_dir):
            folder.mkdir()
        (chyme.vault / ".chyme/settings.toml").write_text("concurrency = 3\n")
        assert chyme.run("tokens", "add", "one").code == 0
        assert chyme.run("digest").code == 0
        assert readable_by_others(chyme.vault / ".chyme") == readable_by_others(server_dir) == []
        for folder in (chyme.vault / ".chyme", server_dir):
            make_world_readable(folder)
        before = mode(chyme.vault), mode(note)
        server = chyme.serve()
        chyme.drop("second.md", "hello again\n", still=False)
        wait_until(lambda: chyme.rows("SELECT 1 FROM files WHERE path = 'second.md'"), seconds=60)
        assert (chyme.vault / ".chyme/vault.db-wal").exists()
        assert readable_by_others(chyme.vault / ".chyme") == readable_by_others(server_dir) == []
        assert (mode(chyme.vault), mode(note)) == before
        server.http.close()


def test_a_state_folder_elsewhere_and_the_one_in_the_vault(chyme: RunningChyme) -> None:
    chyme.drop("note.md", "hello\n")
    with umask(0):
        (chyme.vault / ".chyme").mkdir()
        (chyme.vault / ".chyme/settings.toml").write_text('llm_key = "secret"\n')
        chyme.settings["CHYME_STATE_DIR"] = os.fspath(chyme.folder / "deep/state")
        assert chyme.run("digest").code == 0
    assert readable_by_others(chyme.vault / ".chyme") == readable_by_others(chyme.folder / "deep") == []


def test_exports_saved_artifacts_backups_and_what_is_restored(chyme: RunningChyme) -> None:
    chyme.drop("sub/note.md", "hello contract\n").chmod(0o644)
    chyme.drop("dot.png", (Path(__file__).parents[1] / "samples/dot.png").read_bytes())
    out, saved, back = chyme.folder / "out/here", chyme.folder / "saved", chyme.folder / "back"
    with umask(0):
        (chyme.vault / ".chyme").mkdir()
        (chyme.vault / ".chyme/settings.toml").write_text("concurrency = 3\n")
        assert chyme.run("digest").code == 0
        (chyme.folder / "out").mkdir()
        for _ in range(2):
            ended = chyme.run("export", os.fspath(out), "--artifacts")
            assert ended.code == 0, ended.err
            assert readable_by_others(out) == []
            make_world_readable(out)
        assert mode(chyme.folder / "out") == 0o777  # this folder is not chyme's
        ended = chyme.run("show", "dot.png", "--save", os.fspath(saved))
        assert ended.code == 0, ended.err
        assert list(saved.iterdir())
        assert readable_by_others(saved) == []
        archive = chyme.folder / "kept.tar"
        assert chyme.run("backup", os.fspath(archive), "--files").code == 0
        assert mode(archive) == 0o600
        with tarfile.open(archive) as parts:
            modes = {part.name: part.mode for part in parts}
        assert {mode for name, mode in modes.items() if not name.startswith("files/")} == {0o600}
        assert modes["files/sub/note.md"] == 0o644
        ended = chyme.run("restore", os.fspath(archive), "--into", os.fspath(back), anywhere=True)
        assert ended.code == 0, ended.err
    assert mode(back) == 0o700
    assert readable_by_others(back / ".chyme") == []
    assert mode(back / "sub/note.md") == 0o644


def test_an_upload_gets_the_mode_that_the_umask_leaves(chyme: RunningChyme) -> None:
    with umask(0o027):
        server = chyme.serve()
    sent = server.http.post("/api/upload", files={"file": ("new.txt", b"hello")})
    server.http.close()
    assert sent.status_code == 201
    assert mode(chyme.vault / "new.txt") == 0o640
