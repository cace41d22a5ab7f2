"""The route that answers questions: as a stream of events while the answer is written, or as one JSON object."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import threading
from typing import Annotated, Any

from fastapi import FastAPI, Header, Request
from fastapi.responses import JSONResponse, Response
from pydantic import Field, StrictBool
from starlette.types import Receive, Scope, Send

from chyme.answers.conversation import (
    Answer,
    Began,
    Citation,
    Draft,
    EarlierSentence,
    Event,
    Note,
    Question,
    Sentence,
    Turn,
    as_json,
    describe_left_out,
    sentence_json,
)
from chyme.application.app import App
from chyme.doors.http.problem_details import problem_response, status_of
from chyme.doors.http.request_bodies import RequestBody
from chyme.doors.page.rendering import base_of
from chyme.doors.page.search_results import citation_address, citation_label
from chyme.errors import ChymeError
from chyme.models.providers.cancellation import CallCancellation, CallStopped

log = logging.getLogger(__name__)

AT_ONCE = 8  # questions that are being answered, of all vaults together: each takes a thread
HEARTBEAT_SECONDS = 15.0
CLOSING_SECONDS = 0.5
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
TOO_MANY = "too many questions are being answered; ask again shortly"
places = threading.BoundedSemaphore(AT_ONCE)
EVENTS, JSON = "text/event-stream", "application/json"
EVENT_SCHEMA = {
    "type": "object",
    "properties": {"event": {"type": "string"}, "data": {"type": "string"}},
    "required": ["data"],
}
Words = Annotated[str, Field(max_length=2000)]
Path = Annotated[str, Field(max_length=4096)]


class EarlierSentenceBody(RequestBody):
    """A sentence of an earlier answer, and the files it cited."""

    text: Words
    paths: Annotated[list[Path], Field(max_length=20, default_factory=list)]


class TurnBody(RequestBody):
    """An earlier question, and the supported sentences of its answer."""

    question: Words
    sentences: Annotated[list[EarlierSentenceBody], Field(max_length=20, default_factory=list)]


class AskBody(RequestBody):
    """A question. `paths` narrows it to these files; filters stand in the question, as in a search."""

    question: Annotated[str, Field(min_length=1, max_length=2000)]
    turns: Annotated[list[TurnBody], Field(max_length=20, default_factory=list)]
    paths: Annotated[list[Path], Field(max_length=1000)] | None = None
    model: StrictBool = True

    def as_question(self) -> Question:
        turns = tuple(
            Turn(turn.question, tuple(EarlierSentence(one.text, tuple(one.paths)) for one in turn.sentences))
            for turn in self.turns
        )
        return Question(self.question, turns, None if self.paths is None else tuple(self.paths))


def add_routes(api: FastAPI, app: App) -> None:
    @api.post(
        "/api/ask",
        response_class=Response,
        responses={
            200: {
                "description": "The answer: events as it is written, or one object where only JSON is accepted.",
                "content": {EVENTS: {"schema": EVENT_SCHEMA}, JSON: {"schema": {"type": "object"}}},
            },
            503: {"description": "Too many questions are being answered."},
        },
    )
    async def ask(request: Request, body: AskBody, accept: Annotated[str, Header()] = EVENTS) -> Response:
        """Answer a question from the files of the vault, each sentence with its places."""
        streamed = EVENTS in accept or JSON not in accept
        return AnswerResponse(app, body.as_question(), base_of(request), streamed, not body.model)


class AnswerResponse(Response):
    """Answers in a thread, and cancels that, and the model's call, when the client goes away."""

    def __init__(self, app: App, question: Question, base: str, streamed: bool, without_model: bool) -> None:
        super().__init__(headers=HEADERS, media_type=EVENTS)
        del self.headers["content-length"]
        self._app, self._question, self._base = app, question, base
        self._streamed, self._without_model = streamed, without_model

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not places.acquire(blocking=False):
            await problem_response(503, TOO_MANY, {"Retry-After": "5"})(scope, receive, send)
            return
        cancellation = CallCancellation()
        queue: asyncio.Queue[Event | Exception] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def tell(event: Event | Exception) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(queue.put_nowait, event)

        def work() -> None:
            try:
                self._app.answering.answer(self._question, tell, cancellation, self._without_model)
            except Exception as error:
                if not isinstance(error, ChymeError):
                    log.exception("a question could not be answered")
                tell(error)
            finally:
                places.release()

        threading.Thread(target=work, name="chyme-ask", daemon=True).start()
        sending = asyncio.ensure_future(self._send_all(queue, scope, receive, send))
        leaving = asyncio.ensure_future(_wait_for_disconnect(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                with contextlib.suppress(OSError):
                    await sending
        finally:
            cancellation.cancel()
            for task in (sending, leaving):
                task.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)

    async def _send_all(
        self, queue: asyncio.Queue[Event | Exception], scope: Scope, receive: Receive, send: Send
    ) -> None:
        started = False
        while True:
            try:
                event = await asyncio.wait_for(queue.get(), HEARTBEAT_SECONDS if started else None)
            except TimeoutError:
                await send({"type": "http.response.body", "body": b": still here\n\n", "more_body": True})
                continue
            if isinstance(event, Exception) and not started:
                await _problem(event)(scope, receive, send)
                return
            if not self._streamed:
                if isinstance(event, Answer):
                    await JSONResponse(as_json(event, self._link), headers=HEADERS)(scope, receive, send)
                    return
                if isinstance(event, Exception):
                    await _problem(event)(scope, receive, send)
                    return
                continue
            if not started:
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                started = True
            last = isinstance(event, Answer | Exception)
            await send({"type": "http.response.body", "body": self._format(event), "more_body": not last})
            if last:
                return

    def _link(self, citation: Citation) -> dict[str, str]:
        return {"link": self._base + citation_address(citation), "label": citation_label(citation)}

    def _format(self, event: Event | Exception) -> bytes:
        name, data = self._describe(event)
        return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()

    def _describe(self, event: Event | Exception) -> tuple[str, dict[str, Any]]:
        match event:
            case Began():
                left_out = event.private_left_out
                return "begin", {
                    "means": event.means,
                    "model": event.model,
                    "searched": list(event.searched),
                    "files": event.files,
                    "private_left_out": left_out,
                    "private_note": describe_left_out(left_out) if left_out else None,
                }
            case Draft():
                return "draft", {"text": event.text}
            case Sentence():
                return "sentence", sentence_json(event, self._link)
            case Note():
                return "note", {"text": event.text}
            case Answer():
                return "answer", as_json(event, self._link)
            case _:
                return "problem", {"detail": _detail(event)}


def _problem(error: Exception) -> Response:
    return problem_response(status_of(error) if isinstance(error, ChymeError) else 500, _detail(error))


def _detail(error: Exception) -> str:
    if isinstance(error, CallStopped):
        return "the question was cancelled"
    return str(error) if isinstance(error, ChymeError) else "something went wrong inside; the log says more"


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
