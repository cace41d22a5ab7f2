"""Calls that are under way when chyme stops."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from free_calls import FreeCalls
from model_server import Answer, ModelServer, drips, hangs, says
from pydantic import BaseModel
from speech_server import Reply as SpeechReply
from speech_server import serving
from waiting import AMPLE, wait_until

from chyme.errors import ChymeError, DigestError
from chyme.model import CallEnd, Question, Reply, Ticket
from chyme.models.providers.cancellation import cancel_calls
from chyme.models.providers.endpoints import Endpoint
from chyme.models.providers.structured_request import ask
from chyme.speech.recognition.piece_index import Piece, PreparedRecording, write_index
from chyme.speech.recognition.remote_recogniser import transcribe
from chyme.speech.recognition.settings import SpeechEndpoint
from chyme.speech.recognition.voice_activity import SpeechSpan

pytestmark = pytest.mark.slow  # each takes a little, and there are many

PATIENCE = 1500.0  # seconds an answer may take: far more than AMPLE, so a call that ends earlier was cancelled


class Found(BaseModel):
    title: str


class Patient(FreeCalls):
    """Every call must wait for its turn for PATIENCE seconds."""

    def begin(self, question: Question) -> Ticket | Reply:
        super().begin(question)
        return Ticket(1, PATIENCE)


class Thread:
    """A thread that makes a call, and the error it ends with."""

    def __init__(self, asks: Callable[[], object]) -> None:
        self.raised: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(asks,), daemon=True)
        self._thread.start()

    def _run(self, asks: Callable[[], object]) -> None:
        try:
            asks()
        except BaseException as error:
            self.raised = error

    def ended(self) -> bool:
        self._thread.join(AMPLE)
        return not self._thread.is_alive()


def ask_for_title(server: ModelServer, calls: FreeCalls, provider: str = "openai") -> Found:
    url = server.url if provider == "openai" else server.url.removesuffix("/v1")
    there = Endpoint(url, "gemini-2.5-flash", "key", PATIENCE, "llm", "text", provider)
    return ask(there, calls, "a.txt", "b", "c", Found)


def until(true: Callable[[], bool]) -> bool:
    wait_until(true)
    return True


def is_stop(error: BaseException | None) -> bool:
    return isinstance(error, ChymeError) and not isinstance(error, DigestError)


@pytest.mark.parametrize("provider", ["openai", "google", "anthropic"])
@pytest.mark.parametrize("answer", [hangs(), drips()], ids=["hangs", "drips"])
def test_a_call_that_waits_for_an_answer_is_cancelled_at_once(provider: str, answer: Answer) -> None:
    calls = FreeCalls()
    with ModelServer([answer]) as server:
        thread = Thread(lambda: ask_for_title(server, calls, provider))
        assert until(lambda: server.count == 1)
        with cancel_calls():
            assert thread.ended()
        assert server.requests[0].hung_up.wait(AMPLE)
    assert is_stop(thread.raised)
    assert [end.outcome for end in calls.ends] == ["cancelled"]
    assert (calls.well, calls.ill) == ([], [])


def test_a_call_that_waits_for_its_turn_is_cancelled_and_nothing_is_sent() -> None:
    calls = Patient()
    with ModelServer([says({"title": "Lease"})]) as server:
        thread = Thread(lambda: ask_for_title(server, calls))
        assert until(lambda: len(calls.questions) == 1)
        with cancel_calls():
            assert thread.ended()
        assert server.count == 0
    assert is_stop(thread.raised)
    assert [end.outcome for end in calls.ends] == ["unreachable"]


def test_a_call_that_begins_while_chyme_stops_is_not_made_and_later_ones_are() -> None:
    calls = FreeCalls()
    with ModelServer([says({"title": "Lease"})]) as server:
        with cancel_calls():
            with pytest.raises(ChymeError) as caught, cancel_calls():
                ask_for_title(server, calls)
            with pytest.raises(ChymeError, match="shutting down"):
                ask_for_title(server, calls)
        assert is_stop(caught.value)
        assert (server.count, calls.questions) == (0, [])
        assert ask_for_title(server, calls).title == "Lease"


def test_a_call_ends_even_if_its_end_cannot_be_recorded() -> None:
    class Full(FreeCalls):
        def end(self, ticket: Ticket, end: CallEnd) -> None:
            raise ChymeError("no room")

    with ModelServer([hangs()]) as server:
        thread = Thread(lambda: ask_for_title(server, Full()))
        assert until(lambda: server.count == 1)
        with cancel_calls():
            assert thread.ended()
    assert is_stop(thread.raised)


def test_a_request_with_sound_is_cancelled_too(tmp_path: Path) -> None:
    sound = b"fLaC of no matter"
    (tmp_path / "piece-0001.flac").write_bytes(sound)
    span = (SpeechSpan(0.0, 6.0),)
    piece = Piece("piece-0001.flac", len(sound), hashlib.sha256(sound).hexdigest(), span, span)
    write_index(tmp_path, PreparedRecording(6.0, (piece,)))
    calls = FreeCalls()
    with serving([SpeechReply(hang=True)]) as service:
        endpoint = SpeechEndpoint(service.url, "whisper-1", "key", PATIENCE)
        thread = Thread(lambda: transcribe(calls, "a.mp3", tmp_path, endpoint, "", lambda _part: None))
        assert until(lambda: len(service.sent) == 1)
        with cancel_calls():
            assert thread.ended()
        assert service.hung_up.wait(AMPLE)
    assert is_stop(thread.raised)
    assert [end.outcome for end in calls.ends] == ["cancelled"]
