"""Large files are hashed in a thread of their own: small files do not wait, and moved large files are recognised."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from watching import Folder, until

from chyme.core.files.vault_folder import Vault, stamp_of
from chyme.vault.watch.file_inspection import DiskFile, FileInspection
from chyme.vault.watch.hashing import LARGE, Hasher
from chyme.vault.watch.watcher import Watcher

pytestmark = pytest.mark.slow

MB = 1024 * 1024
LONG = 60.0


class Gate:
    """Stops the hashing thread between two slices until the gate is opened."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._open = threading.Event()

    def __call__(self) -> None:
        self.reached.set()
        self._open.wait()

    def open(self) -> None:
        self._open.set()

    def shut(self) -> None:
        self.reached.clear()
        self._open.clear()


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open()


@pytest.fixture
def held(tmp_path: Path, gate: Gate) -> Iterator[Folder]:
    """A watched vault whose hasher stops after the first slice."""
    opened = Folder(tmp_path / "vault", still=False)
    opened.watcher = Watcher(os.fspath(opened.root), opened.scanner, lambda: None, 3600, gate)
    opened.watcher.start()
    yield opened
    gate.open()
    opened.close()


def put_large(path: Path, size: int = 20 * MB, mark: bytes = b"x") -> Path:
    """A sparse file of more than one slice."""
    with path.open("wb") as stream:
        stream.write(mark)
        stream.truncate(size)
    return path


def hash_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def test_a_note_is_registered_while_a_large_file_is_hashed(held: Folder, gate: Gate) -> None:
    large = put_large(held.root / "film.bin")
    assert gate.reached.wait(LONG)
    held.put("note.txt", "walrus")
    until(lambda: held.paths() == ["note.txt"], LONG)
    held.put("folder/inside.txt", "heron")
    until(lambda: held.paths() == ["folder/inside.txt", "note.txt"], LONG)
    assert held.watcher is not None and held.watcher.unfinished_count == 1

    gate.open()
    until(lambda: "film.bin" in held.paths(), LONG)
    assert held.file("film.bin").hash == hash_of(large)
    until(lambda: held.watcher is not None and held.watcher.unfinished_count == 0, LONG)


def test_the_smallest_of_several_large_files_is_registered_first(held: Folder, gate: Gate) -> None:
    put_large(held.root / "largest.bin", 60 * MB)
    assert gate.reached.wait(LONG)
    put_large(held.root / "large.bin", 30 * MB, b"y")
    put_large(held.root / "smaller.bin", 2 * MB, b"z")
    until(lambda: held.scanner.unfinished_count == 3 and not held.scanner.has_unfinished, LONG)
    gate.open()
    until(lambda: len(held.paths()) == 3, LONG)

    assert held.id("smaller.bin") < held.id("large.bin") < held.id("largest.bin")


def test_a_large_file_that_changes_while_it_is_hashed_is_registered_with_its_last_content(
    held: Folder, gate: Gate
) -> None:
    large = put_large(held.root / "film.bin")
    assert gate.reached.wait(LONG)
    with large.open("r+b") as stream:
        stream.write(b"another beginning")
    gate.open()
    until(lambda: held.paths() == ["film.bin"], LONG)

    assert held.file("film.bin").hash == hash_of(large)
    assert held.file("film.bin").generation == 1


def test_a_large_file_that_was_copied_elsewhere_and_deleted_keeps_everything(held: Folder, gate: Gate) -> None:
    gate.open()
    large = put_large(held.root / "film.bin")
    until(lambda: held.paths() == ["film.bin"], LONG)
    first = held.id("film.bin")
    (held.root / "sub").mkdir()
    gate.shut()
    shutil.copyfile(large, held.root / "sub/copy.bin")
    assert gate.reached.wait(LONG)
    large.unlink()
    held.put("later.txt")
    until(lambda: "later.txt" in held.paths(), LONG)  # so the deletion was examined
    assert held.paths() == ["film.bin", "later.txt"]
    (held.root / "later.txt").unlink()
    gate.open()
    until(lambda: held.paths() == ["sub/copy.bin"], LONG)

    assert held.id("sub/copy.bin") == first
    assert held.row("SELECT count(*) FROM events WHERE path = 'film.bin' AND status = 'vanished'") == (0,)


def test_a_deleted_large_file_is_hidden_although_another_file_of_its_size_is_hashed(held: Folder, gate: Gate) -> None:
    gate.open()
    large = put_large(held.root / "film.bin")
    until(lambda: held.paths() == ["film.bin"], LONG)
    put_large(held.root / "other.bin", mark=b"y")
    large.unlink()

    until(lambda: held.paths() == ["other.bin"], LONG)
    assert held.row("SELECT count(*) FROM files") == (2,)


def test_a_renamed_large_file_is_recognised_without_being_hashed(held: Folder, gate: Gate) -> None:
    gate.open()
    large = put_large(held.root / "film.bin")
    until(lambda: held.paths() == ["film.bin"], LONG)
    first, slices = held.id("film.bin"), []
    assert held.watcher is not None
    held.stop()
    held.watcher = Watcher(os.fspath(held.root), held.scanner, lambda: None, 3600, lambda: slices.append(1))
    held.watcher.start()
    large.rename(held.root / "film.txt")
    until(lambda: held.paths() == ["film.txt"], LONG)

    assert (held.id("film.txt"), slices) == (first, [])


def test_a_scan_without_a_watcher_takes_large_files_last_and_counts_them(folder: Folder) -> None:
    put_large(folder.root / "a.bin", 4 * MB)
    folder.put("b.txt")
    put_large(folder.root / "c.bin", 2 * MB)
    report = folder.scan()

    assert report.new == 3
    assert folder.id("b.txt") < folder.id("c.bin") < folder.id("a.bin")


def test_a_file_that_keeps_changing_is_not_hashed_again_and_again(folder: Folder) -> None:
    path = put_large(folder.root / "growing.bin")
    looks: list[set[str]] = []
    slices: list[int] = []

    def grow() -> None:
        slices.append(1)
        with path.open("ab") as stream:
            stream.write(b"more")

    def look_at(raws: set[str]) -> None:
        looks.append(raws)
        hasher.add(DiskFile("growing.bin", "growing.bin", False, stamp_of(path.stat()), 0.0))

    hasher = Hasher(folder.vault, look_at, grow)
    hasher.start()
    try:
        hasher.add(DiskFile("growing.bin", "growing.bin", False, stamp_of(path.stat()), 0.0))
        until(lambda: len(looks) == 3, LONG)  # after half a second, one, two …
        assert len(slices) <= 2 * len(looks) + 2
        assert hasher.waiting == 1
    finally:
        hasher.close()


def test_a_constant_stream_of_smaller_files_does_not_prevent_hashing_a_large_file(folder: Folder) -> None:
    def make_file(name: str, size: int) -> DiskFile:
        path = put_large(folder.root / name, size, name.encode())
        return DiskFile(name, name, False, stamp_of(path.stat()), 0.0)

    done: list[str] = []
    count = 0

    def add_another() -> None:
        nonlocal count
        count += 1
        if "large.bin" not in done:
            hasher.add(make_file(f"{count}.bin", LARGE + 1))

    hasher = Hasher(folder.vault, done.extend, add_another)
    hasher.add(make_file("large.bin", 40 * MB))
    hasher.start()
    try:
        until(lambda: "large.bin" in done, LONG)
    finally:
        hasher.close()
    assert count > 4


def test_a_file_that_cannot_be_read_is_closed_each_time_it_is_tried() -> None:
    vault = Vault(Path(f"/proc/{os.getpid()}"))  # its file "mem" opens, and gives an I/O error as a bad disk does
    before = len(os.listdir("/proc/self/fd"))

    for _ in range(3):
        with pytest.raises(OSError, match="Input/output error"):
            FileInspection(vault, "mem", False)

    assert len(os.listdir("/proc/self/fd")) == before
