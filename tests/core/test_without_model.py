"""What happens to a file when the model that should read it is unavailable, and when it is available again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from coordinating import Bench, Clock, ScriptedDigester

from chyme.application import consistency_checks
from chyme.core.pipeline.transitions import Claim
from chyme.core.store import digest_queue, digest_resets, digests, documents, outdated_digests
from chyme.core.store.models import calls as ai_calls
from chyme.core.store.models import fallbacks, providers
from chyme.digester import Source
from chyme.errors import (
    ContentBlocked,
    DigestError,
    EngineUnavailable,
    NetworkFailed,
    QuotaSpent,
    RateLimited,
    TimedOut,
    UnreadableFile,
)
from chyme.model import CallEnd, Lane, Output, Question, Reply, Status, Ticket, iso
from chyme.models.providers.daily_budget import Allowance

CLASSIFY = "classify-document"
BY_RULES = '{"title": "by rules", "tags": []}'
BY_MODEL = '{"title": "by the model", "tags": []}'


class Model:
    """A provider with an answer or error that the test chooses. Like real digesters, it uses `source.calls`."""

    def __init__(self) -> None:
        self.error: Callable[[], DigestError] | None = None
        self.outage = True
        self.made = 0

    def digest(self, source: Source) -> list[Output]:
        question = Question("llm", "there", "m", f"about {source.file.hash}")
        leave = source.calls.begin(question)
        if isinstance(leave, Ticket):
            self.made += 1
            if self.error is not None:
                error = self.error()
                source.calls.end(leave, CallEnd("refused", 0.1, status=500))
                if isinstance(error, NetworkFailed | RateLimited | QuotaSpent | TimedOut):
                    source.calls.failed("llm", error, self.outage)
                raise error
            source.calls.end(leave, CallEnd("answered", 0.1, Reply(200, "application/json", b"{}"), None, 7, 3))
        source.calls.answered("llm")
        return [Output(CLASSIFY, BY_MODEL)]

    def fails(self, error: Callable[[], DigestError], outage: bool = True) -> None:
        self.error, self.outage = error, outage

    def returns(self) -> None:
        self.error = None


def classifier(model: Model) -> ScriptedDigester:
    return ScriptedDigester(
        CLASSIFY, model.digest, waits=True, provider="llm", instead=lambda _source: [Output(CLASSIFY, BY_RULES)]
    )


@pytest.fixture
def model() -> Model:
    return Model()


OpenBench = Callable[..., Bench]


@pytest.fixture
def lay(tmp_path: Path, clock: Clock, model: Model) -> Iterator[OpenBench]:
    opened: list[Bench] = []

    def lay(allowed: Allowance | None = None, **options: object) -> Bench:
        allowed_for = {"llm": allowed or Allowance(per_second=0)}
        search = ScriptedDigester("search-keyword", reads=(CLASSIFY,))
        opened.append(Bench(tmp_path, clock, classifier(model), search, allowed=allowed_for, **options))  # type: ignore[arg-type]
        return opened[-1]

    yield lay
    for bench in opened:
        bench.close()


def wake_and_process(bench: Bench, *file_ids: int) -> int:
    """Do what the supervisor does: wake the digests whose model may be asked now, then process the files."""
    woken = bench.coordinator.wake()
    assert not any("not settled" in problem for problem in bench.database.write(consistency_checks.find_problems))
    for file_id in file_ids:
        bench.process(file_id)
    return woken


def row(bench: Bench, file_id: int) -> tuple[str, str | None, int, bool]:
    digest = digests.of_file(bench.db, file_id)[CLASSIFY]
    return str(digest.status), digest.provider, digest.attempts, digest.retry_at is not None


def test_a_model_that_answers_leaves_nothing_to_wait_for(lay: OpenBench, model: Model) -> None:
    bench = lay()
    note = bench.drop("note.txt")
    bench.process(note)

    assert row(bench, note) == ("completed", None, 1, False)
    assert bench.content(note, CLASSIFY) == BY_MODEL
    assert bench.state(note) == "completed"


@pytest.mark.parametrize("error", [NetworkFailed, RateLimited, QuotaSpent, TimedOut], ids=lambda e: e.category)
def test_a_provider_that_is_down_leaves_a_usable_document_at_once(
    lay: OpenBench, model: Model, error: type[DigestError]
) -> None:
    bench = lay()
    model.fails(lambda: error("note.txt: the model is down"))
    note = bench.drop("note.txt")
    bench.process(note)

    assert row(bench, note) == ("completed", "llm", 0, True)
    assert bench.content(note, CLASSIFY) == BY_RULES
    assert bench.digest(note, "search-keyword")[0] == "completed"
    document = documents.of_file(bench.db, note)
    assert document is not None
    assert (document.state, document.degraded) == ("needs-classification", True)
    assert document.reason is not None and "the model is down" in document.reason


def test_when_the_provider_returns_everything_is_made_again_by_itself(
    lay: OpenBench, model: Model, clock: Clock
) -> None:
    bench = lay()
    model.fails(lambda: NetworkFailed("it is down"))
    notes = [bench.drop(f"{number}.txt", f"text {number}") for number in range(10)]
    for note in notes:
        bench.process(note)
    assert model.made == 1  # the other files did not ask: the provider is left alone

    model.returns()
    assert wake_and_process(bench, *notes) == 0  # not yet
    clock.forward(6)
    assert wake_and_process(bench, *notes) == 1  # one question finds out whether it is back
    assert wake_and_process(bench, *notes) == 9
    assert model.made == 11
    assert [row(bench, note) for note in notes] == [("completed", None, 1, False)] * 10
    assert {bench.state(note) for note in notes} == {"completed"}


@pytest.mark.slow
def test_a_provider_that_stays_away_is_asked_less_and_less_and_costs_no_attempt(
    lay: OpenBench, model: Model, clock: Clock
) -> None:
    bench = lay()
    model.fails(lambda: NetworkFailed("it is down"))
    note = bench.drop("note.txt")
    bench.process(note)
    call_times = []
    for _ in range(4000):
        clock.forward(2)
        before = model.made
        wake_and_process(bench, note)
        if model.made > before:
            call_times.append(clock.now)

    waits = [round((later - earlier).total_seconds()) for earlier, later in pairwise(call_times)]
    assert waits[:5] == sorted(waits[:5])
    assert max(waits) <= 602
    assert len(call_times) < 25
    model.returns()
    clock.forward(601)
    wake_and_process(bench, note)
    assert row(bench, note) == ("completed", None, 1, False)


def test_retry_after_is_honoured(lay: OpenBench, model: Model, clock: Clock) -> None:
    bench = lay()
    model.fails(lambda: RateLimited("slow down", retry_after=100))
    note = bench.drop("note.txt")
    bench.process(note)
    model.returns()
    clock.forward(99)
    assert wake_and_process(bench, note) == 0
    clock.forward(2)
    assert wake_and_process(bench, note) == 1
    assert bench.content(note, CLASSIFY) == BY_MODEL


def test_a_question_that_always_fails_is_given_up_and_stops_no_other_file(
    lay: OpenBench, model: Model, clock: Clock
) -> None:
    bench = lay()
    poison = bench.drop("poison.txt", "poison")
    model.fails(lambda: TimedOut("it hangs"), outage=False)
    bench.process(poison)
    model.returns()
    fine = bench.drop("fine.txt", "fine")
    bench.process(fine)
    assert bench.content(fine, CLASSIFY) == BY_MODEL

    for _ in range(100):
        clock.forward(10)
        model.fails(lambda: TimedOut("it hangs"), outage=False)
        wake_and_process(bench, poison)
        model.returns()
    assert row(bench, poison) == ("completed", "llm", 3, False)
    assert model.made == 1 + 3
    assert bench.state(poison) == "needs-classification"


def test_timeouts_of_several_files_in_a_row_are_the_providers_fault(lay: OpenBench, model: Model, clock: Clock) -> None:
    bench = lay()
    model.fails(lambda: TimedOut("it hangs"), outage=False)
    notes = [bench.drop(f"{number}.txt", f"text {number}") for number in range(6)]
    for note in notes:
        bench.process(note)
    assert model.made == 3
    assert providers.get(bench.db, "llm").open

    model.returns()
    for _ in range(30):
        clock.forward(5)
        wake_and_process(bench, *notes)
    assert {bench.content(note, CLASSIFY) for note in notes} == {BY_MODEL}


@pytest.mark.parametrize(
    "error", [ContentBlocked("refused"), UnreadableFile("does not fit"), EngineUnavailable("rejects the question")]
)
def test_a_failure_that_asking_again_cannot_help_waits_for_a_person(
    lay: OpenBench, model: Model, clock: Clock, error: DigestError
) -> None:
    bench = lay()
    model.fails(lambda: error)
    note = bench.drop("note.txt")
    bench.process(note)
    clock.forward(100_000)
    assert wake_and_process(bench, note) == 0
    assert row(bench, note)[:2] == ("completed", "llm")
    assert bench.state(note) == "needs-classification"

    model.returns()
    bench.database.write(lambda db: digest_resets.retry_failed(db, [note], None, iso(clock.now)))
    bench.process(note)
    assert bench.content(note, CLASSIFY) == BY_MODEL
    assert bench.state(note) == "completed"


def test_a_budget_is_spent_exactly_and_the_rest_goes_on_tomorrow(lay: OpenBench, model: Model, clock: Clock) -> None:
    bench = lay(Allowance(calls=3, per_second=0))
    notes = [bench.drop(f"{number}.txt", f"text {number}") for number in range(8)]
    for note in notes:
        bench.process(note)

    assert model.made == 3
    waiting = [note for note in notes if row(bench, note)[1] == "llm"]
    assert len(waiting) == 5
    assert row(bench, waiting[0]) == ("completed", "llm", 0, True)
    document = documents.of_file(bench.db, waiting[0])
    assert document is not None and document.reason is not None
    assert "budget of 3 calls for llm is spent" in document.reason
    assert wake_and_process(bench, *notes) == 0

    clock.forward(24 * 3600)
    assert wake_and_process(bench, *notes) == 3  # no more than the day allows
    assert wake_and_process(bench, *notes) == 0
    clock.forward(24 * 3600)
    assert wake_and_process(bench, *notes) == 2
    assert model.made == 8
    assert {bench.state(note) for note in notes} == {"completed"}


def test_calls_that_did_not_reach_the_provider_spend_nothing(lay: OpenBench, clock: Clock) -> None:
    bench = lay(Allowance(calls=2, per_second=0))
    note = bench.file_of(bench.drop("note.txt"))
    calls = bench.ledger.calls_for(note, CLASSIFY, "run")
    for number in range(5):
        leave = calls.begin(Question("llm", "there", "m", str(number)))
        assert isinstance(leave, Ticket)
        calls.end(leave, CallEnd("unreachable", 0.1))
    assert ai_calls.sum_spending(bench.db, "llm", "").calls == 0


def test_a_pause_lasts_until_a_person_resumes(lay: OpenBench, model: Model, clock: Clock) -> None:
    bench = lay()
    bench.ledger.pause(["llm"])
    note = bench.drop("note.txt")
    bench.process(note)
    clock.forward(1_000_000)
    assert wake_and_process(bench, note) == 0
    assert (model.made, bench.state(note)) == (0, "needs-classification")

    assert bench.ledger.resume(["llm"]) == 1
    assert wake_and_process(bench, note) == 1
    assert (model.made, bench.state(note)) == (1, "completed")


def test_a_private_file_is_never_sent(lay: OpenBench, model: Model) -> None:
    bench = lay()
    (bench.root / ".chymeprivate").write_text("secret/\n*.key\n")
    note = bench.drop("secret/diary.txt")
    bench.process(note)

    assert model.made == 0
    assert bench.content(note, CLASSIFY) == BY_RULES
    assert bench.state(note) == "completed"
    assert outdated_digests.count(bench.db, bench.rules.recipes()) == 0
    digest = digests.of_file(bench.db, note)[CLASSIFY]
    assert digest.error is not None and ".chymeprivate" in digest.error
    calls = bench.ledger.calls_for(bench.file("secret/diary.txt"), CLASSIFY, "run")
    with pytest.raises(EngineUnavailable, match="private"):  # a call is refused even so
        calls.begin(Question("llm", "there", "m", "x"))


def test_patterns_that_cannot_be_read_make_everything_private(lay: OpenBench, model: Model) -> None:
    bench = lay()
    (bench.root / ".chymeprivate").mkdir()
    note = bench.drop("note.txt")
    bench.process(note)
    assert (model.made, bench.content(note, CLASSIFY)) == (0, BY_RULES)


def test_a_response_is_stored_until_its_digest_is_recorded(lay: OpenBench, model: Model, clock: Clock) -> None:
    bench = lay()
    note = bench.file_of(bench.drop("note.txt"))
    calls = bench.ledger.calls_for(note, CLASSIFY, "a run that died")
    question = Question("llm", "there", "m", f"about {note.hash}")
    leave = calls.begin(question)
    assert isinstance(leave, Ticket)
    calls.end(leave, CallEnd("answered", 0.1, Reply(200, "application/json", b"paid for")))
    assert calls.begin(question) == Reply(200, "application/json", b"paid for")

    bench.process(note.id)  # the next attempt asks the same question, and no call is made
    assert model.made == 0
    assert bench.content(note.id, CLASSIFY) == BY_MODEL
    assert isinstance(calls.begin(question), Ticket)


def test_calls_that_were_under_way_when_chyme_died_are_lost_and_count(lay: OpenBench, clock: Clock) -> None:
    bench = lay()
    note = bench.file_of(bench.drop("note.txt"))
    bench.ledger.calls_for(note, CLASSIFY, "a run that died").begin(Question("llm", "there", "m", "x"))
    bench.coordinator.recover()
    assert ai_calls.count_in_flight(bench.db, "llm") == 0
    assert ai_calls.sum_spending(bench.db, "llm", "").calls == 1


def test_calls_keep_their_distance(lay: OpenBench, clock: Clock) -> None:
    bench = lay(Allowance(per_second=2))
    note = bench.file_of(bench.drop("note.txt"))
    calls = bench.ledger.calls_for(note, CLASSIFY, "run")
    waits = []
    for number in range(4):
        leave = calls.begin(Question("llm", "there", "m", str(number)))
        assert isinstance(leave, Ticket)
        waits.append(leave.wait)
    assert waits == pytest.approx([0, 0.5, 1.0, 1.5], abs=1e-3)


def test_a_purged_file_leaves_no_trace_of_a_models_answer(lay: OpenBench, clock: Clock) -> None:
    bench = lay()
    note = bench.file_of(bench.drop("note.txt"))
    calls = bench.ledger.calls_for(note, CLASSIFY, "run")
    leave = calls.begin(Question("llm", "there", "m", "x"))
    assert isinstance(leave, Ticket)
    calls.end(leave, CallEnd("answered", 0.1, Reply(200, "application/json", b"secret")))
    (bench.root / "note.txt").unlink()
    bench.scanner.scan()
    assert bench.intake.purge(bench.file("note.txt"))
    left = bench.db.execute("SELECT file_id, question, response FROM ai_calls").fetchall()
    assert left == [(None, "", None)]


def test_a_digest_made_without_its_model_is_not_copied_to_another_file(
    lay: OpenBench, model: Model, clock: Clock
) -> None:
    bench = lay()
    model.fails(lambda: ContentBlocked("refused"))
    first = bench.drop("one.txt", "same")
    bench.process(first)
    model.returns()
    second = bench.drop("two.txt", "same")
    bench.process(second)
    assert bench.content(second, CLASSIFY) == BY_MODEL


def test_every_state_of_a_provider_is_reported(lay: OpenBench, model: Model, clock: Clock) -> None:
    bench = lay(Allowance(calls=1, per_second=0))
    assert [provider.state for provider in bench.ledger.statuses(["llm"])] == ["ready"]
    bench.process(bench.drop("note.txt"))
    assert [
        (provider.state, provider.spent.calls, provider.spent.tokens) for provider in bench.ledger.statuses(["llm"])
    ] == [("spent", 1, 10)]
    bench.ledger.pause(["llm"])
    assert [provider.state for provider in bench.ledger.statuses(["llm"])] == ["paused"]
    assert digests.of_file(bench.db, bench.file("note.txt").id)[CLASSIFY].status is Status.COMPLETED


def test_two_questions_that_always_fail_are_given_up_like_a_single_question(
    lay: OpenBench, model: Model, clock: Clock
) -> None:
    bench = lay()
    model.fails(lambda: TimedOut("it hangs"), outage=False)
    poison = [bench.drop(f"{number}.txt", f"poison {number}") for number in range(2)]
    for _ in range(500):
        wake_and_process(bench, *poison)
        clock.forward(30)
    assert model.made <= 6
    assert [row(bench, file_id)[2:] for file_id in poison] == [(3, False), (3, False)]
    model.returns()
    for number in range(20):  # good answers for other files bring none of them back
        bench.process(bench.drop(f"fine {number}.txt", f"fine {number}"))
        wake_and_process(bench, *poison)
        clock.forward(600)
    assert model.made <= 6 + 20


def test_a_digest_without_a_fallback_fails_in_the_end_and_is_tried_when_the_provider_is_back(
    bench: Callable[..., Bench], clock: Clock
) -> None:
    speech = ScriptedDigester("speech-recognition", waits=True, provider="speech")
    vault = bench(speech, ScriptedDigester("search-keyword", reads=("speech-recognition",)))
    error = NetworkFailed("nobody there")

    def down(source: Source) -> list[Output]:
        leave = source.calls.begin(Question("speech", "there", "m", source.file.hash))
        assert isinstance(leave, Ticket)
        source.calls.end(leave, CallEnd("unreachable", 0.1))
        source.calls.failed("speech", error, True)
        raise error

    speech.make = down
    talk = vault.drop("talk.txt")
    for _ in range(40):
        vault.coordinator.wake()
        vault.process(talk)
        clock.forward(60)
    assert vault.digest(talk, "speech-recognition") == ("failed", "network", 3)
    assert vault.digest(talk, "search-keyword")[0] == "completed", "it can be found by its name"

    speech.make = lambda _source: [Output("speech-recognition", "heard")]
    vault.ledger.answered("speech")  # the provider answered for another recording
    for _ in range(3):
        vault.coordinator.wake()
        vault.process(talk)
        clock.forward(60)
    assert vault.digest(talk, "speech-recognition")[0] == "completed"


def test_a_models_output_is_not_replaced_by_that_of_the_rules(lay: OpenBench, model: Model, clock: Clock) -> None:
    bench = lay()
    note = bench.drop("note.txt")
    bench.process(note)
    assert bench.content(note, CLASSIFY) == BY_MODEL
    model.fails(lambda: NetworkFailed("it is down"))
    bench.database.write(lambda db: outdated_digests.requeue(db, note, [CLASSIFY], iso(clock.now)))
    bench.process(note)

    assert bench.content(note, CLASSIFY) == BY_MODEL
    document = documents.of_file(bench.db, note)
    assert document is not None and (document.state, document.degraded) == ("completed", True)
    assert row(bench, note)[:2] == ("completed", "llm")
    model.returns()
    clock.forward(10)
    assert wake_and_process(bench, note) == 1
    assert row(bench, note) == ("completed", None, 1, False)


def test_other_content_is_not_described_by_the_old_answer(lay: OpenBench, model: Model, clock: Clock) -> None:
    bench = lay()
    note = bench.drop("note.txt", "old")
    bench.process(note)
    model.fails(lambda: NetworkFailed("it is down"))
    assert bench.drop("note.txt", "new text") == note
    bench.process(note)
    assert bench.content(note, CLASSIFY) == BY_RULES


def test_a_change_of_model_retries_what_waited_for_a_person(lay: OpenBench, model: Model, clock: Clock) -> None:
    bench = lay()
    bench.ledger.requeue_after_changes({"llm": "a model"})
    model.fails(lambda: UnreadableFile("does not fit"))
    note = bench.drop("note.txt")
    bench.process(note)
    bench.ledger.requeue_after_changes({"llm": "a model"})
    assert wake_and_process(bench, note) == 0, "a restart alone changes nothing"
    bench.ledger.requeue_after_changes({"llm": "another model"})
    model.returns()
    assert wake_and_process(bench, note) == 1
    assert bench.content(note, CLASSIFY) == BY_MODEL

    model.fails(lambda: UnreadableFile("does not fit"))
    other = bench.drop("other.txt", "other")
    bench.process(other)
    bench.ledger.requeue_after_changes({})
    assert wake_and_process(bench) == 1


def test_a_longer_pause_that_a_provider_requested_outlives_a_restart(
    lay: OpenBench, model: Model, clock: Clock
) -> None:
    bench = lay()
    bench.ledger.requeue_after_changes({"llm": "a model"})
    model.fails(lambda: RateLimited("come tomorrow", retry_after=86_400))
    note = bench.drop("note.txt")
    bench.process(note)
    clock.forward(3600)
    bench.ledger.requeue_after_changes({"llm": "a model"})
    assert wake_and_process(bench, note) == 0
    assert model.made == 1


def test_resuming_while_the_rules_are_at_work_is_not_overlooked(tmp_path: Path, clock: Clock, model: Model) -> None:
    def meanwhile(_source: Source) -> list[Output]:
        vault.ledger.resume(["llm"])
        return [Output(CLASSIFY, BY_RULES)]

    classify = ScriptedDigester(CLASSIFY, model.digest, waits=True, provider="llm", instead=meanwhile)
    vault = Bench(tmp_path, clock, classify)
    try:
        vault.ledger.pause(["llm"])
        note = vault.drop("note.txt")
        vault.process(note)
        assert vault.coordinator.wake() == 1
        vault.process(note)
        assert vault.content(note, CLASSIFY) == BY_MODEL
    finally:
        vault.close()


def test_digests_that_will_not_be_made_soon_are_not_counted_as_due_soon(
    lay: OpenBench, model: Model, clock: Clock
) -> None:
    bench = lay(Allowance(calls=1, per_second=0))
    notes = [bench.drop(f"{number}.txt", f"text {number}") for number in range(3)]
    for note in notes:
        bench.process(note)
    bench.database.write(lambda db: fallbacks.requeue_waiting(db, "llm", iso(clock.now)))
    assert bench.ledger.count_due_soon() == (0, None)  # the budget is spent, so nothing is due soon
    clock.forward(24 * 3600)
    assert bench.ledger.count_due_soon()[0] == 2
    assert bench.ledger.count_due_soon(among=[notes[0]])[0] + bench.ledger.count_due_soon(among=notes[1:])[0] == 2
    bench.ledger.pause(["llm"])
    assert bench.ledger.count_due_soon() == (0, None)


def test_a_digest_in_the_wrong_lane_is_moved_to_its_own(tmp_path: Path, clock: Clock) -> None:
    """Another process with other settings may have moved the digest."""
    vault = Bench(tmp_path, clock, ScriptedDigester("asks", lane=Lane.MODEL), ScriptedDigester("plain"))
    try:
        note = vault.drop("note.txt")
        vault.database.write(lambda db: digest_queue.change_lane(db, "asks", Lane.ORDINARY))
        assert [due.file_id for due in digest_queue.list_due(vault.db, iso(clock.now), 5)] == [note]
        claims = vault.coordinator.claim([note], frozenset({Lane.ORDINARY}))
        vault.coordinator.run_claims([claim for claim in claims if isinstance(claim, Claim)])
        assert digest_queue.list_due(vault.db, iso(clock.now), 5) == []
        assert [due.file_id for due in digest_queue.list_due(vault.db, iso(clock.now), 5, lane=Lane.MODEL)] == [note]
    finally:
        vault.close()


def test_a_provider_that_answers_its_probe_badly_is_asked_once_more_at_once(lay: OpenBench, clock: Clock) -> None:
    bench = lay()
    note = bench.file_of(bench.drop("note.txt"))
    failing = bench.ledger.calls_for(note, CLASSIFY, "first")
    failing.failed("llm", NetworkFailed("down"), True)
    clock.forward(6)
    probing = bench.ledger.calls_for(note, CLASSIFY, "second")
    leave = probing.begin(Question("llm", "there", "m", "a question"))
    assert isinstance(leave, Ticket)
    with pytest.raises(NetworkFailed):  # others wait for its result
        bench.ledger.calls_for(note, CLASSIFY, "other").begin(Question("llm", "there", "m", "another"))
    probing.end(leave, CallEnd("answered", 0.1, Reply(200, "application/json", b"no title")))
    assert isinstance(probing.begin(Question("llm", "there", "m", "the same, stricter")), Ticket)
