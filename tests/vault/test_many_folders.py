"""Many folders at once take no more work than needed, and files elsewhere do not wait for them."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from watching import Folder, until

from chyme.vault.watch.inotify import SLICE_FOLDERS, InotifyListener
from chyme.vault.watch.priority_lock import Priority, PriorityLock

DEEP = 300
LONG = 60.0


def nest(root: Path, depth: int) -> list[str]:
    """Make nested folders. Returns their paths relative to the root."""
    paths = ["/".join(["d"] * number) for number in range(1, depth + 1)]
    os.makedirs(root / paths[-1])
    return paths


def test_nested_folders_are_watched_once_each(tmp_path: Path) -> None:
    checked: list[str] = []

    def passes_over(path: str) -> bool:
        checked.append(path)
        return False

    listener = InotifyListener(os.fspath(tmp_path), passes_over)
    try:
        handle = os.open(tmp_path, os.O_RDONLY)
        for _ in range(DEEP):  # one after the other, so that there is an event for many of them
            os.mkdir("d", dir_fd=handle)
            below = os.open("d", os.O_RDONLY, dir_fd=handle)
            os.close(handle)
            handle = below
        event_paths: set[str] = set()
        while new_paths := listener.wait_for_events(0.5).paths:
            event_paths |= new_paths
        assert len(checked) <= 3 * DEEP
        assert "d" in event_paths
        os.close(os.open("a.txt", os.O_CREAT | os.O_WRONLY, dir_fd=handle))
        os.close(handle)
        assert listener.wait_for_events(LONG).paths == {"/".join(["d"] * DEEP) + "/a.txt"}
    finally:
        listener.close()


def test_nested_folders_are_scanned_once_each(folder: Folder) -> None:
    paths = nest(folder.root, DEEP)
    folder.put(f"{paths[-1]}/deep.txt")
    statements: list[str] = []
    folder.db.set_trace_callback(statements.append)
    folder.scanner.scan_paths(paths)
    folder.db.set_trace_callback(None)

    assert folder.paths() == [f"{paths[-1]}/deep.txt"]
    assert len(statements) < 10 * DEEP


def test_a_tree_that_is_moved_in_is_reported_when_all_of_it_is_watched(tmp_path: Path) -> None:
    for number in range(2 * SLICE_FOLDERS):
        (tmp_path / "outside" / str(number)).mkdir(parents=True)
    (tmp_path / "vault").mkdir()
    listener = InotifyListener(os.fspath(tmp_path / "vault"), lambda _: False)
    try:
        (tmp_path / "outside").rename(tmp_path / "vault/tree")
        (tmp_path / "vault/note.txt").touch()
        event_paths: set[str] = set()
        while "tree" not in event_paths:
            event_paths |= listener.wait_for_events(LONG).paths
        assert "note.txt" in event_paths
        (tmp_path / "vault/tree/7/late.txt").touch()
        assert listener.wait_for_events(LONG).paths == {"tree/7/late.txt"}
    finally:
        listener.close()


def test_a_note_is_registered_in_the_middle_of_a_scan(folder: Folder) -> None:
    for number in range(200):
        folder.put(f"{number}/note.txt", f"note {number}")
    folder.put("known.txt")
    folder.scanner.scan_paths(["known.txt"])
    folder.put("small.txt")
    look = threading.Thread(target=lambda: folder.scanner.scan_paths_within(["small.txt"], LONG))
    begun = threading.Event()

    def begin(_count: int) -> None:
        if not begun.is_set():
            begun.set()
            look.start()

    folder.scanner.scan(progress=begin)
    look.join()

    assert len(folder.paths()) == 202
    assert folder.id("small.txt") < max(folder.id(f"{number}/note.txt") for number in range(200))


def test_a_thousand_folders_do_not_delay_a_note(live: Folder) -> None:
    nest(live.root, 500)
    for number in range(500):
        live.put(f"s{number}/note.txt", f"note {number}")
    live.put("small.txt")
    until(lambda: len(live.paths()) == 501, LONG)

    assert live.row("SELECT count(*), max(generation) FROM files") == (501, 1)


def test_the_smallest_scan_that_waits_goes_first() -> None:
    turns, order = PriorityLock(), []

    def wait(priority: Priority) -> None:
        with turns.hold(priority):
            order.append(priority)

    assert turns.acquire(Priority.ALL)
    threads = [
        threading.Thread(target=wait, args=(level,)) for level in (Priority.ALL, Priority.FOLDERS, Priority.FILES)
    ]
    for thread in threads:
        thread.start()
    until(lambda: all(turns.waiting), LONG)
    turns.yield_turn(Priority.ALL)
    assert order[:2] == [Priority.FILES, Priority.FOLDERS]
    assert not turns.acquire(Priority.FILES, 0.0)
    turns.release()
    for thread in threads:
        thread.join()
    assert order == [Priority.FILES, Priority.FOLDERS, Priority.ALL]
