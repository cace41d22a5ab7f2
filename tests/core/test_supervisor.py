"""Which file is next, how many run at once, and which must run alone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from coordinating import Bench, Clock, ScriptedDigester, fails
from waiting import AMPLE, wait_until

from chyme.core.pipeline.file_scheduler import LIGHT_FILES, FileScheduler
from chyme.core.store import file_requests
from chyme.digester import Source
from chyme.errors import NetworkFailed
from chyme.model import Again, File, Lane, Mode, Output, iso

Open = Callable[..., Bench]
Supervise = Callable[..., FileScheduler]


@pytest.fixture
def supervise(clock: Clock) -> Iterator[Supervise]:
    started: list[FileScheduler] = []

    def start(vault: Bench, concurrency: int = 4, look_at: Callable[[int], None] = lambda _: None) -> FileScheduler:
        supervisor = FileScheduler(vault.database, vault.coordinator, concurrency, clock, look_at)
        started.append(supervisor)
        supervisor.start()
        return supervisor

    yield start
    for supervisor in started:
        supervisor.close()


class WorkLog:
    """Records which files are digested at the same time."""

    def __init__(self) -> None:
        self.working: set[str] = set()
        self.most = 0
        self.worked_beside: dict[str, set[str]] = {}
        self._guard = threading.Lock()

    def __call__(self, source: Source) -> list[Output]:
        name = source.file.name
        with self._guard:
            self.working.add(name)
            self.most = max(self.most, len(self.working))
            for other in self.working:
                self.worked_beside.setdefault(other, set()).update(self.working - {other})
        time.sleep(0.05)
        with self._guard:
            self.working.discard(name)
        return [Output("text", name)]


def test_as_many_files_as_allowed_are_in_flight_and_no_more(bench: Open, supervise: Supervise) -> None:
    log = WorkLog()
    vault = bench(ScriptedDigester("text", log))
    notes = [vault.drop(f"{n}.txt", f"note {n}") for n in range(12)]
    supervise(vault, concurrency=4)

    wait_until(lambda: all(vault.digest(note, "text")[0] == "completed" for note in notes))
    assert 2 <= log.most <= 4


class Gate:
    """A digester that waits until the test opens it, so that files stay in flight."""

    def __init__(self) -> None:
        self.open = threading.Event()

    def __call__(self, source: Source) -> list[Output]:
        assert self.open.wait(AMPLE)
        return [Output("text", source.file.name)]


def test_small_texts_share_a_place_where_all_digesters_gather_them(bench: Open, supervise: Supervise) -> None:
    gate = Gate()
    digester = ScriptedDigester("text", gate)
    digester.runs = replace(digester.runs, gathers=True, quick=True)
    vault = bench(digester)
    notes = [vault.drop(f"{n}.txt", f"note {n}") for n in range(20)]
    supervise(vault, concurrency=3)
    try:
        wait_until(lambda: sum(vault.digest(note, "text")[0] == "in-progress" for note in notes) == 3 * LIGHT_FILES)
        assert len(vault.coordinator.in_flight.files()) == 3 * LIGHT_FILES
    finally:
        gate.open.set()
    wait_until(lambda: all(vault.digest(note, "text")[0] == "completed" for note in notes))


@pytest.mark.parametrize(("name", "words"), [("alone", 1), ("long", 10_000)])
def test_a_long_text_and_one_that_a_digester_takes_alone_have_a_place_of_their_own(
    bench: Open, supervise: Supervise, name: str, words: int
) -> None:
    gate = Gate()
    gathering = ScriptedDigester("text", gate)
    gathering.runs = replace(gathering.runs, gathers=True, quick=True)
    alone = ScriptedDigester("alone", reads=("text",), applies=lambda file: file.name.startswith("alone"))
    vault = bench(gathering, alone)
    files = [vault.drop(f"{name} {n}.txt", f"{n} " * words) for n in range(10, 16)]
    supervise(vault, concurrency=3)
    try:
        in_flight = vault.coordinator.in_flight
        wait_until(lambda: len(in_flight.files()) == 3)
        for _ in range(20):
            time.sleep(0.01)
            assert len(in_flight.files()) <= 3
    finally:
        gate.open.set()
    wait_until(lambda: all(vault.digest(file, "text")[0] == "completed" for file in files))


def test_a_file_that_was_in_progress_when_chyme_died_twice_runs_last_and_alone(
    bench: Open, supervise: Supervise
) -> None:
    log = WorkLog()
    vault = bench(ScriptedDigester("text", log))
    tired = vault.drop("tired.txt", "a")
    others = [vault.drop(f"{n}.txt", f"longer note {n}") for n in range(8)]
    vault.database.write(
        lambda db: db.execute("UPDATE digests SET interruptions = 2, priority = 3 WHERE file_id = ?", (tired,))
    )
    supervise(vault)

    wait_until(lambda: vault.digest(tired, "text")[0] == "completed")
    assert all(vault.digest(note, "text")[0] == "completed" for note in others)
    assert log.worked_beside["tired.txt"] == set()


def test_nothing_starts_beside_a_file_that_must_be_alone(bench: Open, supervise: Supervise) -> None:
    log = WorkLog()
    vault = bench(ScriptedDigester("text", log))
    tired = vault.drop("tired.txt", "a")
    vault.database.write(
        lambda db: db.execute("UPDATE digests SET interruptions = 2, priority = 3 WHERE file_id = ?", (tired,))
    )
    supervisor = supervise(vault)
    wait_until(lambda: "tired.txt" in log.working)
    late = vault.drop("late.txt", "b")
    supervisor.wake()

    wait_until(lambda: vault.digest(late, "text")[0] == "completed")
    assert log.worked_beside["tired.txt"] == set()


def test_one_bad_file_slows_no_other(bench: Open, supervise: Supervise) -> None:
    def make(source: Source) -> list[Output]:
        if source.file.name == "bad.txt":
            return fails(NetworkFailed("down"))(source)
        return [Output("text", "fine")]

    vault = bench(ScriptedDigester("text", make))
    bad = vault.drop("bad.txt", "bad")
    good = [vault.drop(f"{n}.txt", f"good {n}") for n in range(20)]
    supervise(vault)

    wait_until(lambda: all(vault.digest(note, "text")[0] == "completed" for note in good))
    assert vault.digest(bad, "text") == ("failed", "network", 1)


def test_a_file_that_changed_while_it_was_queued_is_looked_at_again(bench: Open, supervise: Supervise) -> None:
    looked: list[int] = []
    vault = bench(ScriptedDigester("text"))
    note = vault.drop("note.txt", "first")
    (vault.root / "note.txt").write_text("something longer")

    def look(file_id: int) -> None:
        looked.append(file_id)
        vault.scanner.scan()

    supervise(vault, look_at=look)
    wait_until(lambda: vault.digest(note, "text")[0] == "completed")
    assert looked and vault.file("note.txt").generation == 2


class Long:
    """A digester that runs until the test sets `over`."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.started: set[str] = set()

    def __call__(self, source: Source) -> list[Output]:
        self.started.add(source.file.name)
        assert self.over.wait(AMPLE)
        return [Output("speech", "heard")]


def is_recording(file: File) -> bool:
    return file.name.endswith(".rec")


def test_recordings_delay_no_note_however_many_there_are(bench: Open, supervise: Supervise) -> None:
    long = Long()
    vault = bench(
        ScriptedDigester("speech", long, applies=is_recording, lane=Lane.LONG),
        ScriptedDigester("text", reads=("speech",)),
    )
    recordings = [vault.drop(f"{n}.rec", f"sound {n}") for n in range(8)]
    supervisor = supervise(vault, concurrency=2)
    try:
        wait_until(lambda: len(long.started) == 2)
        notes = [vault.drop(f"{n}.txt", f"note {n}") for n in range(5)]
        supervisor.wake()

        wait_until(lambda: all(vault.digest(note, "text")[0] == "completed" for note in notes))
        assert len(long.started) == 2
        waiting = [recording for recording in recordings if vault.digest(recording, "speech")[0] == "todo"]
        assert len(waiting) == 6
    finally:
        long.over.set()
    wait_until(lambda: all(vault.digest(recording, "text")[0] == "completed" for recording in recordings))
    assert len(long.started) == 8


def test_a_digest_requested_by_a_person_is_not_copied_even_when_it_takes_minutes(
    bench: Open, supervise: Supervise
) -> None:
    speech = ScriptedDigester("speech", lane=Lane.LONG)
    vault = bench(speech)
    first, second = vault.drop("a.rec", "sound"), vault.drop("b.rec", "sound")
    supervisor = supervise(vault)
    wait_until(lambda: all(vault.digest(recording, "speech")[0] == "completed" for recording in (first, second)))
    before = speech.calls
    vault.database.write(lambda db: file_requests.add(db, second, Again(Mode.RESET), iso(vault.clock())))
    supervisor.wake()

    wait_until(lambda: speech.calls == before + 1)
    wait_until(lambda: vault.digest(second, "speech")[0] == "completed")
