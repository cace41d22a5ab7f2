"""The page on which questions are asked. A script streams the answer; without scripts, the form is answered whole."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from chyme.answers.conversation import NOT_FOUND, Answer, Question, notes_for_people
from chyme.application.app import App
from chyme.doors.http.request_bodies import form_of
from chyme.doors.http.routes.ask import TOO_MANY, places
from chyme.doors.page.rendering import page
from chyme.doors.page.search_results import citation_address, citation_label
from chyme.errors import ChymeError
from chyme.models.providers.cancellation import CallCancellation

LONGEST = 2000


def add_routes(api: FastAPI, app: App) -> None:
    @api.get("/ask", response_class=HTMLResponse, include_in_schema=False)
    def ask_page(request: Request, q: str = "") -> HTMLResponse:
        """The form; a question in the address is filled in, and not asked before somebody says so."""
        return _render(request, app, q[:LONGEST])

    @api.post("/ask", response_class=HTMLResponse, include_in_schema=False)
    async def ask_without_script(request: Request) -> HTMLResponse:
        """The page with the whole answer."""
        question = (await form_of(request)).get("q", "")[:LONGEST]
        return await run_in_threadpool(_answer_page, request, app, question)


def _answer_page(request: Request, app: App, question: str) -> HTMLResponse:
    if not places.acquire(blocking=False):
        raise HTTPException(503, TOO_MANY, {"Retry-After": "5"})
    try:
        answer = app.answering.answer(Question(question), lambda _event: None, CallCancellation())
    except ChymeError as error:
        return _render(request, app, question, problem=str(error), status=400)
    finally:
        places.release()
    return _render(request, app, question, answer)


def _render(
    request: Request,
    app: App,
    question: str,
    answer: Answer | None = None,
    problem: str | None = None,
    status: int = 200,
) -> HTMLResponse:
    return page(
        request,
        "ask.html",
        status=status,
        active="ask",
        asked=question,
        answer=answer,
        notes=notes_for_people(answer) if answer else [],
        problem=problem,
        not_found=NOT_FOUND,
        model=app.providers.get("llm"),
        address=citation_address,
        label=citation_label,
    )
