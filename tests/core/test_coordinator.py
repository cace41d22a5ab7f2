"""A file passes through the ordered digesters: what runs, what waits, what is written."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from coordinating import Bench, Clock, Made, ScriptedDigester, fails

from chyme.application import consistency_checks
from chyme.core.pipeline.leases import LeaseRenewer, this_process
from chyme.core.pipeline.transitions import Claim, PassResult
from chyme.core.store import artifacts, digest_queue, digest_resets, digests, events, file_requests
from chyme.core.store import leases as locks
from chyme.digester import Source
from chyme.errors import ChildCrashed, EngineUnavailable, NetworkFailed, UnreadableFile
from chyme.model import Again, Artifact, Mode, Output, iso

Open = Callable[..., Bench]


def test_registering_writes_all_rows_todo_or_skipped_at_once(bench: Open) -> None:
    vault = bench(ScriptedDigester("words"), ScriptedDigester("faces", applies=lambda _: False))
    note = vault.drop("note.txt")

    assert vault.digest(note, "words") == ("todo", None, 0)
    assert vault.digest(note, "faces") == ("skipped", None, 0)


def test_digesters_run_in_order_and_each_sees_only_what_it_reads(bench: Open) -> None:
    seen: list[tuple[str, str | None, str | None]] = []

    def look(source: Source) -> list[Output]:
        first, second = source.output("first"), source.output("second")
        seen.append((source.file.path, first.content if first else None, second.content if second else None))
        return [Output("third", "3")]

    vault = bench(
        ScriptedDigester("first"), ScriptedDigester("second"), ScriptedDigester("third", look, reads=("second",))
    )
    note = vault.drop("note.txt")
    assert vault.process(note) is PassResult.DONE

    assert seen == [("note.txt", None, vault.content(note, "second"))]
    assert vault.state(note) == "completed"
    assert locks.owner_of(vault.db, note) is None


def test_nothing_found_is_completed_with_null(bench: Open) -> None:
    vault = bench(ScriptedDigester("words", lambda _: [Output("words", None)]))
    note = vault.drop("note.txt")
    vault.process(note)

    assert vault.digest(note, "words") == ("completed", None, 1)
    assert vault.content(note, "words") is None


def test_a_declared_output_that_is_missing_is_skipped(bench: Open) -> None:
    vault = bench(ScriptedDigester("crawl", lambda _: [Output("page", "p")], outputs=("page", "picture")))
    note = vault.drop("note.txt")
    vault.process(note)

    assert vault.digest(note, "page")[0] == "completed"
    assert digests.of_file(vault.db, note)["picture"].error == "output not produced"
    assert vault.digest(note, "picture")[0] == "skipped"


def test_a_failure_stops_only_the_digesters_that_read_its_output(bench: Open) -> None:
    vault = bench(
        ScriptedDigester("text", fails(NetworkFailed("down"))),
        ScriptedDigester("summary", reads=("text",)),
        ScriptedDigester("picture"),
        ScriptedDigester("tags"),
    )
    note = vault.drop("note.txt")
    vault.process(note)

    assert vault.digest(note, "text") == ("failed", "network", 1)
    assert vault.digest(note, "summary") == ("failed", "dependency", 0)
    assert digests.of_file(vault.db, note)["summary"].error == "waiting for text"
    assert vault.digest(note, "picture")[0] == "completed"
    assert vault.digest(note, "tags")[0] == "completed"
    assert vault.state(note) == "processing"


def test_waiting_burns_no_attempt_and_ends_when_the_upstream_settles(bench: Open, clock: Clock) -> None:
    answers: list[Made] = [fails(NetworkFailed("down"))] * 2 + [lambda _: [Output("text", "at last")]]
    text = ScriptedDigester("text")
    vault = bench(text, ScriptedDigester("summary", reads=("text",)))
    note = vault.drop("note.txt")
    for answer in answers:
        text.make = answer
        vault.process(note)
        clock.forward(60)

    assert vault.digest(note, "text") == ("completed", None, 3)
    assert vault.digest(note, "summary") == ("completed", None, 1)


def test_a_failure_is_tried_three_times_each_later_than_the_last(bench: Open, clock: Clock) -> None:
    vault = bench(ScriptedDigester("words", fails(ChildCrashed("dead"))))
    note = vault.drop("note.txt")
    waits = []
    for _ in range(5):
        vault.process(note)
        retry_at = digests.of_file(vault.db, note)["words"].retry_at
        waits.append(retry_at)
        vault.process(note)  # too early: nothing happens
        clock.forward(3600)

    assert [bool(wait) for wait in waits] == [True, True, False, False, False]
    assert vault.digest(note, "words") == ("failed", "crash", 3)
    assert not digest_queue.list_due(vault.db, iso(clock()), 10)


@pytest.mark.parametrize("error", [UnreadableFile("broken"), EngineUnavailable("no engine")])
def test_a_failure_that_a_retry_cannot_cure_is_settled_at_once(bench: Open, clock: Clock, error: Exception) -> None:
    words = ScriptedDigester("words", fails(error))  # type: ignore[arg-type]
    vault = bench(words, ScriptedDigester("search", reads=("words",)))
    note = vault.drop("note.txt")
    vault.process(note)
    clock.forward(3600)
    vault.process(note)

    assert words.calls == 1
    assert digests.of_file(vault.db, note)["words"].settled
    assert vault.digest(note, "search")[0] == "completed"


def test_an_unavailable_engine_costs_no_attempt_and_is_tried_when_it_appears(bench: Open, clock: Clock) -> None:
    words = ScriptedDigester("words", fails(EngineUnavailable("install it")))
    vault = bench(words)
    note = vault.drop("note.txt")
    vault.process(note)
    assert vault.digest(note, "words") == ("failed", "unavailable", 0)

    assert vault.database.write(lambda db: digest_queue.wake_unavailable(db, "words", words.recipe, iso(clock()))) == 0
    assert vault.database.write(lambda db: digest_queue.wake_unavailable(db, "words", "another", iso(clock()))) == 1
    assert vault.digest(note, "words") == ("todo", None, 0)


def test_a_changed_output_makes_its_readers_run_again_and_an_equal_output_does_not(bench: Open) -> None:
    texts = ["one", "one", "two", None]
    text = ScriptedDigester("text", lambda _: [Output("text", texts.pop(0))])
    tags = ScriptedDigester("tags", reads=("text",))
    vault = bench(text, tags)
    note = vault.drop("note.txt")
    calls = []
    for request in (None, Again(Mode.RESET, ("text",)), Again(Mode.RESET, ("text",)), Again(Mode.RESET, ("text",))):
        vault.process(note, request)
        vault.process(note)
        calls.append(tags.calls)

    assert calls == [1, 1, 2, 3]
    assert vault.content(note, "text") is None
    assert vault.digest(note, "tags")[0] == "completed"


def test_a_terminal_failure_is_a_change_for_digesters_that_read_the_content(bench: Open) -> None:
    text = ScriptedDigester("text")
    tags = ScriptedDigester("tags", reads=("text",))
    vault = bench(text, tags)
    note = vault.drop("note.txt")
    vault.process(note)
    text.make = fails(UnreadableFile("broken now"))
    vault.process(note, Again(Mode.RESET, ("text",)))
    vault.process(note)

    assert tags.calls == 2


def test_old_content_is_served_while_a_cascade_makes_the_new(bench: Open) -> None:
    texts = ["one", "two"]
    text = ScriptedDigester("text", lambda _: [Output("text", texts.pop(0))])
    served = []

    def make(source: Source) -> list[Output]:
        served.append(vault.content(source.file.id, "tags"))
        upstream = source.output("text")
        return [Output("tags", f"tags of {upstream.content if upstream else None}")]

    vault = bench(text, ScriptedDigester("tags", make, reads=("text",)))
    note = vault.drop("note.txt")
    vault.process(note)
    vault.process(note, Again(Mode.RESET, ("text",)))

    assert served == [None, "tags of one"]
    assert vault.content(note, "tags") == "tags of two"


def test_resetting_one_output_resets_its_digester_and_clears_everything(bench: Open) -> None:
    def make(_source: Source) -> list[Output]:
        return [Output("page", "p", artifacts=(Artifact("a.bin", b"x"),)), Output("meta", "m")]

    crawl = ScriptedDigester("crawl", make, outputs=("page", "meta"))
    vault = bench(crawl)
    note = vault.drop("note.txt")
    vault.process(note)
    crawl.make = fails(NetworkFailed("down"))
    vault.process(note, Again(Mode.RESET, ("meta",)))

    assert vault.digest(note, "page") == ("failed", "network", 1)
    assert vault.content(note, "page") is None
    assert artifacts.of_digest(vault.db, "note.txt", "page") == {}


def test_a_wish_for_a_busy_file_is_noted_and_fulfilled_by_the_holder(bench: Open, clock: Clock) -> None:
    text = ScriptedDigester("text")
    vault = bench(text)
    note = vault.drop("note.txt")
    inside: list[PassResult | None] = []

    def ask_while_busy(source: Source) -> list[Output]:
        if not inside:
            inside.append(vault.process(note, Again(Mode.RESET)))
        return [Output("text", f"call {text.calls}")]

    text.make = ask_while_busy
    vault.process(note)

    assert inside == [None]
    assert text.calls == 2
    assert vault.content(note, "text") == "call 2"
    assert file_requests.of_file(vault.db, note) == []


def test_a_worker_that_lost_its_lease_changes_nothing(bench: Open, clock: Clock) -> None:
    text = ScriptedDigester("text")
    vault = bench(text)
    note = vault.drop("note.txt")

    def lose(_source: Source) -> list[Output]:
        clock.forward(7200)
        vault.coordinator.recover()
        return [Output("text", "too late")]

    text.make = lose
    vault.process(note)

    assert vault.digest(note, "text") == ("todo", None, 0)
    assert vault.content(note, "text") is None


def test_a_file_rewritten_while_it_is_read_costs_nothing_and_ends_with_its_last_content(bench: Open) -> None:
    text = ScriptedDigester("text")
    vault = bench(text)
    note = vault.drop("note.txt", "first")

    def rewrite(source: Source) -> list[Output]:
        if text.calls == 1:
            (vault.root / "note.txt").write_text("second version")
        with source.open() as stream:
            return [Output("text", stream.read().decode())]

    text.make = rewrite
    assert vault.process(note) is PassResult.CHANGED
    assert vault.digest(note, "text") == ("todo", None, 0)
    vault.scanner.scan()
    vault.process(note)

    assert vault.content(note, "text") == "second version"


def test_a_late_result_for_older_content_is_dropped(bench: Open) -> None:
    text = ScriptedDigester("text")
    vault = bench(text)
    note = vault.drop("note.txt", "first")

    def swap(source: Source) -> list[Output]:
        if text.calls == 1:  # replaced, seen by the scan, while the descriptor still reads the old content
            other = vault.root / "other.tmp~"
            other.write_text("second")
            os.replace(other, vault.root / "note.txt")
            vault.scanner.scan()
        return [Output("text", f"of generation {source.file.generation}")]

    text.make = swap
    vault.process(note)

    assert vault.file("note.txt").generation == 2
    assert vault.content(note, "text") == "of generation 2"


def test_an_unreadable_file_waits_without_burning_attempts(bench: Open) -> None:
    text = ScriptedDigester("text", fails(PermissionError(13, "Permission denied")))  # type: ignore[arg-type]
    vault = bench(text)
    note = vault.drop("note.txt")
    vault.process(note)
    assert vault.digest(note, "text") == ("failed", "dependency", 0)

    text.make = lambda _: [Output("text", "readable")]
    vault.scanner.scan()
    vault.process(note)
    assert vault.content(note, "text") == "readable"


def test_copies_cost_nothing_unless_a_person_asks(bench: Open) -> None:
    text = ScriptedDigester("text", lambda _: [Output("text", "t", artifacts=(Artifact("a.txt", b"art" * 100),))])
    tags = ScriptedDigester("tags", reads=("text",), reusable=False)
    vault = bench(text, tags)
    first, second = vault.drop("one.txt", "same"), vault.drop("sub/two.txt", "same")
    vault.process(first)
    vault.process(second)

    assert (text.calls, tags.calls) == (1, 2)
    assert vault.content(second, "text") == "t"
    assert artifacts.of_digest(vault.db, "sub/two.txt", "text") == {"a.txt": b"art" * 100}
    vault.process(second, Again(Mode.RESET))
    assert text.calls == 2


def test_a_crash_of_chyme_costs_no_attempt_until_a_file_was_involved_twice(bench: Open, clock: Clock) -> None:
    vault = bench(ScriptedDigester("text"), ScriptedDigester("search", reads=("text",)))
    note = vault.drop("note.txt")
    attempts = []
    for _ in range(5):
        vault.database.write(lambda db: digests.start(db, note, ["text"], "run", "r", "i", iso(clock()), iso(clock())))
        vault.coordinator.recover()
        attempts.append(vault.digest(note, "text"))

    assert [a for _, _, a in attempts] == [0, 0, 1, 2, 3]
    assert attempts[-1] == ("failed", "crash", 3)
    vault.process(note)
    assert vault.digest(note, "search")[0] == "completed"


def test_an_interrupted_file_goes_to_the_back_of_the_queue_and_runs_alone_after_the_second_time(
    bench: Open, clock: Clock
) -> None:
    vault = bench(ScriptedDigester("text"), ScriptedDigester("search", reads=("text",)))
    note, other = vault.drop("note.txt", "a"), vault.drop("other.txt", "a longer note")
    order = []
    for _ in range(2):
        vault.database.write(lambda db: digests.start(db, note, ["text"], "run", "r", "i", iso(clock()), iso(clock())))
        vault.coordinator.recover()
        order.append([(due.file_id, due.alone) for due in digest_queue.list_due(vault.db, iso(clock()), 10)])

    assert order == [[(other, False), (note, False)], [(other, False), (note, True)]]


def test_the_lock_of_a_dead_owner_is_freed_at_once_and_that_of_a_live_owner_is_not(bench: Open, clock: Clock) -> None:
    vault = bench(ScriptedDigester("text"))
    note = vault.drop("note.txt")
    mine = this_process()
    dead = mine.rsplit("|", 2)[0] + "|999999999|1"
    until = iso(clock().replace(year=2030))

    vault.database.write(lambda db: locks.take(db, note, mine.replace("|", "-other|", 1), "t", iso(clock()), until))
    assert vault.process(note) is None
    vault.database.write(lambda db: locks.free_owner(db, mine.replace("|", "-other|", 1)))

    vault.database.write(lambda db: locks.take(db, note, dead, "t", iso(clock()), until))
    assert vault.process(note) is PassResult.DONE


def test_after_ten_minutes_a_file_goes_to_the_back_of_the_queue(bench: Open, clock: Clock) -> None:
    def slow(_source: Source) -> list[Output]:
        clock.forward(601)
        return [Output("text", "t")]

    vault = bench(ScriptedDigester("text", slow), ScriptedDigester("tags"))
    note = vault.drop("note.txt", "long " * 1000)
    vault.process(note)
    other = vault.drop("other.txt", "longer " * 100_000)

    assert vault.digest(note, "tags")[0] == "todo"
    assert [due.file_id for due in digest_queue.list_due(vault.db, iso(clock()), 10)] == [other, note]


def test_an_attempt_that_waits_for_a_child_keeps_its_lease_and_a_hung_attempt_loses_it(
    bench: Open, clock: Clock
) -> None:
    vault = bench(ScriptedDigester("text"))
    note = vault.drop("note.txt")
    claim = vault.coordinator.claim([note])[0]
    assert isinstance(claim, Claim) and claim.attempt is not None
    leases = LeaseRenewer(vault.database, clock)

    leases.add(claim.lease)
    for _ in range(200):  # it waits more than an hour behind others
        clock.forward(20)
        leases.renew()
        assert vault.coordinator.recover() == 0
    leases.add(claim.lease, clock() + timedelta(seconds=60))
    for _ in range(6):
        clock.forward(20)
        leases.renew()
    leases.close()

    assert vault.coordinator.recover() == 1
    assert vault.digest(note, "text") == ("todo", None, 0)


def test_a_digester_that_only_waits_runs_in_a_thread_and_its_exceptions_are_failures(bench: Open) -> None:
    where: list[int] = []

    def stumble(_source: Source) -> list[Output]:
        where.append(os.getpid())
        raise ZeroDivisionError

    vault = bench(ScriptedDigester("summary", stumble, waits=True), ScriptedDigester("tags"))
    note = vault.drop("note.txt")
    vault.process(note)

    assert where == [os.getpid()]
    assert vault.digest(note, "summary") == ("failed", "crash", 1)
    assert vault.digest(note, "tags")[0] == "completed"


def test_small_files_come_before_large_files_and_a_file_that_a_person_requested_comes_first(
    bench: Open, clock: Clock
) -> None:
    vault = bench(ScriptedDigester("text"))
    large, small = vault.drop("large.txt", "x" * 100_000), vault.drop("small.txt", "x")
    requested = vault.drop("asked.txt", "x" * 200_000)
    vault.database.write(lambda db: digest_resets.reset(db, requested, ["text"], digests.PERSON, iso(clock())))

    assert [due.file_id for due in digest_queue.list_due(vault.db, iso(clock()), 10)] == [requested, small, large]


def test_every_verdict_is_recorded_as_an_event_and_the_database_is_consistent(bench: Open) -> None:
    vault = bench(ScriptedDigester("text"), ScriptedDigester("tags", reads=("text",)))
    note = vault.drop("note.txt")
    vault.process(note)
    recorded = [(type_, digester, status) for _, _, type_, _, digester, status, _ in events.list_after(vault.db, 0)]

    assert ("digest", "text", "in-progress") in recorded
    assert ("digest", "tags", "completed") in recorded
    assert recorded[-1] == ("document", None, "completed")
    assert vault.database.write(consistency_checks.find_problems) == []


def test_scratch_files_for_a_next_attempt_are_deleted_after_the_verdict(bench: Open) -> None:
    reads = ScriptedDigester("read", lambda source: [Output("read", str((source.scratch / "page").write_text("1")))])
    reads.runs = replace(reads.runs, keeps_scratch=True)
    vault = bench(reads)
    note = vault.drop("note.txt")
    vault.process(note)
    row = digests.of_file(vault.db, note)["read"]
    scratch = vault.root / ".chyme/scratch"
    left = scratch / f"{note}-{(row.input_hash or '')[:16]}-{row.recipe}"
    assert not left.exists()
    waiting, forgotten = scratch / f"{note}-0123456789abcdef-other", scratch / "4711-0123456789abcdef-other"
    for folder in (left, waiting, forgotten):
        folder.mkdir()
        (folder / "page").write_text("1")  # as if chyme had died before it tidied up
    vault.coordinator.recover()
    assert [folder.exists() for folder in (left, waiting, forgotten)] == [False, True, False]
