"""What questions mean: soon or not at all, whatever becomes of the child or the endpoint that is asked."""

from __future__ import annotations

import os
import signal
from array import array
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from embedding_server import embeds, texts_of, vector_of, with_first
from model_server import ModelServer, fails, hangs, late, raw
from waiting import AMPLE, wait_until

from chyme.application.digester_config import embedding_config
from chyme.application.settings import Settings
from chyme.application.vault_search import create_query_embedder
from chyme.core.children.launcher import CLOSED
from chyme.core.store.sqlite.database import Database
from chyme.errors import TimedOut
from chyme.model import File, Kind, Stamp
from chyme.models.embedding.passage_embedder import PassageEmbedding, load_passage_embedder
from chyme.models.providers.call_ledger import CallLedger
from chyme.models.providers.daily_budget import Allowance
from chyme.models.weights.catalog import EMBEDDING
from chyme.models.weights.folder import path_of
from chyme.search.query_embedding.child_process import LOADING, UNREADABLE, ChildQueryEmbedder
from chyme.search.query_embedding.endpoint import EndpointQueryEmbedder
from chyme.search.query_embedding.query_vectors import QueryVector, QueryVectorCache, key_of

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
MINILM = PassageEmbedding()
MODEL = MINILM.model_name
LEASE = File(7, "lease.txt", "lease.txt", Kind.TEXT, "text/plain", Stamp("1", "2", 3, 4), "00", 1)


Make = Callable[..., ChildQueryEmbedder]


@pytest.fixture
def make() -> Iterator[Make]:
    """Questions to a fake embedder in a real child; `real=True` for the real one."""
    made: list[ChildQueryEmbedder] = []

    def make(embedder: PassageEmbedding = MINILM, *, real: bool = False, **changes: Any) -> ChildQueryEmbedder:
        fake = {} if real else {"entry": "fake_query_embedders:in_child", "import_from": [HERE]}
        made.append(ChildQueryEmbedder([embedder], **{"patience": AMPLE, **fake, **changes}))
        return made[-1]

    yield make
    for one in made:
        one.close()


def pids(questions: ChildQueryEmbedder) -> list[int]:
    return [child.pid for child in questions.runner.snapshot().children] if questions.runner else []


def count(meant: QueryVector) -> float:
    """The how many-th question this was to its child."""
    assert meant.vector is not None, meant.why_not
    return meant.vector[0]


def test_a_question_gets_the_vector_that_its_embedder_gives(make: Make) -> None:
    if path_of(EMBEDDING) is None:
        pytest.skip("needs the weights for embedding, and they are not there: run 'chyme weights embedding'")
    questions = make(real=True)

    meant = questions.embed(" who pays the rent? ", MODEL)

    assert meant == QueryVector(tuple(array("f", load_passage_embedder(MINILM).embed(["who pays the rent?"]))))
    assert questions.embed("谁付房租？", MODEL) == QueryVector(None, UNREADABLE)


def test_where_the_weights_are_missing_the_reason_says_how_to_get_them(make: Make, tmp_path: Path) -> None:
    questions = make(PassageEmbedding(weights_dir=str(tmp_path)), real=True)

    meant = questions.embed("rent", MODEL)

    assert meant.vector is None
    assert "run 'chyme weights embedding'" in str(meant.why_not)


def test_nothing_is_started_before_somebody_asks(make: Make) -> None:
    questions = make()
    assert questions.embed("  ", MODEL) == QueryVector(None)
    assert "cannot be asked" in str(questions.embed("rent", "another model 768").why_not)
    assert questions.runner is None


def test_what_was_asked_lately_is_not_asked_again(make: Make) -> None:
    questions = make()
    first = questions.embed("rent", MODEL)
    assert [count(questions.embed(text, MODEL)) for text in ("heating", " rent\n", "heating")] == [2, 1, 2]
    assert first == questions.embed("rent", MODEL)
    assert questions.embed("unreadable", MODEL) == questions.embed("unreadable", MODEL) == QueryVector(None, UNREADABLE)
    assert count(questions.embed("water", MODEL)) == 4


def test_only_the_last_questions_are_kept() -> None:
    recent = QueryVectorCache(capacity=2)
    for text in ("one", "two"):
        recent.put(key_of(text, MODEL), QueryVector((0.5,)))
    assert recent.get(key_of("one", MODEL)) == QueryVector((0.5,))
    recent.put(key_of("three", MODEL), QueryVector(None, UNREADABLE))
    assert recent.get(key_of("two", MODEL)) is None
    assert recent.get(key_of("one", "another")) is None
    assert recent.get(key_of("three", MODEL)) == QueryVector(None, UNREADABLE)


def test_whoever_is_impatient_finds_the_answer_when_they_ask_again(make: Make) -> None:
    questions = make(patience=0.05)
    assert questions.embed("slow", MODEL) == QueryVector(None, LOADING)
    wait_until(lambda: questions.embed("slow", MODEL).vector)
    assert count(questions.embed("slow", MODEL)) == 1


def test_a_child_that_hangs_keeps_nobody_and_is_ended(make: Make) -> None:
    questions = make(patience=0.3, seconds=1.5, rest=0.0)
    with ThreadPoolExecutor(20) as pool:
        told = list(pool.map(lambda _: questions.embed("hang", MODEL), range(20)))
    assert {(one.vector, one.why_not) for one in told} == {(None, LOADING)}
    wait_until(lambda: questions.embed("rent", MODEL).vector)
    assert count(questions.embed("rent", MODEL)) == 1


def test_what_waits_behind_a_hanging_question_is_told_with_it_and_then_nobody_asks_for_a_while(make: Make) -> None:
    questions = make(seconds=1.0, rest=AMPLE)
    with ThreadPoolExecutor(20) as pool:
        first = pool.submit(questions.embed, "hang", MODEL)
        wait_until(lambda: pids(questions))
        told = list(pool.map(lambda number: questions.embed(f"question {number}", MODEL), range(19)))
        told.append(first.result(AMPLE))
    assert {one.why_not for one in told} == {"embed-question took longer than 1 s and was stopped"}


def test_many_threads_ask_at_once_and_each_gets_its_own_answer(make: Make) -> None:
    questions = make()
    texts = [f"question {number % 10}" for number in range(20)]
    with ThreadPoolExecutor(20) as pool:
        told = list(pool.map(lambda text: questions.embed(text, MODEL), texts))
    assert sorted({count(one) for one in told}) == list(range(1, 11))
    assert told == [questions.embed(text, MODEL) for text in texts]
    assert len(pids(questions)) == 1


def test_a_child_that_was_killed_is_replaced(make: Make) -> None:
    questions = make()
    assert count(questions.embed("rent", MODEL)) == 1
    (pid,) = pids(questions)
    os.kill(pid, signal.SIGKILL)
    assert count(questions.embed("heating", MODEL)) == 1
    assert pids(questions) != [pid]
    assert count(questions.embed("die once", MODEL)) == 1


def test_a_question_that_always_kills_its_child_is_told_so(make: Make) -> None:
    questions = make(rest=AMPLE)
    told = questions.embed("die", MODEL)
    assert told.vector is None
    assert "was killed (SIGKILL)" in str(told.why_not)
    assert questions.embed("rent", MODEL) == told


def test_what_was_answered_before_a_failure_is_still_known(make: Make) -> None:
    questions = make(rest=AMPLE)
    first = questions.embed("rent", MODEL)
    assert questions.embed("missing", MODEL) == QueryVector(
        None, "the weights are not there; run 'chyme weights embedding'"
    )
    assert questions.embed("rent", MODEL) == first


@pytest.mark.parametrize("text", ["nan", "odd", "nothing"])
def test_an_answer_that_makes_no_sense_is_not_believed(make: Make, text: str) -> None:
    told = make().embed(text, MODEL)
    assert told.vector is None
    assert "makes no sense" in str(told.why_not)


def test_a_child_that_cannot_start_is_told_with_the_reason(make: Make) -> None:
    told = make(entry="fake_query_embedders:nobody").embed("rent", MODEL)
    assert "child processes cannot start" in str(told.why_not)


def test_a_model_is_loaded_before_the_first_question_on_demand(make: Make) -> None:
    questions = make(patience=0.0)
    questions.preload("another model 768")
    assert questions.runner is None
    questions.preload(MODEL)
    wait_until(lambda: questions.runner and questions.runner.snapshot().tasks)
    questions.preload(MODEL)
    wait_until(lambda: questions.embed("rent", MODEL).vector)
    assert count(questions.embed("rent", MODEL)) == 2


def test_closing_ends_the_child_and_lets_go_of_whoever_waits(make: Make) -> None:
    questions = make()
    with ThreadPoolExecutor(2) as pool:
        told = [pool.submit(questions.embed, text, MODEL) for text in ("hang", "rent")]
        wait_until(lambda: pids(questions))
        (pid,) = pids(questions)
        questions.close()
        assert {one.result(AMPLE) for one in told} == {QueryVector(None, CLOSED)}
    wait_until(lambda: not Path(f"/proc/{pid}").exists())
    assert questions.embed("heating", MODEL) == QueryVector(None, CLOSED)


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(tmp_path / ".chyme")
    yield made
    made.close()


@pytest.fixture
def ledger(database: Database, clock: Clock) -> CallLedger:
    return CallLedger(database, clock, {}, private=lambda _path: True)


def at(url: str) -> PassageEmbedding:
    return PassageEmbedding("openai", url=url, model="small-embed", key="sk-secret")


def state(ledger: CallLedger) -> str:
    (standing,) = ledger.statuses(["embedding"])
    return standing.state


def test_an_endpoint_is_asked_once_and_its_calls_are_those_of_search(ledger: CallLedger, database: Database) -> None:
    with ModelServer(embeds(tokens=5)) as server:
        questions = EndpointQueryEmbedder(at(server.url), ledger)
        meant = questions.embed("who pays the rent? ", questions.model)
        assert questions.embed("who pays the rent?", questions.model) == meant
    length = sum(one * one for one in vector_of("who pays the rent?")) ** 0.5
    assert meant.vector == pytest.approx([one / length for one in vector_of("who pays the rent?")])
    assert [texts_of(one) for one in server.requests] == [["who pays the rent?"]]
    accounts = {by: ledger.accounts(by, "2026") for by in ("digester", "file", "provider")}
    assert {by: [(one.name, one.calls, one.tokens_in) for one in found] for by, found in accounts.items()} == {
        "digester": [("search", 1, 5)],
        "file": [("(questions)", 1, 5)],
        "provider": [("embedding", 1, 5)],
    }
    assert database.read().execute("SELECT question, response, file_id FROM ai_calls").fetchall() == [("", None, None)]


def test_the_same_question_of_many_threads_is_paid_for_once(ledger: CallLedger) -> None:
    with ModelServer(lambda asked: late(0.3, embeds()(asked))) as server:
        questions = EndpointQueryEmbedder(at(server.url), ledger)
        with ThreadPoolExecutor(20) as pool:
            told = list(pool.map(lambda _: questions.embed("rent", questions.model), range(20)))
    assert server.count == 1
    assert len({one.vector for one in told}) == 1
    assert told[0].vector is not None


def test_a_paused_provider_is_not_asked(ledger: CallLedger) -> None:
    with ModelServer(embeds()) as server:
        questions = EndpointQueryEmbedder(at(server.url), ledger)
        ledger.pause(["embedding"])
        told = questions.embed("rent", questions.model)
        assert told == QueryVector(None, "calls of embedding are paused; 'chyme ai resume embedding' lets them go on")
        assert server.count == 0
        ledger.resume(["embedding"])
        assert questions.embed("rent", questions.model).vector


def test_questions_stay_within_the_days_budget(database: Database, clock: Clock) -> None:
    ledger = CallLedger(database, clock, {"embedding": Allowance(calls=1)})
    with ModelServer(embeds()) as server:
        questions = EndpointQueryEmbedder(at(server.url), ledger)
        assert questions.embed("rent", questions.model).vector
        assert "budget of 1 calls" in str(questions.embed("heating", questions.model).why_not)
    assert server.count == 1


def test_a_question_does_not_wait_long_for_its_turn(database: Database, clock: Clock) -> None:
    ledger = CallLedger(database, clock, {"embedding": Allowance(per_second=0.5)})
    with ModelServer(embeds()) as server:
        questions = EndpointQueryEmbedder(at(server.url), ledger)
        assert questions.embed("rent", questions.model).vector
        assert "waits its turn" in str(questions.embed("heating", questions.model).why_not)
    assert server.count == 1


def test_a_provider_that_is_at_fault_is_left_alone_until_it_answers_again(ledger: CallLedger, clock: Clock) -> None:
    with ModelServer([fails(429, retry_after="60"), embeds()]) as server:
        questions = EndpointQueryEmbedder(at(server.url), ledger)
        assert "slow down" in str(questions.embed("rent", questions.model).why_not)
        assert state(ledger) == "resting"
        told = questions.embed("rent", questions.model)
        assert "left alone for a while" in str(told.why_not)
        assert server.count == 1
        clock.now += timedelta(seconds=61)
        assert questions.embed("rent", questions.model).vector
    assert state(ledger) == "ready"


def test_a_slow_endpoint_keeps_no_search_waiting_twice_and_is_none_the_worse_for_digestion(ledger: CallLedger) -> None:
    for _ in range(2):
        ledger.failed("embedding", TimedOut("a.txt: slow"), False, LEASE)
    with ModelServer([hangs()]) as server:
        questions = EndpointQueryEmbedder(at(server.url), ledger, seconds=2, rest=AMPLE)
        told = [questions.embed(f"question {number}", questions.model) for number in range(5)]
    assert {one.why_not for one in told} == {f"{questions.model} does not answer within 2 seconds"}
    assert server.count == 1
    assert state(ledger) == "ready"
    assert ledger.accounts("digester", "2026")[0].failed == 1


def test_one_slow_answer_after_an_outage_leaves_it_alone_again(ledger: CallLedger, clock: Clock) -> None:
    with ModelServer([fails(503), hangs()]) as server:
        questions = EndpointQueryEmbedder(at(server.url), ledger, seconds=2, rest=0.0)
        assert "HTTP 503" in str(questions.embed("rent", questions.model).why_not)
        clock.now += timedelta(seconds=6)
        assert "does not answer" in str(questions.embed("rent", questions.model).why_not)
        assert "left alone for a while" in str(questions.embed("rent", questions.model).why_not)
        assert server.count == 2
        clock.now += timedelta(seconds=11)
        questions.embed("rent", questions.model)
    assert server.count == 3


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (with_first(float("nan")), "points nowhere"),
        (embeds(lambda data: [*data, *data]), "2 vectors to 1 texts"),
        (raw(b"<html></html>", "text/html"), "correct embedding_url"),
        (fails(401), "correct embedding_key"),
        (fails(500), "HTTP 500"),
    ],
)
def test_why_an_endpoint_told_nothing_is_said_in_words(ledger: CallLedger, answer: Any, says: str) -> None:
    with ModelServer([answer]) as server:
        questions = EndpointQueryEmbedder(at(server.url), ledger)
        told = questions.embed("rent", questions.model)
    assert told.vector is None
    assert says in str(told.why_not)
    assert not str(told.why_not).startswith("your question")


def test_whatever_goes_wrong_a_search_goes_on(ledger: CallLedger, database: Database) -> None:
    with ModelServer(embeds()) as server:
        questions = EndpointQueryEmbedder(at(server.url), ledger)
        database.close()
        told = questions.embed("rent", questions.model)
    assert told.vector is None
    assert told.why_not
    assert server.count == 0


def test_each_model_is_asked_where_it_is(ledger: CallLedger, tmp_path: Path) -> None:
    with ModelServer(embeds()) as server:
        settings = Settings(
            embedding_provider="openai",
            embedding_url=server.url,
            embedding_model="small-embed",
            weights_dir=str(tmp_path),
        )
        questions = create_query_embedder(settings, ledger, patience=AMPLE)
        try:
            named = PassageEmbedding(**embedding_config(settings)).model_name
            assert questions.embed("rent", named).vector
            assert "run 'chyme weights embedding'" in str(questions.embed("rent", MODEL).why_not)
            assert "cannot be asked" in str(questions.embed("rent", "nobody's model 12").why_not)
        finally:
            questions.close()
    assert server.count == 1


def test_without_an_endpoint_nothing_leaves_this_machine(ledger: CallLedger, tmp_path: Path) -> None:
    questions = create_query_embedder(Settings(weights_dir=str(tmp_path)), ledger, patience=AMPLE)
    try:
        questions.preload(MODEL)
        assert "run 'chyme weights embedding'" in str(questions.embed("rent", MODEL).why_not)
    finally:
        questions.close()
    assert ledger.accounts("digester", "2026") == []
