"""What becomes of a file when the model that should read it cannot, and when it can again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from coordinating import Bench, Clock, Told

from chyme.application import consistency_checks
from chyme.core.pipeline.transitions import Claim
from chyme.core.store import digest_queue, digests, documents, outdated_digests
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
LOCAL = '{"title": "by rules", "tags": []}'
ASKED = '{"title": "by the model", "tags": []}'


class Model:
    """A provider that does what it is told, asked as digesters ask: through their calls."""

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
        return [Output(CLASSIFY, ASKED)]

    def fails(self, error: Callable[[], DigestError], outage: bool = True) -> None:
        self.error, self.outage = error, outage

    def returns(self) -> None:
        self.error = None


def classifier(model: Model) -> Told:
    return Told(CLASSIFY, model.digest, waits=True, provider="llm", instead=lambda _source: [Output(CLASSIFY, LOCAL)])


@pytest.fixture
def model() -> Model:
    return Model()


Laid = Callable[..., Bench]


@pytest.fixture
def lay(tmp_path: Path, clock: Clock, model: Model) -> Iterator[Laid]:
    made: list[Bench] = []

    def lay(allowed: Allowance | None = None, **more: object) -> Bench:
        allowed_for = {"llm": allowed or Allowance(per_second=0)}
        search = Told("search-keyword", reads=(CLASSIFY,))
        made.append(Bench(tmp_path, clock, classifier(model), search, allowed=allowed_for, **more))  # type: ignore[arg-type]
        return made[-1]

    yield lay
    for bench in made:
        bench.close()


def again(bench: Bench, *file_ids: int) -> int:
    """What the supervisor does: wake what may be asked now, then carry the files that are due."""
    woken = bench.coordinator.wake()
    assert not any("not settled" in problem for problem in bench.database.write(consistency_checks.find_problems))
    for file_id in file_ids:
        bench.process(file_id)
    return woken


def row(bench: Bench, file_id: int) -> tuple[str, str | None, int, bool]:
    digest = digests.of_file(bench.db, file_id)[CLASSIFY]
    return str(digest.status), digest.provider, digest.attempts, digest.retry_at is not None


def test_a_model_that_answers_leaves_nothing_to_wait_for(lay: Laid, model: Model) -> None:
    bench = lay()
    note = bench.drop("note.txt")
    bench.process(note)

    assert row(bench, note) == ("completed", None, 1, False)
    assert bench.content(note, CLASSIFY) == ASKED
    assert bench.state(note) == "completed"


@pytest.mark.parametrize("error", [NetworkFailed, RateLimited, QuotaSpent, TimedOut], ids=lambda e: e.category)
def test_a_provider_that_is_down_leaves_a_usable_document_at_once(
    lay: Laid, model: Model, error: type[DigestError]
) -> None:
    bench = lay()
    model.fails(lambda: error("note.txt: the model is down"))
    note = bench.drop("note.txt")
    bench.process(note)

    assert row(bench, note) == ("completed", "llm", 0, True)
    assert bench.content(note, CLASSIFY) == LOCAL
    assert bench.digest(note, "search-keyword")[0] == "completed"
    document = documents.of_file(bench.db, note)
    assert document is not None
    assert (document.state, document.degraded) == ("needs-classification", True)
    assert document.reason is not None and "the model is down" in document.reason


def test_when_the_provider_returns_everything_is_made_again_by_itself(lay: Laid, model: Model, clock: Clock) -> None:
    bench = lay()
    model.fails(lambda: NetworkFailed("it is down"))
    notes = [bench.drop(f"{number}.txt", f"text {number}") for number in range(10)]
    for note in notes:
        bench.process(note)
    assert model.made == 1  # the others were spared: the provider is left alone

    model.returns()
    assert again(bench, *notes) == 0  # not yet
    clock.forward(6)
    assert again(bench, *notes) == 1  # one question finds out whether it is back
    assert again(bench, *notes) == 9
    assert model.made == 11
    assert [row(bench, note) for note in notes] == [("completed", None, 1, False)] * 10
    assert {bench.state(note) for note in notes} == {"completed"}


@pytest.mark.slow
def test_a_provider_that_stays_away_is_asked_less_and_less_and_costs_no_attempt(
    lay: Laid, model: Model, clock: Clock
) -> None:
    bench = lay()
    model.fails(lambda: NetworkFailed("it is down"))
    note = bench.drop("note.txt")
    bench.process(note)
    asked = []
    for _ in range(8000):
        clock.forward(1)
        before = model.made
        again(bench, note)
        if model.made > before:
            asked.append(clock.now)

    waits = [round((later - earlier).total_seconds()) for earlier, later in pairwise(asked)]
    assert waits[:5] == sorted(waits[:5])
    assert max(waits) <= 602
    assert len(asked) < 25
    model.returns()
    clock.forward(601)
    again(bench, note)
    assert row(bench, note) == ("completed", None, 1, False)


def test_retry_after_is_honoured(lay: Laid, model: Model, clock: Clock) -> None:
    bench = lay()
    model.fails(lambda: RateLimited("slow down", retry_after=100))
    note = bench.drop("note.txt")
    bench.process(note)
    model.returns()
    clock.forward(99)
    assert again(bench, note) == 0
    clock.forward(2)
    assert again(bench, note) == 1
    assert bench.content(note, CLASSIFY) == ASKED


def test_a_question_that_always_fails_is_given_up_and_stops_nobody_else(lay: Laid, model: Model, clock: Clock) -> None:
    bench = lay()
    poison = bench.drop("poison.txt", "poison")
    model.fails(lambda: TimedOut("it hangs"), outage=False)
    bench.process(poison)
    model.returns()
    fine = bench.drop("fine.txt", "fine")
    bench.process(fine)
    assert bench.content(fine, CLASSIFY) == ASKED

    for _ in range(100):
        clock.forward(10)
        model.fails(lambda: TimedOut("it hangs"), outage=False)
        again(bench, poison)
        model.returns()
    assert row(bench, poison) == ("completed", "llm", 3, False)
    assert model.made == 1 + 3
    assert bench.state(poison) == "needs-classification"


def test_what_hangs_for_several_files_in_a_row_is_the_providers_fault(lay: Laid, model: Model, clock: Clock) -> None:
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
        again(bench, *notes)
    assert {bench.content(note, CLASSIFY) for note in notes} == {ASKED}


@pytest.mark.parametrize(
    "error", [ContentBlocked("refused"), UnreadableFile("does not fit"), EngineUnavailable("rejects the question")]
)
def test_what_asking_again_cannot_help_waits_for_a_person(
    lay: Laid, model: Model, clock: Clock, error: DigestError
) -> None:
    bench = lay()
    model.fails(lambda: error)
    note = bench.drop("note.txt")
    bench.process(note)
    clock.forward(100_000)
    assert again(bench, note) == 0
    assert row(bench, note)[:2] == ("completed", "llm")
    assert bench.state(note) == "needs-classification"

    model.returns()
    bench.database.write(lambda db: digests.retry_failed(db, [note], None, iso(clock.now)))
    bench.process(note)
    assert bench.content(note, CLASSIFY) == ASKED
    assert bench.state(note) == "completed"


def test_a_budget_is_spent_exactly_and_the_rest_goes_on_tomorrow(lay: Laid, model: Model, clock: Clock) -> None:
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
    assert again(bench, *notes) == 0

    clock.forward(24 * 3600)
    assert again(bench, *notes) == 3  # no more than the day allows
    assert again(bench, *notes) == 0
    clock.forward(24 * 3600)
    assert again(bench, *notes) == 2
    assert model.made == 8
    assert {bench.state(note) for note in notes} == {"completed"}


def test_calls_that_reached_nobody_spend_nothing(lay: Laid, clock: Clock) -> None:
    bench = lay(Allowance(calls=2, per_second=0))
    note = bench.file_of(bench.drop("note.txt"))
    calls = bench.ledger.calls_for(note, CLASSIFY, "run")
    for number in range(5):
        leave = calls.begin(Question("llm", "there", "m", str(number)))
        assert isinstance(leave, Ticket)
        calls.end(leave, CallEnd("unreachable", 0.1))
    assert ai_calls.sum_spending(bench.db, "llm", "").calls == 0


def test_a_pause_holds_until_somebody_resumes(lay: Laid, model: Model, clock: Clock) -> None:
    bench = lay()
    bench.ledger.pause(["llm"])
    note = bench.drop("note.txt")
    bench.process(note)
    clock.forward(1_000_000)
    assert again(bench, note) == 0
    assert (model.made, bench.state(note)) == (0, "needs-classification")

    assert bench.ledger.resume(["llm"]) == 1
    assert again(bench, note) == 1
    assert (model.made, bench.state(note)) == (1, "completed")


def test_a_private_file_is_never_sent(lay: Laid, model: Model) -> None:
    bench = lay()
    (bench.root / ".chymeprivate").write_text("secret/\n*.key\n")
    note = bench.drop("secret/diary.txt")
    bench.process(note)

    assert model.made == 0
    assert bench.content(note, CLASSIFY) == LOCAL
    assert bench.state(note) == "completed"
    assert outdated_digests.count(bench.db, bench.rules.recipes()) == 0
    told = digests.of_file(bench.db, note)[CLASSIFY]
    assert told.error is not None and ".chymeprivate" in told.error
    calls = bench.ledger.calls_for(bench.file("secret/diary.txt"), CLASSIFY, "run")
    with pytest.raises(EngineUnavailable, match="private"):  # whoever asks all the same is refused
        calls.begin(Question("llm", "there", "m", "x"))


def test_patterns_that_cannot_be_read_make_everything_private(lay: Laid, model: Model) -> None:
    bench = lay()
    (bench.root / ".chymeprivate").mkdir()
    note = bench.drop("note.txt")
    bench.process(note)
    assert (model.made, bench.content(note, CLASSIFY)) == (0, LOCAL)


def test_a_response_is_kept_until_its_digest_is_recorded(lay: Laid, model: Model, clock: Clock) -> None:
    bench = lay()
    note = bench.file_of(bench.drop("note.txt"))
    calls = bench.ledger.calls_for(note, CLASSIFY, "a run that died")
    question = Question("llm", "there", "m", f"about {note.hash}")
    leave = calls.begin(question)
    assert isinstance(leave, Ticket)
    calls.end(leave, CallEnd("answered", 0.1, Reply(200, "application/json", b"paid for")))
    assert calls.begin(question) == Reply(200, "application/json", b"paid for")

    bench.process(note.id)  # the next attempt asks the same, and nobody is called
    assert model.made == 0
    assert bench.content(note.id, CLASSIFY) == ASKED
    assert isinstance(calls.begin(question), Ticket)


def test_calls_that_were_under_way_when_chyme_died_are_lost_and_count(lay: Laid, clock: Clock) -> None:
    bench = lay()
    note = bench.file_of(bench.drop("note.txt"))
    bench.ledger.calls_for(note, CLASSIFY, "a run that died").begin(Question("llm", "there", "m", "x"))
    bench.coordinator.recover()
    assert ai_calls.count_in_flight(bench.db, "llm") == 0
    assert ai_calls.sum_spending(bench.db, "llm", "").calls == 1


def test_calls_keep_their_distance(lay: Laid, clock: Clock) -> None:
    bench = lay(Allowance(per_second=2))
    note = bench.file_of(bench.drop("note.txt"))
    calls = bench.ledger.calls_for(note, CLASSIFY, "run")
    waits = []
    for number in range(4):
        leave = calls.begin(Question("llm", "there", "m", str(number)))
        assert isinstance(leave, Ticket)
        waits.append(leave.wait)
    assert waits == pytest.approx([0, 0.5, 1.0, 1.5], abs=1e-3)


def test_a_purged_file_leaves_no_word_of_what_a_model_said(lay: Laid, clock: Clock) -> None:
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


def test_what_was_made_without_its_model_is_nobodys_donor(lay: Laid, model: Model, clock: Clock) -> None:
    bench = lay()
    model.fails(lambda: ContentBlocked("refused"))
    first = bench.drop("one.txt", "same")
    bench.process(first)
    model.returns()
    second = bench.drop("two.txt", "same")
    bench.process(second)
    assert bench.content(second, CLASSIFY) == ASKED


def test_every_state_is_told(lay: Laid, model: Model, clock: Clock) -> None:
    bench = lay(Allowance(calls=1, per_second=0))
    assert [one.state for one in bench.ledger.statuses(["llm"])] == ["ready"]
    bench.process(bench.drop("note.txt"))
    assert [(one.state, one.spent.calls, one.spent.tokens) for one in bench.ledger.statuses(["llm"])] == [
        ("spent", 1, 10)
    ]
    bench.ledger.pause(["llm"])
    assert [one.state for one in bench.ledger.statuses(["llm"])] == ["paused"]
    assert digests.of_file(bench.db, bench.file("note.txt").id)[CLASSIFY].status is Status.COMPLETED


def test_two_questions_that_always_fail_are_given_up_as_one_is(lay: Laid, model: Model, clock: Clock) -> None:
    bench = lay()
    model.fails(lambda: TimedOut("it hangs"), outage=False)
    poison = [bench.drop(f"{number}.txt", f"poison {number}") for number in range(2)]
    for _ in range(500):
        again(bench, *poison)
        clock.forward(30)
    assert model.made <= 6
    assert [row(bench, one)[2:] for one in poison] == [(3, False), (3, False)]
    model.returns()
    for number in range(20):  # others answered well bring none of them back
        bench.process(bench.drop(f"fine {number}.txt", f"fine {number}"))
        again(bench, *poison)
        clock.forward(600)
    assert model.made <= 6 + 20


def test_whoever_cannot_do_without_comes_to_an_end_and_is_tried_when_the_provider_is_back(
    bench: Callable[..., Bench], clock: Clock
) -> None:
    heard = Told("speech-recognition", waits=True, provider="speech")
    vault = bench(heard, Told("search-keyword", reads=("speech-recognition",)))
    error = NetworkFailed("nobody there")

    def down(source: Source) -> list[Output]:
        leave = source.calls.begin(Question("speech", "there", "m", source.file.hash))
        assert isinstance(leave, Ticket)
        source.calls.end(leave, CallEnd("unreachable", 0.1))
        source.calls.failed("speech", error, True)
        raise error

    heard.make = down
    talk = vault.drop("talk.txt")
    for _ in range(40):
        vault.coordinator.wake()
        vault.process(talk)
        clock.forward(60)
    assert vault.digest(talk, "speech-recognition") == ("failed", "network", 3)
    assert vault.digest(talk, "search-keyword")[0] == "completed", "it can be found by its name"

    heard.make = lambda _source: [Output("speech-recognition", "heard")]
    vault.ledger.answered("speech")  # another recording was heard
    for _ in range(3):
        vault.coordinator.wake()
        vault.process(talk)
        clock.forward(60)
    assert vault.digest(talk, "speech-recognition")[0] == "completed"


def test_what_a_model_made_is_not_replaced_by_less(lay: Laid, model: Model, clock: Clock) -> None:
    bench = lay()
    note = bench.drop("note.txt")
    bench.process(note)
    assert bench.content(note, CLASSIFY) == ASKED
    model.fails(lambda: NetworkFailed("it is down"))
    bench.database.write(lambda db: outdated_digests.requeue(db, note, [CLASSIFY], iso(clock.now)))
    bench.process(note)

    assert bench.content(note, CLASSIFY) == ASKED
    document = documents.of_file(bench.db, note)
    assert document is not None and (document.state, document.degraded) == ("completed", True)
    assert row(bench, note)[:2] == ("completed", "llm")
    model.returns()
    clock.forward(10)
    assert again(bench, note) == 1
    assert row(bench, note) == ("completed", None, 1, False)


def test_other_content_is_not_described_by_the_old_answer(lay: Laid, model: Model, clock: Clock) -> None:
    bench = lay()
    note = bench.drop("note.txt", "old")
    bench.process(note)
    model.fails(lambda: NetworkFailed("it is down"))
    assert bench.drop("note.txt", "new text") == note
    bench.process(note)
    assert bench.content(note, CLASSIFY) == LOCAL


def test_another_model_or_none_makes_again_what_waited_for_a_person(lay: Laid, model: Model, clock: Clock) -> None:
    bench = lay()
    bench.ledger.requeue_after_changes({"llm": "a model"})
    model.fails(lambda: UnreadableFile("does not fit"))
    note = bench.drop("note.txt")
    bench.process(note)
    bench.ledger.requeue_after_changes({"llm": "a model"})
    assert again(bench, note) == 0, "a restart alone changes nothing"
    bench.ledger.requeue_after_changes({"llm": "another model"})
    model.returns()
    assert again(bench, note) == 1
    assert bench.content(note, CLASSIFY) == ASKED

    model.fails(lambda: UnreadableFile("does not fit"))
    other = bench.drop("other.txt", "other")
    bench.process(other)
    bench.ledger.requeue_after_changes({})
    assert again(bench) == 1


def test_a_longer_rest_that_was_asked_for_outlives_a_restart(lay: Laid, model: Model, clock: Clock) -> None:
    bench = lay()
    bench.ledger.requeue_after_changes({"llm": "a model"})
    model.fails(lambda: RateLimited("come tomorrow", retry_after=86_400))
    note = bench.drop("note.txt")
    bench.process(note)
    clock.forward(3600)
    bench.ledger.requeue_after_changes({"llm": "a model"})
    assert again(bench, note) == 0
    assert model.made == 1


def test_resuming_while_the_rules_are_at_work_is_not_overlooked(tmp_path: Path, clock: Clock, model: Model) -> None:
    def meanwhile(_source: Source) -> list[Output]:
        vault.ledger.resume(["llm"])
        return [Output(CLASSIFY, LOCAL)]

    classify = Told(CLASSIFY, model.digest, waits=True, provider="llm", instead=meanwhile)
    vault = Bench(tmp_path, clock, classify)
    try:
        vault.ledger.pause(["llm"])
        note = vault.drop("note.txt")
        vault.process(note)
        assert vault.coordinator.wake() == 1
        vault.process(note)
        assert vault.content(note, CLASSIFY) == ASKED
    finally:
        vault.close()


def test_nobody_waits_before_the_screen_for_what_will_not_come_soon(lay: Laid, model: Model, clock: Clock) -> None:
    bench = lay(Allowance(calls=1, per_second=0))
    notes = [bench.drop(f"{number}.txt", f"text {number}") for number in range(3)]
    for note in notes:
        bench.process(note)
    bench.database.write(lambda db: fallbacks.requeue_waiting(db, "llm", iso(clock.now)))
    assert bench.ledger.count_due_soon() == (0, None)  # the budget is spent, whatever is due
    clock.forward(24 * 3600)
    assert bench.ledger.count_due_soon()[0] == 2
    assert bench.ledger.count_due_soon(among=[notes[0]])[0] + bench.ledger.count_due_soon(among=notes[1:])[0] == 2
    bench.ledger.pause(["llm"])
    assert bench.ledger.count_due_soon() == (0, None)


def test_what_is_put_into_the_wrong_lane_finds_its_own(tmp_path: Path, clock: Clock) -> None:
    """Another process with other settings may have moved it."""
    vault = Bench(tmp_path, clock, Told("asks", lane=Lane.MODEL), Told("plain"))
    try:
        note = vault.drop("note.txt")
        vault.database.write(lambda db: digest_queue.change_lane(db, "asks", Lane.ORDINARY))
        assert [due.file_id for due in digest_queue.list_due(vault.db, iso(clock.now), 5)] == [note]
        claims = vault.coordinator.claim([note], frozenset({Lane.ORDINARY}))
        vault.coordinator.run_claims([one for one in claims if isinstance(one, Claim)])
        assert digest_queue.list_due(vault.db, iso(clock.now), 5) == []
        assert [due.file_id for due in digest_queue.list_due(vault.db, iso(clock.now), 5, lane=Lane.MODEL)] == [note]
    finally:
        vault.close()


def test_a_provider_that_answers_its_probe_badly_is_asked_once_more_at_once(lay: Laid, clock: Clock) -> None:
    bench = lay()
    note = bench.file_of(bench.drop("note.txt"))
    failing = bench.ledger.calls_for(note, CLASSIFY, "first")
    failing.failed("llm", NetworkFailed("down"), True)
    clock.forward(6)
    probing = bench.ledger.calls_for(note, CLASSIFY, "second")
    leave = probing.begin(Question("llm", "there", "m", "a question"))
    assert isinstance(leave, Ticket)
    with pytest.raises(NetworkFailed):  # others wait for what comes of it
        bench.ledger.calls_for(note, CLASSIFY, "other").begin(Question("llm", "there", "m", "another"))
    probing.end(leave, CallEnd("answered", 0.1, Reply(200, "application/json", b"no title")))
    assert isinstance(probing.begin(Question("llm", "there", "m", "the same, stricter")), Ticket)
