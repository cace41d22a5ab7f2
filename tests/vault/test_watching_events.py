"""Changes in the folder are noticed once, while they happen, and known content is not digested again."""

from __future__ import annotations

import os
import resource
import shutil
import threading
import time
from pathlib import Path

import pytest
from growth import cpu_seconds
from watching import Folder, until

from chyme.vault.watch.inotify import InotifyListener
from chyme.vault.watch.watcher import Watcher

pytestmark = pytest.mark.slow


def quiet(live: Folder) -> bool:
    return live.watcher is not None and live.watcher.unfinished_count == 0


def test_a_new_note_is_taken_soon_after_it_is_still(live: Folder) -> None:
    began = time.monotonic()
    live.put("note.txt", "walrus")
    until(lambda: live.paths() == ["note.txt"])

    assert time.monotonic() - began > 0.4


def test_a_folder_renamed_while_watched_is_not_digested_again(live: Folder) -> None:
    for number in range(100):
        live.put(f"old/{number}.txt", f"pelican number{number}")
    until(lambda: len(live.paths()) == 100)
    assert live.digest() == 100
    ids = [live.id(f"old/{number}.txt") for number in range(100)]
    (live.root / "old").rename(live.root / "new")
    until(lambda: live.paths()[:1] == ["new/0.txt"] and len(live.paths()) == 100 and quiet(live))

    assert live.digest() == 0
    assert [live.id(f"new/{number}.txt") for number in range(100)] == ids
    assert live.found("number42") == ["new/42.txt"]
    assert live.problems() == []
    live.put("new/more.txt")
    until(lambda: "new/more.txt" in live.paths())


def test_two_files_exchange_their_names_while_watched(live: Folder) -> None:
    live.put("a.txt", "animal: whale")
    live.put("b.txt", "animal, another: heron")
    until(lambda: len(live.paths()) == 2)
    live.digest()
    whale, heron = live.id("a.txt"), live.id("b.txt")
    for old, new in (("a.txt", "aside"), ("b.txt", "a.txt"), ("aside", "b.txt")):
        (live.root / old).rename(live.root / new)
    until(lambda: live.paths() == ["a.txt", "b.txt"] and live.id("a.txt") == heron)

    assert live.id("b.txt") == whale
    assert live.digest() == 0
    assert live.found("whale") == ["b.txt"]


def test_a_chain_of_renames_while_watched(live: Folder) -> None:
    live.put("a.txt", "old content")
    until(lambda: live.paths() == ["a.txt"])
    live.digest()
    first = live.id("a.txt")
    (live.root / "a.txt").rename(live.root / "b.txt")
    live.put("a.txt", "new content")
    until(lambda: live.paths() == ["a.txt", "b.txt"] and quiet(live))

    assert live.id("b.txt") == first
    assert live.digest() == 1
    assert (live.kept("a.txt"), live.kept("b.txt")) == ("new content", "old content")


def test_an_atomic_save_is_new_content_of_the_same_file(live: Folder) -> None:
    live.put("a.txt", "version one")
    until(lambda: live.paths() == ["a.txt"])
    live.digest()
    first = live.id("a.txt")
    live.put("a.txt.tmp", "version two").replace(live.root / "a.txt")
    until(lambda: live.file("a.txt").generation == 2)

    assert live.id("a.txt") == first
    assert live.digest() == 1
    assert live.kept("a.txt") == "version two"
    assert live.paths() == ["a.txt"]


def test_a_touched_file_is_not_digested_again(live: Folder) -> None:
    path = live.put("a.txt", "same")
    until(lambda: live.paths() == ["a.txt"])
    live.digest()
    os.utime(path, (1, 1))
    until(lambda: live.file("a.txt").stamp.mtime_ns == 10**9)

    assert live.digest() == 0
    assert live.file("a.txt").generation == 1


def test_files_in_folders_made_just_before_are_taken(live: Folder) -> None:
    for number in range(40):
        live.put(f"top{number}/in/{number}.txt")
    until(lambda: len(live.paths()) == 40)
    live.put("top0/in/later.txt")
    live.put("top1/in/deeper/down/last.txt")
    until(lambda: len(live.paths()) == 42)


def test_a_folder_moved_out_and_back_keeps_everything(live: Folder, tmp_path: Path) -> None:
    for number in range(5):
        live.put(f"album/{number}.txt", f"pelican {number}")
    until(lambda: len(live.paths()) == 5)
    live.digest()
    (live.root / "album").rename(tmp_path / "outside")
    until(lambda: live.paths() == [])
    assert live.found("pelican") == []
    (tmp_path / "outside/0.txt").write_text("changed where nobody looks")
    time.sleep(0.3)
    assert live.paths() == []
    (tmp_path / "outside").rename(live.root / "back")
    until(lambda: len(live.paths()) == 5 and quiet(live))

    assert live.digest() == 1
    assert live.paths()[0] == "back/0.txt"
    live.put("back/5.txt")
    until(lambda: len(live.paths()) == 6)


def test_two_thousand_files_at_once_are_all_taken_once(live: Folder) -> None:
    for number in range(2000):
        (live.root / f"{number % 7}").mkdir(exist_ok=True)
        (live.root / f"{number % 7}/{number}.txt").write_text(f"note {number}")
    until(lambda: len(live.paths()) == 2000 and quiet(live))

    assert live.row("SELECT count(*), max(generation) FROM files") == (2000, 1)
    assert live.row("SELECT count(*) FROM events WHERE type = 'file'") == (2000,)


def test_changed_patterns_hide_and_show_files_at_once_and_visible_folders_are_watched(live: Folder) -> None:
    live.put("keep.txt")
    live.put("build/out.txt", "pelican")
    until(lambda: len(live.paths()) == 2)
    live.digest()
    live.put(".chymeignore", "build/\n")
    until(lambda: live.paths() == ["keep.txt"])
    assert live.found("pelican") == []
    live.put("build/more.txt")
    (live.root / ".chymeignore").unlink()
    until(lambda: len(live.paths()) == 3 and quiet(live))
    assert live.digest() == 1
    live.put("build/last.txt")
    until(lambda: "build/last.txt" in live.paths())


def test_a_folder_that_was_ignored_from_its_beginning_is_watched_once_it_is_wanted(live: Folder) -> None:
    live.put(".chymeignore", "build/\n")
    live.put("a.txt")
    until(lambda: live.paths() == ["a.txt"])
    live.put("build/out.txt")
    (live.root / ".chymeignore").unlink()
    until(lambda: len(live.paths()) == 2 and quiet(live))
    live.put("build/last.txt")
    until(lambda: "build/last.txt" in live.paths())


def test_a_folder_that_was_moved_away_is_not_watched(tmp_path: Path) -> None:
    (tmp_path / "vault/sub").mkdir(parents=True)
    listener = InotifyListener(os.fspath(tmp_path / "vault"), lambda _: False)
    try:
        (tmp_path / "vault/sub").rename(tmp_path / "outside")
        assert listener.wait_for_events(1).paths == {"sub"}
        (tmp_path / "outside/a.txt").touch()
        assert listener.wait_for_events(0.2).paths == set()
    finally:
        listener.close()


def test_names_that_are_not_text_are_noticed(live: Folder) -> None:
    inside = os.fsencode(live.root) + b"/f\xff"
    os.mkdir(inside)
    with open(inside + b"/\xfe.txt", "w") as stream:
        stream.write("foreign")
    live.put("plain.txt")
    until(lambda: live.paths() == ["f%FF/%FE.txt", "plain.txt"])
    os.unlink(inside + b"/\xfe.txt")
    until(lambda: live.paths() == ["plain.txt"])


def test_folders_behind_links_are_not_watched(live: Folder, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (live.root / "out").symlink_to(outside)
    (live.root / "state").symlink_to(".chyme")
    live.put("real/a.txt")
    (live.root / "again").symlink_to("real")
    (outside / "b.txt").write_text("not ours")
    until(lambda: live.paths() == ["real/a.txt"] and quiet(live))
    (live.root / "real/a.txt").write_text("changed")
    until(lambda: live.file("real/a.txt").generation == 2)
    time.sleep(0.3)

    assert live.paths() == ["real/a.txt"]
    assert quiet(live)


def test_a_file_that_cannot_be_taken_does_not_keep_the_watcher_busy(live: Folder) -> None:
    os.mkfifo(live.root / "fifo")
    (live.root / "dangling").symlink_to("nowhere")
    live.put("a.txt.part")
    live.put("b.txt")
    until(lambda: live.paths() == ["b.txt"])
    until(lambda: quiet(live))


def test_a_missing_vault_hides_nothing(live: Folder, tmp_path: Path) -> None:
    live.put("sub/a.txt")
    until(lambda: live.paths() == ["sub/a.txt"])
    live.root.rename(tmp_path / "elsewhere")
    try:
        assert live.watcher is not None
        live.watcher.rescan_path("sub/a.txt")
        time.sleep(0.8)
        assert live.paths() == ["sub/a.txt"]
    finally:
        (tmp_path / "elsewhere").rename(live.root)


def test_a_report_of_lost_events_is_noticed(tmp_path: Path) -> None:
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if limit > 20_000:
        pytest.skip(f"the kernel queues {limit} events here; too many to fill in a test")
    listener = InotifyListener(os.fspath(tmp_path), lambda _: False)
    try:
        for name in "ab":
            (tmp_path / name).touch()
        for number in range(limit + 100):  # alternately, because the kernel joins equal events that follow each other
            os.utime(tmp_path / "ab"[number % 2])
        (tmp_path / "unheard").mkdir()
        lost = False
        while events := listener.wait_for_events(0.5):
            if not events.paths and not events.lost:
                break
            lost |= events.lost
        assert lost
        assert listener.watch_tree("") == {"unheard"}
    finally:
        listener.close()


def test_closing_takes_no_time_even_in_the_middle_of_a_scan(tmp_path: Path) -> None:
    live = Folder(tmp_path / "vault", still=False)
    try:
        live.watch()
        (live.root / "large.bin").write_bytes(b"x" * 1000)
        os.truncate(live.root / "large.bin", 1 << 40)  # hashing this would take hours
        time.sleep(1)
        live.stop()  # returns long before the hours are over
    finally:
        live.close()


def test_the_hourly_scan_finds_a_change_without_an_event(tmp_path: Path) -> None:
    live = Folder(tmp_path / "vault", still=False)
    try:
        (tmp_path / "outside.txt").write_text("one")
        os.link(tmp_path / "outside.txt", live.root / "a.txt")
        live.watcher = Watcher(os.fspath(live.root), live.scanner, lambda: None, 0.3)
        live.watcher.start()
        until(lambda: live.paths() == ["a.txt"])
        (tmp_path / "outside.txt").write_text("more")  # the kernel reports no event in the vault
        until(lambda: live.file("a.txt").generation == 2)
    finally:
        live.close()


def test_a_full_disk_is_reported_and_files_are_taken_in_when_there_is_room(tmp_path: Path) -> None:
    live = Folder(tmp_path / "vault", still=False)
    reasons: list[str] = []
    try:
        live.database.write(lambda db: db.execute("PRAGMA max_page_count = 1"))  # the database cannot grow any more
        live.watcher = Watcher(os.fspath(live.root), live.scanner, lambda: None, 3600, report_full=reasons.append)
        live.watcher.start()
        names = [f"{number:03} {'long ' * 30}.txt" for number in range(60)]
        for name in names:
            live.put(name)
        until(lambda: reasons)
        assert "full" in reasons[0] and "make room" in reasons[0]
        live.database.write(lambda db: db.execute("PRAGMA max_page_count = 1000000"))
        until(lambda: live.paths() == names)
    finally:
        live.close()


def test_a_file_is_expected_while_it_must_still_stop_changing(tmp_path: Path) -> None:
    live = Folder(tmp_path / "vault", still=False)
    known: list[list[str]] = []

    def expect() -> None:
        known.append(live.paths())

    try:
        live.watcher = Watcher(os.fspath(live.root), live.scanner, lambda: None, 3600, expect=expect)
        live.watcher.start()
        live.put("a.txt")
        until(lambda: live.paths() == ["a.txt"])
        live.put("b.txt")
        until(lambda: live.paths() == ["a.txt", "b.txt"])
        assert known == [[], ["a.txt"]]
    finally:
        live.close()


def test_watching_costs_nothing_while_nothing_happens(tmp_path: Path) -> None:
    live = Folder(tmp_path / "vault")
    try:
        for number in range(2000):
            live.put(f"{number % 50}/{number}.txt")
        live.scan()
        scanned = cpu_seconds(live.scan)
        live.watch()
        time.sleep(1)
        before = resource.getrusage(resource.RUSAGE_SELF)
        time.sleep(5)
        after = resource.getrusage(resource.RUSAGE_SELF)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"{used / 5:.3%} of a core")
        assert used < 2 * max(scanned, 0.05)  # looking at all files every second would cost five scans
    finally:
        live.close()


def test_two_processes_that_scan_at_once_agree(folder: Folder) -> None:
    for number in range(200):
        folder.put(f"{number % 5}/{number}.txt", f"note {number}")
    other = Folder(folder.root)

    def both() -> None:
        threads = [threading.Thread(target=each.scan) for each in (folder, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    try:
        both()
        assert folder.row("SELECT count(*), max(generation) FROM files") == (200, 1)
        assert folder.digest() == 200
        (folder.root / "0").rename(folder.root / "moved")
        shutil.rmtree(folder.root / "1")
        both()
        assert len(folder.paths()) == 160
        assert folder.digest() == 0
        assert folder.problems() == []
    finally:
        other.close()
