"""A file is taken in when it no longer changes, and its last content is what is stored."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
from watching import Folder, until

from chyme.core.files.vault_folder import Vault
from chyme.core.pipeline.transitions import PassResult
from chyme.vault.watch.file_inspection import inspect_file

pytestmark = pytest.mark.slow


def test_a_growing_file_is_taken_once_and_only_when_it_has_been_still(live: Folder) -> None:
    path = live.root / "growing.txt"
    longest, written = 0.0, time.monotonic()
    with path.open("a") as stream:
        for number in range(12):
            longest, written = max(longest, time.monotonic() - written), time.monotonic()
            stream.write(f"line {number}\n")
            stream.flush()
            time.sleep(0.1)
            known = live.paths()
            longest = max(longest, time.monotonic() - written)
            if longest > 0.3:
                pytest.skip(f"this machine is too busy to write every 0.1 seconds: a pause of {longest:.1f} seconds")
            assert known == []
    until(lambda: live.paths() == ["growing.txt"])

    assert time.monotonic() - written > 0.4
    assert live.digest() == 1
    assert live.keeper.given == [path.read_bytes()]
    assert live.file("growing.txt").generation == 1


def test_a_file_whose_times_are_in_the_future_is_taken_anyway(live: Folder) -> None:
    path = live.put("late.txt")
    os.utime(path, (4e9, 4e9))
    until(lambda: live.paths() == ["late.txt"])
    live.put("late.txt", "another text")
    os.utime(path, (4e9, 4e9))
    until(lambda: live.file("late.txt").generation == 2)


def test_a_clock_set_back_does_not_keep_files_waiting(tmp_path: Path) -> None:
    opened = Folder(tmp_path / "vault")
    try:
        opened.scanner = type(opened.scanner)(opened.vault, opened.database, opened.intake, lambda: 0.0)
        opened.put("a.txt")
        opened.scan()
        assert opened.paths() == []
        assert opened.scanner.unfinished_count == 1
        time.sleep(0.6)
        opened.scanner.recheck_unfinished()
        assert opened.paths() == ["a.txt"]
        assert opened.scanner.unfinished_count == 0
    finally:
        opened.close()


def test_a_file_taken_by_another_process_meanwhile_is_not_waited_for(tmp_path: Path) -> None:
    opened = Folder(tmp_path / "vault", still=False)
    try:
        opened.put("a.txt")
        opened.scan()
        assert opened.scanner.unfinished_count == 1
        other = Folder(opened.root)
        other.scan()
        other.close()
        opened.scanner.recheck_unfinished()
        assert opened.scanner.unfinished_count == 0
    finally:
        opened.close()


def test_a_file_that_vanishes_before_it_is_still_is_not_waited_for(tmp_path: Path) -> None:
    opened = Folder(tmp_path / "vault", still=False)
    try:
        opened.put("a.txt").unlink()
        opened.put("b.txt")
        opened.scan()
        (opened.root / "b.txt").unlink()
        report = opened.scanner.recheck_unfinished()
        assert (opened.scanner.unfinished_count, report.has_changes, report.unreadable) == (0, False, [])
    finally:
        opened.close()


def test_a_file_rewritten_while_it_is_digested_ends_with_its_last_content(folder: Folder) -> None:
    folder.put("a.txt", "first")
    folder.scan()

    def rewrite() -> None:
        folder.keeper.meanwhile = lambda: None
        folder.put("a.txt", "second, longer")

    folder.keeper.meanwhile = rewrite
    assert folder.process(folder.id("a.txt")) is PassResult.CHANGED
    folder.take_in()

    assert folder.kept("a.txt") == "second, longer"
    assert folder.found("second") == ["a.txt"]
    assert folder.found("first") == []


def test_files_rewritten_all_the_time_end_with_the_digests_of_their_last_content(live: Folder) -> None:
    done = threading.Event()

    def rewrite() -> None:
        for number in range(30):
            live.put("a.txt", f"text number {number} " * (number + 1))
            time.sleep(0.03 if number % 10 else 0.7)
        done.set()

    writer = threading.Thread(target=rewrite)
    writer.start()
    while not done.is_set():
        live.digest()
        time.sleep(0.05)
    writer.join()
    last = (live.root / "a.txt").read_text()

    def settled() -> bool:
        live.digest()
        return live.kept("a.txt") == last

    until(settled)


def test_inspecting_a_file_that_changes_meanwhile_gives_nothing(tmp_path: Path) -> None:
    path = tmp_path / "large.bin"
    path.write_bytes(b"x" * 3_000_000)

    def append() -> None:
        with path.open("ab") as stream:
            stream.write(b"more")

    assert inspect_file(Vault(tmp_path), "large.bin", False, append) is None
    path.write_bytes(b"x" * 3_000_000)
    assert inspect_file(Vault(tmp_path), "large.bin", False, lambda: os.truncate(path, 10)) is None
    path.write_bytes(b"x" * 3_000_000)
    assert inspect_file(Vault(tmp_path), "large.bin", False, lambda: None) is not None


def test_a_touched_file_is_read_but_not_digested_again(folder: Folder) -> None:
    path = folder.put("a.txt")
    folder.take_in()
    os.utime(path, (1, 1))
    report = folder.scan()

    assert not report.has_changes
    assert folder.digest() == 0
    assert folder.file("a.txt").stamp.mtime_ns == 10**9
