"""What chyme writes is for its owner alone, and what is not chyme's keeps its mode."""

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
    """Files are made for everybody unless somebody takes care."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def made(path: Path, bits: int, content: str | None = None) -> Path:
    """A file or, without content, a folder of this mode."""
    path.mkdir() if content is None else path.write_text(content)
    path.chmod(bits)
    return path


def test_a_new_folder_is_private_and_so_are_those_made_above_it(tmp_path: Path) -> None:
    make_private_folder(tmp_path / "a/b/c")
    assert [mode(tmp_path / name) for name in ("a", "a/b", "a/b/c")] == [0o700] * 3


def test_a_folder_that_was_there_is_tightened_and_what_is_above_it_is_not(tmp_path: Path) -> None:
    above = made(tmp_path / "above", 0o755)
    make_private_folder(made(above / "own", 0o755))
    assert (mode(above), mode(above / "own")) == (0o755, 0o700)


def test_a_state_folder_is_tightened_with_what_is_in_it(tmp_path: Path) -> None:
    state = made(tmp_path / ".chyme", 0o755)
    for name in ("vault.db", "vault.db-wal", "vault.schema3.20260101T000000Z.db", "settings.toml"):
        made(state / name, 0o644, "x")
    made(state / "read only", 0o444, "x")
    made(state / "trash", 0o755)
    photo = made(state / "trash/photo.jpg", 0o644, "x")
    make_private_state(state)
    assert mode(state) == mode(state / "trash") == 0o700
    assert mode(state / "read only") == 0o400
    assert {mode(path) for path in state.glob("*.*")} == {0o600}
    assert mode(photo) == 0o644  # it comes back as it was, and nobody reaches it there


def test_a_folder_that_holds_other_things_keeps_its_mode_and_only_our_files_are_tightened(tmp_path: Path) -> None:
    shared = made(tmp_path / "shared", 0o755)
    ours, theirs = made(shared / "vault.db", 0o644, "x"), made(shared / "notes.txt", 0o644, "x")
    make_private_state(shared)
    assert (mode(shared), mode(ours), mode(theirs)) == (0o755, 0o600, 0o644)


def test_a_folder_of_other_things_that_everybody_may_write_to_is_refused(tmp_path: Path) -> None:
    shared = made(tmp_path / "shared", 0o777)
    made(shared / "notes.txt", 0o644, "x")
    with pytest.raises(VaultError, match=r"mode 0777.*state_dir"):
        make_private_state(shared)


def test_links_and_second_names_lead_to_nothing_that_is_changed(tmp_path: Path) -> None:
    elsewhere = made(tmp_path / "elsewhere", 0o755)
    theirs = made(elsewhere / "theirs.txt", 0o644, "x")
    state = made(tmp_path / ".chyme", 0o755)
    (state / "vault.db").symlink_to(theirs)
    (state / "trash").symlink_to(elsewhere)
    os.link(theirs, state / "settings.toml")
    make_private_state(state)
    assert (mode(elsewhere), mode(theirs)) == (0o755, 0o644)
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault/.chyme").symlink_to(elsewhere)
    tighten_state(tmp_path / "vault/.chyme")
    assert (mode(elsewhere), mode(theirs)) == (0o755, 0o644)


def test_a_folder_that_is_a_link_closes_nothing_elsewhere(tmp_path: Path) -> None:
    elsewhere = made(tmp_path / "elsewhere", 0o755)
    (tmp_path / "scratch").symlink_to(elsewhere)
    with pytest.raises(VaultError, match=r"it is a link"):
        make_private_folder(tmp_path / "scratch")
    assert mode(elsewhere) == 0o755
    elsewhere.chmod(0o700)
    make_private_folder(tmp_path / "scratch")


def test_a_folder_that_is_swapped_for_a_link_meanwhile_closes_nothing_elsewhere(tmp_path: Path) -> None:
    """Somebody swaps it all the time; whatever is met, only what is chyme's is changed."""
    elsewhere, state = made(tmp_path / "elsewhere", 0o755), made(tmp_path / ".chyme", 0o755)
    made(elsewhere / "theirs.txt", 0o644, "x")
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


def test_what_is_missing_stays_missing(tmp_path: Path) -> None:
    tighten_state(tmp_path / "nowhere")
    tighten_file(tmp_path / "nothing")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_written_privately_also_over_one_that_was_open_to_all(tmp_path: Path) -> None:
    made(tmp_path / "old", 0o644, "long before")
    for name in ("old", "new"):
        with write_private(tmp_path / name) as stream:
            stream.write(b"now")
    assert [(mode(path), path.read_text()) for path in (tmp_path / "old", tmp_path / "new")] == [(0o600, "now")] * 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder of somebody else's")
@pytest.mark.parametrize(("bits", "refused"), [(0o777, True), (0o755, False), (0o700, False)])
def test_a_folder_of_somebody_else_is_refused_with_the_way_out_where_we_would_write(bits: int, refused: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="chyme-modes-") as folder:  # where nobody may go, unlike tmp_path
        os.chmod(folder, 0o755)
        state = made(Path(folder) / ".chyme", bits)
        told = as_nobody(state)
        assert mode(state) == bits
    assert ("VaultError" in told and "chmod 700" in told) == refused
    assert refused or not told


def as_nobody(state: Path) -> str:
    """What make_private_state says to another user."""
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
