"""Embedding of questions: the answer comes soon or not at all, even if the child or the endpoint fails."""

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
from chyme.core.children.slot import CLOSED
from chyme.core.store.sqlite.database import Database
from chyme.errors import TimedOut
from chyme.model import File, Kind, Stamp
from chyme.models.embedding.passage_embedder import PassageEmbedding, load_passage_embedder
from chyme.models.providers.call_ledger import CallLedger
from chyme.models.providers.daily_budget import Allowance
from chyme.models.weights.catalog import EMBEDDING
from chyme.models.weights.folder import path_of
from chyme.search.query_embedding.child_process import LOADING, ChildQueryEmbedder
from chyme.search.query_embedding.endpoint import EndpointQueryEmbedder
from chyme.search.query_embedding.query_vectors import QueryVector, QueryVectorCache, key_of
from chyme.search.query_embedding.unreadable_questions import (
    NO_WORDS,
    UNKNOWN_SCRIPT,
    UNKNOWN_WORDS,
    explain_unreadable,
)

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
MINILM = PassageEmbedding()
MODEL = MINILM.model_name
LEASE = File(7, "lease.txt", "lease.txt", Kind.TEXT, "text/plain", Stamp("1", "2", 3, 4), "00", 1)


Make = Callable[..., ChildQueryEmbedder]


@pytest.fixture
def make() -> Iterator[Make]:
    """Create query embedders that use a fake model in a real child; `real=True` uses the real model."""
    made: list[ChildQueryEmbedder] = []

    def make(embedder: PassageEmbedding = MINILM, *, real: bool = False, **changes: Any) -> ChildQueryEmbedder:
        fake = {} if real else {"entry": "fake_query_embedders:in_child", "import_from": [HERE]}
        made.append(ChildQueryEmbedder([embedder], **{"patience": AMPLE, **fake, **changes}))
        return made[-1]

    yield make
    for embedder in made:
        embedder.close()


def pids(questions: ChildQueryEmbedder) -> list[int]:
    return [child.pid for child in questions.runner.snapshot().children] if questions.runner else []


def count(answer: QueryVector) -> float:
    """Return how many questions the child had received, this one included."""
    assert answer.vector is not None, answer.why_not
    return answer.vector[0]


def test_a_question_gets_the_vector_that_its_embedder_gives(make: Make) -> None:
    if path_of(EMBEDDING) is None:
        pytest.skip("needs the weights for embedding, and they are not there: run 'chyme weights embedding'")
    questions = make(real=True)

    answer = questions.embed(" who pays the rent? ", MODEL)

    assert answer == QueryVector(tuple(array("f", load_passage_embedder(MINILM).embed(["who pays the rent?"]))))
    assert questions.embed("谁付房租？", MODEL) == QueryVector(None, UNKNOWN_SCRIPT)
    assert questions.embed("rhubarb", MODEL) == QueryVector(None, UNKNOWN_WORDS)


def test_the_reason_for_missing_weights_says_how_to_get_them(make: Make, tmp_path: Path) -> None:
    questions = make(PassageEmbedding(weights_dir=str(tmp_path)), real=True)

    answer = questions.embed("rent", MODEL)

    assert answer.vector is None
    assert "run 'chyme weights embedding'" in str(answer.why_not)


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("谁付房租？", UNKNOWN_SCRIPT),
        ("Кто платит за аренду ABC?", UNKNOWN_SCRIPT),
        ("rhubarb", UNKNOWN_WORDS),
        ("Þórsmörk", UNKNOWN_WORDS),
        ("rhubarb 茶", UNKNOWN_WORDS),
        ("4711 / 12", NO_WORDS),
    ],
)
def test_a_question_without_a_vector_is_said_to_be_in_another_script_only_if_it_is(question: str, reason: str) -> None:
    assert explain_unreadable(question) == reason


def test_no_child_is_started_before_the_first_question(make: Make) -> None:
    questions = make()
    assert questions.embed("  ", MODEL) == QueryVector(None)
    assert "cannot be asked" in str(questions.embed("rent", "another model 768").why_not)
    assert questions.runner is None


def test_a_recent_question_is_answered_from_the_cache(make: Make) -> None:
    questions = make()
    first = questions.embed("rent", MODEL)
    assert [count(questions.embed(text, MODEL)) for text in ("heating", " rent\n", "heating")] == [2, 1, 2]
    assert first == questions.embed("rent", MODEL)
    assert (
        questions.embed("unreadable", MODEL) == questions.embed("unreadable", MODEL) == QueryVector(None, UNKNOWN_WORDS)
    )
    assert count(questions.embed("water", MODEL)) == 4


def test_the_cache_contains_only_the_last_questions() -> None:
    recent = QueryVectorCache(capacity=2)
    for text in ("one", "two"):
        recent.put(key_of(text, MODEL), QueryVector((0.5,)))
    assert recent.get(key_of("one", MODEL)) == QueryVector((0.5,))
    recent.put(key_of("three", MODEL), QueryVector(None, UNKNOWN_WORDS))
    assert recent.get(key_of("two", MODEL)) is None
    assert recent.get(key_of("one", "another")) is None
    assert recent.get(key_of("three", MODEL)) == QueryVector(None, UNKNOWN_WORDS)


def test_an_answer_that_came_too_late_is_there_for_the_same_question_later(make: Make) -> None:
    questions = make(patience=0.05)
    assert questions.embed("slow", MODEL) == QueryVector(None, LOADING)
    wait_until(lambda: questions.embed("slow", MODEL).vector)
    assert count(questions.embed("slow", MODEL)) == 1


def test_a_child_that_hangs_blocks_no_caller_and_is_ended(make: Make) -> None:
    questions = make(patience=0.3, seconds=1.5, rest=0.0)
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: questions.embed("hang", MODEL), range(20)))
    assert {(answer.vector, answer.why_not) for answer in answers} == {(None, LOADING)}
    wait_until(lambda: questions.embed("rent", MODEL).vector)
    assert count(questions.embed("rent", MODEL)) == 1


def test_questions_behind_a_hanging_one_fail_with_it_and_the_child_is_left_alone_for_a_while(make: Make) -> None:
    questions = make(seconds=1.0, rest=AMPLE)
    with ThreadPoolExecutor(20) as pool:
        first = pool.submit(questions.embed, "hang", MODEL)
        wait_until(lambda: pids(questions))
        answers = list(pool.map(lambda number: questions.embed(f"question {number}", MODEL), range(19)))
        answers.append(first.result(AMPLE))
    assert {answer.why_not for answer in answers} == {"embed-question took longer than 1 s and was stopped"}


def test_many_threads_ask_at_once_and_each_gets_its_own_answer(make: Make) -> None:
    questions = make()
    texts = [f"question {number % 10}" for number in range(20)]
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda text: questions.embed(text, MODEL), texts))
    assert sorted({count(answer) for answer in answers}) == list(range(1, 11))
    assert answers == [questions.embed(text, MODEL) for text in texts]
    assert len(pids(questions)) == 1


def test_a_child_that_was_killed_is_replaced(make: Make) -> None:
    questions = make()
    assert count(questions.embed("rent", MODEL)) == 1
    (pid,) = pids(questions)
    os.kill(pid, signal.SIGKILL)
    assert count(questions.embed("heating", MODEL)) == 1
    assert pids(questions) != [pid]
    assert count(questions.embed("die once", MODEL)) == 1


def test_a_question_that_always_kills_its_child_gets_the_reason(make: Make) -> None:
    questions = make(rest=AMPLE)
    answer = questions.embed("die", MODEL)
    assert answer.vector is None
    assert "was killed (SIGKILL)" in str(answer.why_not)
    assert questions.embed("rent", MODEL) == answer


def test_answers_from_before_a_failure_are_still_cached(make: Make) -> None:
    questions = make(rest=AMPLE)
    first = questions.embed("rent", MODEL)
    assert questions.embed("missing", MODEL) == QueryVector(
        None, "the weights are not there; run 'chyme weights embedding'"
    )
    assert questions.embed("rent", MODEL) == first


@pytest.mark.parametrize("text", ["nan", "odd", "nothing"])
def test_an_answer_that_makes_no_sense_is_not_believed(make: Make, text: str) -> None:
    answer = make().embed(text, MODEL)
    assert answer.vector is None
    assert "makes no sense" in str(answer.why_not)


def test_the_answer_says_why_a_child_cannot_start(make: Make) -> None:
    answer = make(entry="fake_query_embedders:nobody").embed("rent", MODEL)
    assert "child processes cannot start" in str(answer.why_not)


def test_a_model_is_loaded_before_the_first_question_on_demand(make: Make) -> None:
    questions = make(patience=0.0)
    questions.preload("another model 768")
    assert questions.runner is None
    questions.preload(MODEL)
    wait_until(lambda: questions.runner and questions.runner.snapshot().tasks)
    questions.preload(MODEL)
    wait_until(lambda: questions.embed("rent", MODEL).vector)
    assert count(questions.embed("rent", MODEL)) == 2


def test_closing_ends_the_child_and_releases_waiting_callers(make: Make) -> None:
    questions = make()
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(questions.embed, text, MODEL) for text in ("hang", "rent")]
        wait_until(lambda: pids(questions))
        (pid,) = pids(questions)
        questions.close()
        assert {future.result(AMPLE) for future in futures} == {QueryVector(None, CLOSED)}
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


def test_an_endpoint_is_asked_once_and_its_calls_are_accounted_to_search(
    ledger: CallLedger, database: Database
) -> None:
    with ModelServer(embeds(tokens=5)) as server:
        questions = EndpointQueryEmbedder(at(server.url), ledger)
        answer = questions.embed("who pays the rent? ", questions.model)
        assert questions.embed("who pays the rent?", questions.model) == answer
    length = sum(number * number for number in vector_of("who pays the rent?")) ** 0.5
    assert answer.vector == pytest.approx([number / length for number in vector_of("who pays the rent?")])
    assert [texts_of(request) for request in server.requests] == [["who pays the rent?"]]
    accounts = {by: ledger.accounts(by, "2026") for by in ("digester", "file", "provider")}
    assert {
        by: [(account.name, account.calls, account.tokens_in) for account in found] for by, found in accounts.items()
    } == {
        "digester": [("search", 1, 5)],
        "file": [("(questions)", 1, 5)],
        "provider": [("embedding", 1, 5)],
    }
    assert database.read().execute("SELECT question, response, file_id FROM ai_calls").fetchall() == [("", None, None)]


def test_the_same_question_of_many_threads_is_paid_for_once(ledger: CallLedger) -> None:
    with ModelServer(lambda request: late(0.3, embeds()(request))) as server:
        questions = EndpointQueryEmbedder(at(server.url), ledger)
        with ThreadPoolExecutor(20) as pool:
            answers = list(pool.map(lambda _: questions.embed("rent", questions.model), range(20)))
    assert server.count == 1
    assert len({answer.vector for answer in answers}) == 1
    assert answers[0].vector is not None


def test_a_paused_provider_is_not_asked(ledger: CallLedger) -> None:
    with ModelServer(embeds()) as server:
        questions = EndpointQueryEmbedder(at(server.url), ledger)
        ledger.pause(["embedding"])
        answer = questions.embed("rent", questions.model)
        assert answer == QueryVector(None, "calls of embedding are paused; 'chyme ai resume embedding' lets them go on")
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
        answer = questions.embed("rent", questions.model)
        assert "left alone for a while" in str(answer.why_not)
        assert server.count == 1
        clock.now += timedelta(seconds=61)
        assert questions.embed("rent", questions.model).vector
    assert state(ledger) == "ready"


def test_a_slow_endpoint_delays_search_only_once_and_stays_ready_for_digestion(ledger: CallLedger) -> None:
    for _ in range(2):
        ledger.failed("embedding", TimedOut("a.txt: slow"), False, LEASE)
    with ModelServer([hangs()]) as server:
        questions = EndpointQueryEmbedder(at(server.url), ledger, seconds=2, rest=AMPLE)
        answers = [questions.embed(f"question {number}", questions.model) for number in range(5)]
    assert {answer.why_not for answer in answers} == {f"{questions.model} does not answer within 2 seconds"}
    assert server.count == 1
    assert state(ledger) == "ready"
    assert ledger.accounts("digester", "2026")[0].failed == 1


def test_a_slow_answer_after_an_outage_makes_the_provider_rest_again(ledger: CallLedger, clock: Clock) -> None:
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
    ("answer", "expected"),
    [
        (with_first(float("nan")), "points nowhere"),
        (embeds(lambda data: [*data, *data]), "2 vectors to 1 texts"),
        (raw(b"<html></html>", "text/html"), "correct embedding_url"),
        (fails(401), "correct embedding_key"),
        (fails(500), "HTTP 500"),
    ],
)
def test_the_failure_of_an_endpoint_is_explained_in_words(ledger: CallLedger, answer: Any, expected: str) -> None:
    with ModelServer([answer]) as server:
        questions = EndpointQueryEmbedder(at(server.url), ledger)
        query_vector = questions.embed("rent", questions.model)
    assert query_vector.vector is None
    assert expected in str(query_vector.why_not)
    assert not str(query_vector.why_not).startswith("your question")


def test_a_closed_database_does_not_stop_a_search(ledger: CallLedger, database: Database) -> None:
    with ModelServer(embeds()) as server:
        questions = EndpointQueryEmbedder(at(server.url), ledger)
        database.close()
        answer = questions.embed("rent", questions.model)
    assert answer.vector is None
    assert answer.why_not
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
