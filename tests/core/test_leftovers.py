"""Digesters that were added, removed, and brought back."""

from __future__ import annotations

from collections.abc import Callable

from coordinating import Bench, Clock, ScriptedDigester, fails

from chyme.application import consistency_checks
from chyme.core.pipeline.removed_digesters import requeue_restored_outputs, skip_removed_outputs
from chyme.core.store import digest_queue, digests
from chyme.core.store.models import fallbacks
from chyme.errors import NetworkFailed, UnreadableFile
from chyme.model import Output, Without

OpenBench = Callable[..., Bench]


def problems(bench: Bench) -> list[str]:
    return bench.database.write(consistency_checks.find_problems)


def error(bench: Bench, file_id: int, name: str) -> str | None:
    return digests.of_file(bench.db, file_id)[name].error


def test_a_document_is_not_completed_while_a_new_digester_has_work(bench: OpenBench) -> None:
    before = bench(ScriptedDigester("words"))
    note = before.drop("note.txt")
    before.process(note)
    assert before.state(note) == "completed"
    before.close()

    after = bench(ScriptedDigester("words"), ScriptedDigester("more"))
    assert after.intake.add_missing_digests() == 1
    assert after.digest(note, "more") == ("todo", None, 0)
    assert after.state(note) == "processing"
    assert problems(after) == []
    assert after.intake.add_missing_digests() == 0


def test_an_output_that_no_digester_makes_any_more_is_skipped(bench: OpenBench, clock: Clock) -> None:
    before = bench(
        ScriptedDigester("waits", lambda _source: []),
        ScriptedDigester("fails", fails(NetworkFailed("no network"))),
        ScriptedDigester("words"),
    )
    note = before.drop("note.txt")
    before.process(note)
    other = before.drop("other.txt", "never looked at")
    assert before.digest(note, "fails") == ("failed", "network", 1)
    before.close()

    after = bench(ScriptedDigester("words"))
    assert skip_removed_outputs(after.database, after.rules, clock.now) == 3
    assert after.digest(note, "fails") == after.digest(other, "fails") == ("skipped", None, 0)
    assert error(after, note, "fails") == error(after, other, "waits") == "nobody makes this any more"
    assert error(after, note, "waits") == "output not produced"
    assert after.state(note) == "completed"
    assert after.state(other) == "processing"
    after.process(other)
    assert digest_queue.count_unfinished(after.db) == (0, 0, 0)
    assert after.state(other) == "completed"
    assert problems(after) == []
    assert skip_removed_outputs(after.database, after.rules, clock.now) == 0


def test_a_skipped_output_is_made_when_its_digester_returns(bench: OpenBench, clock: Clock) -> None:
    before = bench(ScriptedDigester("guest", fails(NetworkFailed("no network"))), ScriptedDigester("words"))
    note = before.drop("note.txt")
    before.process(note)
    before.close()
    between = bench(ScriptedDigester("words"))
    skip_removed_outputs(between.database, between.rules, clock.now)
    between.close()

    after = bench(ScriptedDigester("guest"), ScriptedDigester("words"))
    assert requeue_restored_outputs(after.database, after.rules, clock.now) == 1
    assert after.digest(note, "guest") == ("todo", None, 0)
    assert after.state(note) == "processing"
    after.process(note)
    assert after.digest(note, "guest") == ("completed", None, 1)
    assert after.state(note) == "completed"
    assert problems(after) == []
    assert requeue_restored_outputs(after.database, after.rules, clock.now) == 0


def test_a_failure_that_is_final_stays(bench: OpenBench, clock: Clock) -> None:
    before = bench(ScriptedDigester("guest", fails(UnreadableFile("note.txt: is broken"))), ScriptedDigester("words"))
    note = before.drop("note.txt")
    before.process(note)
    before.close()
    after = bench(ScriptedDigester("words"))
    assert skip_removed_outputs(after.database, after.rules, clock.now) == 0
    assert after.digest(note, "guest") == ("failed", "validation", 1)


def test_an_output_made_without_its_model_waits_for_it_only_while_its_digester_exists(
    bench: OpenBench, clock: Clock
) -> None:
    why = Without("llm", "made without its model: it is down", "network", 5.0)

    def instead(_source: object) -> list[Output]:
        return [Output("guest", "by rules", without=why)]

    before = bench(ScriptedDigester("guest", instead), ScriptedDigester("words"))
    note = before.drop("note.txt")
    before.process(note)
    assert fallbacks.list_due_providers(before.db, "9999") == ["llm"]
    before.close()

    between = bench(ScriptedDigester("words"))
    skip_removed_outputs(between.database, between.rules, clock.now)
    assert fallbacks.list_due_providers(between.db, "9999") == []
    assert between.digest(note, "guest")[0] == "completed"
    assert between.content(note, "guest") == "by rules"
    between.close()

    after = bench(ScriptedDigester("guest"), ScriptedDigester("words"))
    assert requeue_restored_outputs(after.database, after.rules, clock.now) == 1
    after.process(note)
    assert str(after.content(note, "guest")).startswith("guest of")


def test_a_digester_that_reads_a_removed_output_does_not_wait_for_it(bench: OpenBench, clock: Clock) -> None:
    before = bench(
        ScriptedDigester("guest", fails(NetworkFailed("no network"))), ScriptedDigester("reader", reads=("guest",))
    )
    note = before.drop("note.txt")
    before.process(note)
    assert before.digest(note, "reader") == ("failed", "dependency", 0)
    before.close()

    after = bench(ScriptedDigester("reader", reads=("guest",)))
    skip_removed_outputs(after.database, after.rules, clock.now)
    after.process(note)
    assert after.digest(note, "reader") == ("completed", None, 1)
