"""A digester with several outputs makes one attempt for all of them: counted once, retried once, woken once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from coordinating import Bench, Clock, ScriptedDigester, fails

from chyme.core.pipeline.failure_groups import retry_failures
from chyme.core.store import digest_queue, digests
from chyme.core.store.failed_digests import iterate_failures
from chyme.core.store.models import providers
from chyme.digester import Source
from chyme.errors import NetworkFailed, RateLimited, UnreadableFile
from chyme.model import Again, CallEnd, Mode, Output, Question, Reply, Ticket, iso
from chyme.models.providers.daily_budget import Allowance

Open = Callable[..., Bench]
NAMES = ("page", "copy", "facts")


def make_all(_source: Source) -> list[Output]:
    return [Output(name, name) for name in NAMES]


def states(vault: Bench, file_id: int) -> set[tuple[str, int, str | None]]:
    rows = digests.of_file(vault.db, file_id)
    return {(str(rows[name].status), rows[name].attempts, rows[name].retry_at) for name in NAMES}


def process_until_nothing_is_due(vault: Bench, clock: Clock, file_id: int) -> None:
    vault.process(file_id)
    while (retry := digest_queue.next_retry(vault.db)) is not None:
        clock.now = datetime.fromisoformat(retry)
        vault.process(file_id)


def test_all_outputs_are_retried_by_the_same_attempt(bench: Open, clock: Clock) -> None:
    crawl = ScriptedDigester("crawl", fails(NetworkFailed("a.url: no answer")), outputs=NAMES)
    vault = bench(crawl)
    link = vault.drop("a.url")
    vault.process(link)
    assert len(states(vault, link)) == 1

    process_until_nothing_is_due(vault, clock, link)

    assert crawl.calls == 3
    assert states(vault, link) == {("failed", 3, None)}


def test_separate_retry_times_from_an_older_version_lead_to_one_attempt(bench: Open, clock: Clock) -> None:
    crawl = ScriptedDigester("crawl", fails(NetworkFailed("a.url: no answer")), outputs=NAMES)
    vault = bench(crawl)
    link = vault.drop("a.url")
    vault.process(link)
    for name, attempts, seconds in (("page", 1, 7), ("copy", 1, 5), ("facts", 2, 6)):
        values = (attempts, iso(clock()).replace("12:00:00", f"12:00:0{seconds}"), name)
        vault.database.write(
            lambda db, values=values: db.execute(  # type: ignore[misc]
                "UPDATE digests SET attempts = ?, retry_at = ? WHERE digester = ?", values
            )
        )
    process_until_nothing_is_due(vault, clock, link)

    assert crawl.calls == 2
    assert states(vault, link) == {("failed", 3, None)}


def test_a_new_output_does_not_replace_the_others(bench: Open, clock: Clock) -> None:
    vault = bench(ScriptedDigester("crawl", lambda _source: [Output("page", "first")], outputs=("page",)))
    link = vault.drop("a.url")
    vault.process(link)
    vault.close()

    crawl = ScriptedDigester("crawl", make_all, outputs=NAMES)
    vault = bench(crawl)
    vault.intake.add_missing_digests()
    vault.process(link)

    assert crawl.calls == 1
    assert [vault.content(link, name) for name in NAMES] == ["first", "copy", "facts"]
    assert states(vault, link) == {("completed", 1, None)}


def test_a_manual_retry_of_one_output_retries_all_outputs(bench: Open, clock: Clock) -> None:
    crawl = ScriptedDigester("crawl", fails(UnreadableFile("a.url: gone")), outputs=NAMES)
    vault = bench(crawl)
    link = vault.drop("a.url")
    vault.process(link)
    crawl.make = make_all

    failures = [failure for failure in iterate_failures(vault.db) if failure.output == "copy"]
    assert retry_failures(vault.database, vault.rules, failures, iso(clock())) == 1
    vault.process(link)

    assert crawl.calls == 2
    assert states(vault, link) == {("completed", 1, None)}


def test_a_pause_that_costs_nothing_costs_no_output_an_attempt(bench: Open, clock: Clock) -> None:
    crawl = ScriptedDigester("crawl", fails(RateLimited("a.url: later", retry_after=60, tried=False)), outputs=NAMES)
    vault = bench(crawl)
    link = vault.drop("a.url")
    vault.process(link)
    assert {(status, attempts) for status, attempts, _ in states(vault, link)} == {("failed", 0)}
    crawl.make = make_all

    process_until_nothing_is_due(vault, clock, link)

    assert crawl.calls == 2
    assert states(vault, link) == {("completed", 1, None)}


def test_crashes_are_counted_equally_for_all_outputs(bench: Open, clock: Clock) -> None:
    vault = bench(ScriptedDigester("crawl", make_all, outputs=NAMES))
    link = vault.drop("a.url")
    for outputs, attempts in ((["page"], 0), (NAMES, 0), (NAMES, 1), (NAMES, 2)):
        vault.database.write(lambda db, names=outputs: digests.start(db, link, names, "run", "r", "i", "", ""))  # type: ignore[misc]
        vault.coordinator.recover()
        assert states(vault, link) == {("todo", attempts, None)}


def test_a_model_that_is_back_is_asked_once_for_all_outputs(tmp_path: Path, clock: Clock) -> None:
    questions = 0
    down = True

    def ask(source: Source) -> list[Output]:
        nonlocal questions
        questions += 1
        ticket = source.calls.begin(Question("llm", "there", "m", f"question {questions}"))
        assert isinstance(ticket, Ticket)
        if down:
            source.calls.end(ticket, CallEnd("refused", 0.1, status=500))
            source.calls.failed("llm", NetworkFailed("down"), outage=True)
            raise NetworkFailed("down")
        source.calls.end(ticket, CallEnd("answered", 0.1, Reply(200, "application/json", b"{}"), None, 7, 3))
        source.calls.answered("llm")
        return [Output(name, f"{name} by the model") for name in NAMES]

    describe = ScriptedDigester("describe", ask, outputs=NAMES, waits=True, provider="llm", instead=make_all)
    vault = Bench(tmp_path, clock, describe, allowed={"llm": Allowance(per_second=0)})
    try:
        note = vault.drop("note.txt")
        vault.process(note)
        assert [vault.content(note, name) for name in NAMES] == list(NAMES)
        down = False
        for _ in range(len(NAMES)):  # one output at a time, while it is unknown whether the provider is back
            until = providers.get(vault.db, "llm").until
            if until is not None:
                clock.now = max(clock.now, datetime.fromisoformat(until))
            clock.forward(600)
            vault.coordinator.wake()
            vault.process(note)
    finally:
        vault.close()

    assert questions == 2


def test_resetting_one_output_makes_all_of_them_once(bench: Open) -> None:
    crawl = ScriptedDigester("crawl", make_all, outputs=NAMES)
    vault = bench(crawl)
    link = vault.drop("a.url")
    vault.process(link)

    vault.process(link, Again(Mode.RESET, ("facts",)))

    assert crawl.calls == 2
    assert states(vault, link) == {("completed", 1, None)}
