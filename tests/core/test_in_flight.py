"""The progress of an attempt, for all watchers; and the preparation in a child before an attempt that waits."""

from __future__ import annotations

from collections.abc import Callable

from coordinating import Bench, Clock, ScriptedDigester

from chyme.core.pipeline.transitions import PassResult
from chyme.core.store import events
from chyme.digester import Source
from chyme.errors import UnreadableFile
from chyme.model import Output

Open = Callable[..., Bench]


def progress_of(vault: Bench) -> list[tuple[str | None, str | None, str | None]]:
    return [
        (path, name, detail)
        for _, _, kind, path, name, _, detail in events.list_after(vault.db, 0)
        if kind == "progress"
    ]


def test_progress_reaches_other_processes_as_events_but_not_at_every_step(bench: Open, clock: Clock) -> None:
    def make(source: Source) -> list[Output]:
        for step in range(100):
            clock.forward(0.1)
            source.progress(step / 100)
        return [Output("speech", "heard")]

    vault = bench(ScriptedDigester("speech", make))
    vault.process(vault.drop("talk.rec"))
    vault.database.write(lambda _db: None)
    reports = progress_of(vault)

    assert 3 <= len(reports) <= 5
    assert reports[0][:2] == ("talk.rec", "speech")
    assert [detail for *_, detail in reports] == sorted(str(detail) for *_, detail in reports)
    assert vault.coordinator.in_flight.running == {}


def test_a_source_is_prepared_before_an_attempt_that_waits(bench: Open) -> None:
    def prepare(source: Source) -> None:
        (source.scratch / "pieces").write_text(f"pieces of {source.file.name}")

    def make(source: Source) -> list[Output]:
        return [Output("speech", (source.scratch / "pieces").read_text())]

    vault = bench(ScriptedDigester("speech", make, waits=True, prepare=prepare))
    talk = vault.drop("talk.rec")
    vault.process(talk)
    assert vault.content(talk, "speech") == "pieces of talk.rec"


def test_a_source_that_cannot_be_prepared_is_not_attempted(bench: Open) -> None:
    def prepare(source: Source) -> None:
        raise UnreadableFile(f"{source.file.name}: is broken")

    speech = ScriptedDigester("speech", waits=True, prepare=prepare)
    vault = bench(speech)
    talk = vault.drop("talk.rec")
    vault.process(talk)
    assert vault.digest(talk, "speech") == ("failed", "validation", 1)
    assert speech.calls == 0


def test_a_long_wait_ends_at_its_next_progress_report_when_chyme_stops(bench: Open) -> None:
    steps = []

    def make(source: Source) -> list[Output]:
        for number in range(100):
            steps.append(number)
            if number == 2:
                vault.coordinator.stop()
            source.progress(number / 100)
        return [Output("cleanup", "all")]

    vault = bench(ScriptedDigester("cleanup", make, waits=True))
    talk = vault.drop("talk.rec")
    assert vault.process(talk) is PassResult.STOPPED
    assert steps == [0, 1, 2]
    assert vault.digest(talk, "cleanup") == ("todo", None, 0)


def test_other_processes_see_running_attempts_and_their_progress(bench: Open, clock: Clock) -> None:
    seen: list[list[tuple[str, str, float]]] = []

    def make(source: Source) -> list[Output]:
        clock.forward(3)
        source.progress(0.25)
        vault.database.write(lambda _db: None)  # queued after the event, so the event is written first
        seen.append(events.list_in_progress(vault.db))
        return [Output("speech", "heard")]

    vault = bench(ScriptedDigester("speech", make))
    talk = vault.drop("talk.rec")
    vault.process(talk)
    assert seen == [[("talk.rec", "speech", 0.25)]]
    assert events.list_in_progress(vault.db) == []
