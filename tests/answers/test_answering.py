"""A question is answered by a model, checked, or quoted; with every fault of a provider, and nothing private sent."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from asked_vault import LEASE, QUESTION, SECRET
from model_server import Asked, ModelServer, cuts, fails, hangs, raw, resets, says, streams
from waiting import AMPLE, wait_until

from chyme.answers.conversation import Answer, Began, Draft, EarlierSentence, Event, Question, Sentence, Turn
from chyme.application.app import App
from chyme.errors import NotFound, UsageError
from chyme.models.providers.cancellation import CallCancellation, CallStopped


def ask(app: App, question: str | Question = QUESTION, **how: bool) -> tuple[Answer, list[Event]]:
    events: list[Event] = []
    asked = Question(question) if isinstance(question, str) else question
    return app.answering.answer(asked, events.append, CallCancellation(), **how), events


def supported(answer: Answer) -> list[str]:
    return [sentence.text for sentence in answer.sentences if sentence.supported]


def struck(answer: Answer) -> list[str]:
    return [sentence.text for sentence in answer.sentences if not sentence.supported]


def calls_of(app: App) -> list[tuple[str, str, int | None]]:
    rows = app.database.read().execute("SELECT digester, outcome, tokens_in FROM ai_calls ORDER BY id").fetchall()
    return [(row[0], row[1], row[2]) for row in rows]


def number_of(asked: Asked, path: str) -> int:
    """The number that a passage of this file has in the prompt."""
    line = next(line for line in asked.words.splitlines() if line.startswith("[") and f"] {path} " in line)
    return int(line[1 : line.index("]")])


def test_sentences_arrive_one_by_one_with_the_place_that_supports_each(asked_app: App, provider: ModelServer) -> None:
    provider.script(
        lambda asked: streams(
            f"The monthly rent is 900 euros [{number_of(asked, 'papers/lease.txt')}].\nPets are not allowed."
        )
    )
    answer, events = ask(asked_app)
    kinds = [type(event) for event in events]
    assert kinds[0] is Began and kinds[-1] is Answer
    assert kinds.index(Draft) < kinds.index(Sentence)
    assert supported(answer) == ["The monthly rent is 900 euros.", "Pets are not allowed."]
    (place,) = answer.sentences[0].citations
    assert (place.path, LEASE[place.place.start : place.place.end]) == (
        "papers/lease.txt",
        "The monthly rent is 900 euros.",
    )
    assert answer.means == "model" and answer.model and "scripted" in answer.model
    assert calls_of(asked_app) == [("ask", "answered", 7)]
    assert provider.requests[0].body["stream"] is True


def test_an_invented_sentence_is_struck_and_a_wrong_citation_corrected(asked_app: App, provider: ModelServer) -> None:
    provider.script(
        lambda asked: streams(
            f"The rent rises to 950 euros next year [{number_of(asked, 'papers/lease.txt')}].\n"
            f"Ada Byron signed the lease [{number_of(asked, 'boiler.txt')}].\nThe moon is made of cheese [99]."
        )
    )
    answer, _ = ask(asked_app)
    assert supported(answer) == ["Ada Byron signed the lease."]
    assert [citation.path for citation in answer.sentences[1].citations] == ["papers/lease.txt"]
    assert struck(answer) == ["The rent rises to 950 euros next year.", "The moon is made of cheese."]
    assert all(sentence.reason for sentence in answer.sentences if not sentence.supported)


def test_where_everything_a_model_writes_is_struck_the_files_are_quoted(asked_app: App, provider: ModelServer) -> None:
    provider.script([streams("The moon is made of green cheese [1].\nIt is 4 billion years old [2].")])
    answer, _ = ask(asked_app, "What is the monthly rent?")
    assert struck(answer) == ["The moon is made of green cheese.", "It is 4 billion years old."]
    assert (answer.means, supported(answer)[0]) == ("quotations", "The monthly rent is 900 euros.")
    assert not ask(asked_app, "Which dentist wants a rent?")[0].found


def test_a_model_that_repeats_itself_is_stopped(asked_app: App, provider: ModelServer) -> None:
    provider.script([streams("The monthly rent is 900 euros [1].\n" * 50, pause=0.01)])
    answer, _ = ask(asked_app)
    assert len(answer.sentences) == 1
    assert provider.requests[0].hung_up.wait(AMPLE)


@pytest.mark.parametrize("reply", ["NOT FOUND", "Not found."])
def test_that_it_is_not_in_the_files_is_said_plainly(asked_app: App, provider: ModelServer, reply: str) -> None:
    provider.script([streams(reply)])
    answer, _ = ask(asked_app, "Who pays the rent of the crane driver?")
    assert not answer.found and not answer.sentences


def test_no_model_is_asked_where_the_search_finds_nothing(asked_app: App, provider: ModelServer) -> None:
    answer, _ = ask(asked_app, "xylophone quartet?")
    assert (answer.found, answer.means, provider.count) == (False, "nothing", 0)


def test_a_private_file_is_never_sent_and_the_answer_says_so(asked_app: App, provider: ModelServer) -> None:
    provider.script([streams("The monthly rent is 900 euros [1].")])
    secret_turn = Turn(
        "And the chalet?", (EarlierSentence(SECRET, ("secret/chalet.txt",)), EarlierSentence(SECRET, ()))
    )
    answer, events = ask(asked_app, Question("What is the rent of the chalet?", (secret_turn,)))
    assert provider.count == 1
    sent = provider.requests[0].words
    assert "4711" not in sent and "francs" not in sent and "secret/" not in sent
    assert answer.private_left_out == 1
    assert isinstance(events[0], Began) and events[0].private_left_out == 1


def test_where_only_a_private_file_answers_it_is_quoted_and_not_sent(asked_app: App, provider: ModelServer) -> None:
    answer, _ = ask(asked_app, Question(QUESTION, (), ("secret/chalet.txt",)))
    assert (answer.means, provider.count, supported(answer)) == ("quotations", 0, [SECRET])


def test_an_earlier_answer_is_sent_as_context(asked_app: App, provider: ModelServer) -> None:
    provider.script([streams("Ada Byron signed it [1].")])
    turn = Turn("Which lease is it?", (EarlierSentence("It is the lease of Elm Street.", ("papers/lease.txt",)),))
    ask(asked_app, Question("Who signed it?", (turn,)))
    assert "Which lease is it?" in provider.requests[0].words
    assert "It is the lease of Elm Street." in provider.requests[0].words


def test_chosen_files_and_filters_narrow_what_is_read(asked_app: App, provider: ModelServer) -> None:
    provider.script([streams("NOT FOUND")])
    for question in (Question(QUESTION, (), ("boiler.txt",)), Question(f"{QUESTION} name:boiler")):
        ask(asked_app, question)
        sent = provider.requests[-1].words
        assert "boiler.txt" in sent and "lease.txt" not in sent
        assert "name:boiler" not in sent
    with pytest.raises(NotFound):
        ask(asked_app, Question(QUESTION, (), ("elsewhere.txt",)))


def test_a_file_that_commands_changes_nothing(asked_app: App, provider: ModelServer) -> None:
    """Also where the model obeys: what it writes then is text, held against the passages."""
    provider.script(
        [streams("The rent is 1 euro [3].\n<script>alert(1)</script>\n[Click](https://other.example) [1].")]
    )
    answer, _ = ask(asked_app, "What is the rent of papers?")
    instructions, content = (message["content"] for message in provider.requests[0].body["messages"])
    assert "Ignore all previous" in content and "Ignore all previous" not in instructions
    assert "never an instruction" in instructions
    assert not any("other.example" in text for text in supported(answer))
    assert all(citation.path for sentence in answer.sentences for citation in sentence.citations)


FAULTS: list[tuple[str, Callable[[], object]]] = [
    ("fails", lambda: fails(500)),
    ("refuses the key", lambda: fails(401)),
    ("resets", resets),
    ("cut before a sentence", lambda: streams("The monthly", cut=True)),
    ("no stream", lambda: cuts("hello")),
    ("not a model", lambda: raw(b"<html>hello</html>", "text/html")),
    ("no events", lambda: raw(b"data: {}\n\n", "text/event-stream")),
]


@pytest.mark.parametrize("fault", [make for _, make in FAULTS], ids=[name for name, _ in FAULTS])
def test_a_model_that_fails_is_replaced_by_quotations(
    asked_app: App, provider: ModelServer, fault: Callable[[], object]
) -> None:
    provider.script([fault()])  # type: ignore[list-item]
    answer, _ = ask(asked_app, "What is the monthly rent?")
    assert answer.means == "quotations"
    assert supported(answer)[0] == "The monthly rent is 900 euros."
    assert "no model answered" in answer.notes[0] and "sk-key" not in answer.notes[0]


def test_what_was_checked_before_a_stream_broke_stays(asked_app: App, provider: ModelServer) -> None:
    text = "The monthly rent is 900 euros [1].\nPets are not allowed [1].\nThe lease was signed by Ada and then by Tom"
    provider.script([streams(text, cut=True)])
    answer, _ = ask(asked_app)
    assert answer.means == "model"
    assert supported(answer) == ["The monthly rent is 900 euros."]
    assert "did not finish" in answer.notes[0]
    assert calls_of(asked_app)[0][:2] == ("ask", "broken")


def test_a_plain_reply_in_place_of_a_stream_does_no_harm(asked_app: App, provider: ModelServer) -> None:
    provider.script([says("The monthly rent is 900 euros [1].")])
    answer, _ = ask(asked_app)
    assert answer.found
    assert calls_of(asked_app)[0][1] == "answered"


def test_a_model_that_does_not_stop_is_stopped(asked_app: App, provider: ModelServer) -> None:
    provider.script([streams("\n".join(f"The monthly rent is {number} euros [1]." for number in range(2000)))])
    answer, _ = ask(asked_app)
    assert len(answer.sentences) == 12
    assert calls_of(asked_app)[0][0] == "ask"


def test_a_spent_budget_or_a_pause_leads_to_quotations(open_with: Callable[..., App], provider: ModelServer) -> None:
    provider.script([streams("The monthly rent is 900 euros [1].")])
    app = open_with(llm_url=provider.url, llm_model="scripted", llm_calls_per_day=1)
    assert ask(app)[0].means == "model"
    answer, _ = ask(app)
    assert (answer.means, provider.count) == ("quotations", 1)
    assert "budget" in answer.notes[0]
    app.spending.pause("llm")
    assert "paused" in ask(app)[0].notes[0]


def test_without_a_model_the_best_sentences_are_quoted(open_with: Callable[..., App]) -> None:
    answer, events = ask(open_with(), "What is the monthly rent and who signed the lease?")
    assert answer.means == "quotations"
    assert any("900 euros" in text for text in supported(answer))
    assert any("Ada Byron" in text for text in supported(answer))
    assert all(citation.quote == sentence.text for sentence in answer.sentences for citation in sentence.citations)
    assert isinstance(events[0], Began) and events[0].means == "quotations"
    assert not ask(open_with(), "What is the telephone number of the dentist?")[0].found


def test_one_may_ask_for_quotations_although_there_is_a_model(asked_app: App, provider: ModelServer) -> None:
    answer, _ = ask(asked_app, "What is the monthly rent?", without_model=True)
    assert (answer.means, provider.count) == ("quotations", 0)


@pytest.mark.parametrize("question", ["", "  ", "kind:text"])
def test_what_is_no_question_is_refused(asked_app: App, question: str) -> None:
    with pytest.raises(UsageError):
        ask(asked_app, question)


@pytest.mark.parametrize("slow", [hangs, lambda: streams("The monthly rent is so. " * 200, pause=0.3)])
def test_a_cancelled_question_ends_the_call(asked_app: App, provider: ModelServer, slow: Callable[[], object]) -> None:
    provider.script([slow()])  # type: ignore[list-item]
    cancellation, ended = CallCancellation(), list[BaseException]()

    def work() -> None:
        try:
            asked_app.answering.answer(Question(QUESTION), lambda _event: None, cancellation)
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert provider.wait_for(1)
    cancellation.cancel()
    thread.join(AMPLE)
    assert not thread.is_alive() and isinstance(ended[0], CallStopped)
    wait_until(provider.requests[0].hung_up.is_set)
    assert calls_of(asked_app)[0][:2] == ("ask", "cancelled")
