"""The routes of the watched mailbox."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from pydantic import BaseModel

from chyme.application.app import App
from chyme.doors.http.request_bodies import RequestBody
from chyme.doors.http.routes.settings import require_write_access


class MessageProblem(BaseModel):
    """A message that was not taken, or not completely."""

    uid: int
    state: str
    problem: str | None
    path: str | None
    at: str


class MailboxState(BaseModel):
    """How the mailbox does."""

    enabled: bool
    mailbox: str
    problem: str | None
    failures: int
    last_success: str | None
    next_attempt: str | None
    messages: int
    files: int
    waiting: int
    skipped: int
    problems: list[MessageProblem]
    summary: str


class FetchMail(RequestBody):
    """Whether skipped messages are tried again."""

    retry: bool = False


def add_routes(api: FastAPI, app: App) -> None:
    @api.get("/api/mail", response_model=MailboxState)
    def mailbox(request: Request) -> dict[str, Any]:
        """How the watched mailbox does."""
        require_write_access(request)
        return app.mailbox.status().as_json()

    @api.post("/api/mail/fetch", status_code=202, response_model=MailboxState)
    def fetch(wanted: FetchMail | None = None) -> dict[str, Any]:
        """Take new messages now, in the background."""
        app.fetch_mailbox_soon(wanted is not None and wanted.retry)
        return app.mailbox.status().as_json()
