"""Only its owner may read what chyme writes, and files that are not chyme's keep their mode."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from chyme.core.files.permissions import (
    make_private_folder,
    make_private_state,
    tighten_file,
    tighten_state,
    write_private,
)
from chyme.errors import VaultError

NOBODY = 65534


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """Without precautions, all users may read and write new files."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def make(path: Path, bits: int, content: str | None = None) -> Path:
    """Make a file or, without content, a folder of this mode."""
    path.mkdir() if content is None else path.write_text(content)
    path.chmod(bits)
    return path


def test_a_new_folder_and_its_new_parents_are_private(tmp_path: Path) -> None:
    make_private_folder(tmp_path / "a/b/c")
    assert [mode(tmp_path / name) for name in ("a", "a/b", "a/b/c")] == [0o700] * 3


def test_an_existing_folder_is_tightened_and_its_parent_is_not(tmp_path: Path) -> None:
    above = make(tmp_path / "above", 0o755)
    make_private_folder(make(above / "own", 0o755))
    assert (mode(above), mode(above / "own")) == (0o755, 0o700)


def test_a_state_folder_is_tightened_with_what_is_in_it(tmp_path: Path) -> None:
    state = make(tmp_path / ".chyme", 0o755)
    for name in ("vault.db", "vault.db-wal", "vault.schema3.20260101T000000Z.db", "settings.toml"):
        make(state / name, 0o644, "x")
    make(state / "read only", 0o444, "x")
    make(state / "trash", 0o755)
    photo = make(state / "trash/photo.jpg", 0o644, "x")
    make_private_state(state)
    assert mode(state) == mode(state / "trash") == 0o700
    assert mode(state / "read only") == 0o400
    assert {mode(path) for path in state.glob("*.*")} == {0o600}
    assert mode(photo) == 0o644  # it is restored with its mode, and no other user can reach it there


def test_a_folder_with_other_files_keeps_its_mode_and_only_files_of_chyme_are_tightened(tmp_path: Path) -> None:
    shared = make(tmp_path / "shared", 0o755)
    ours, theirs = make(shared / "vault.db", 0o644, "x"), make(shared / "notes.txt", 0o644, "x")
    make_private_state(shared)
    assert (mode(shared), mode(ours), mode(theirs)) == (0o755, 0o600, 0o644)


def test_a_folder_with_other_files_that_all_users_may_write_to_is_refused(tmp_path: Path) -> None:
    shared = make(tmp_path / "shared", 0o777)
    make(shared / "notes.txt", 0o644, "x")
    with pytest.raises(VaultError, match=r"mode 0777.*state_dir"):
        make_private_state(shared)


def test_files_behind_symbolic_and_hard_links_are_not_changed(tmp_path: Path) -> None:
    elsewhere = make(tmp_path / "elsewhere", 0o755)
    theirs = make(elsewhere / "theirs.txt", 0o644, "x")
    state = make(tmp_path / ".chyme", 0o755)
    (state / "vault.db").symlink_to(theirs)
    (state / "trash").symlink_to(elsewhere)
    os.link(theirs, state / "settings.toml")
    make_private_state(state)
    assert (mode(elsewhere), mode(theirs)) == (0o755, 0o644)
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault/.chyme").symlink_to(elsewhere)
    tighten_state(tmp_path / "vault/.chyme")
    assert (mode(elsewhere), mode(theirs)) == (0o755, 0o644)


def test_a_folder_that_is_a_link_changes_nothing_elsewhere(tmp_path: Path) -> None:
    elsewhere = make(tmp_path / "elsewhere", 0o755)
    (tmp_path / "scratch").symlink_to(elsewhere)
    with pytest.raises(VaultError, match=r"it is a link"):
        make_private_folder(tmp_path / "scratch")
    assert mode(elsewhere) == 0o755
    elsewhere.chmod(0o700)
    make_private_folder(tmp_path / "scratch")


def test_a_folder_that_is_swapped_for_a_link_meanwhile_changes_nothing_elsewhere(tmp_path: Path) -> None:
    """Another process swaps it all the time; in every state, only files of chyme are changed."""
    elsewhere, state = make(tmp_path / "elsewhere", 0o755), make(tmp_path / ".chyme", 0o755)
    make(elsewhere / "theirs.txt", 0o644, "x")
    script = (
        "import os, sys\n"
        "print(flush=True)\n"
        "while True:\n"
        "    os.rename('.chyme', 'aside')\n"
        "    os.symlink('elsewhere', '.chyme')\n"
        "    os.unlink('.chyme')\n"
        "    os.rename('aside', '.chyme')\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path, stdout=subprocess.PIPE) as swapper:
        try:
            assert swapper.stdout is not None and swapper.stdout.readline()
            for _ in range(3000):
                with contextlib.suppress(VaultError, OSError):
                    tighten_state(state)
                with contextlib.suppress(VaultError, OSError):
                    make_private_folder(state)
                assert (mode(elsewhere), mode(elsewhere / "theirs.txt")) == (0o755, 0o644)
        finally:
            swapper.kill()


def test_missing_paths_are_not_created(tmp_path: Path) -> None:
    tighten_state(tmp_path / "nowhere")
    tighten_file(tmp_path / "nothing")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_written_privately_even_over_a_file_that_all_users_could_read(tmp_path: Path) -> None:
    make(tmp_path / "old", 0o644, "long before")
    for name in ("old", "new"):
        with write_private(tmp_path / name) as stream:
            stream.write(b"now")
    assert [(mode(path), path.read_text()) for path in (tmp_path / "old", tmp_path / "new")] == [(0o600, "now")] * 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder of another user")
@pytest.mark.parametrize(("bits", "refused"), [(0o777, True), (0o755, False), (0o700, False)])
def test_a_writable_folder_of_another_user_is_refused_with_a_remedy(bits: int, refused: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="chyme-modes-") as folder:  # the user nobody may enter it, unlike tmp_path
        os.chmod(folder, 0o755)
        state = make(Path(folder) / ".chyme", bits)
        output = run_as_nobody(state)
        assert mode(state) == bits
    assert ("VaultError" in output and "chmod 700" in output) == refused
    assert refused or not output


def run_as_nobody(state: Path) -> str:
    """Run make_private_state as the user nobody and return what it prints."""
    program = (
        "import os, sys; from pathlib import Path\n"
        "from chyme.core.files.permissions import make_private_state\n"
        f"os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n"
        "try: make_private_state(Path(sys.argv[1]))\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    return subprocess.run(
        [sys.executable, "-c", program, str(state)], capture_output=True, text=True, check=True
    ).stdout
