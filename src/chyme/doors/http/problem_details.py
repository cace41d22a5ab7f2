"""Errors as problem details: one sentence for people, a status for programs, and no internals."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from chyme.application.app import App
from chyme.errors import ChymeError, NotFound, VaultError

MEDIA_TYPE = "application/problem+json"
SHOWN = 100  # at most so many characters of the request are quoted
SCHEMA: dict[str, Any] = {
    "type": "object",
    "title": "Problem",
    "required": ["title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "One sentence: what, why, and the way out."},
    },
}
RESPONSES: dict[int | str, dict[str, Any]] = {
    "default": {"description": "What went wrong", "content": {MEDIA_TYPE: {"schema": SCHEMA}}}
}


def problem_response(
    status: int, detail: str, headers: dict[str, str] | None = None, more: dict[str, Any] | None = None
) -> JSONResponse:
    """Return a response that says what went wrong. `more` is added for programs."""
    shown = detail.encode("utf-8", "replace").decode()  # a file name need not be valid text
    problem = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": shown,
        **(more or {}),
    }
    return JSONResponse(problem, status, headers, MEDIA_TYPE)


def internal_error(request_id: str) -> JSONResponse:
    """Return the response for an internal error: no internals, but where to look in the log."""
    return problem_response(500, f"something went wrong inside; the log says more under request {request_id}")


def status_of(error: ChymeError) -> int:
    """Return 404 for what does not exist, 503 for a vault that cannot be written now, 400 for invalid requests."""
    return 404 if isinstance(error, NotFound) else 503 if isinstance(error, VaultError) else 400


def describe_validation_error(error: RequestValidationError) -> str:
    """Describe the first error of a request, and where it is."""
    first = error.errors()[0]
    location = ".".join(str(part) for part in first["loc"][1:] if first["type"] != "json_invalid")
    where = f"“{location[:SHOWN]}”" if location else "the body"
    return f"{where} has the wrong form: {first['msg'][:SHOWN]}; openapi.json describes the right one"


def require_file(app: App, path: str) -> None:
    """Raise NotFound when there is no such file; a file that was just put there is taken in first."""
    if not app.open_vault.has_file(path):
        raise NotFound(f"{path}: is not a file of this vault; one that was put there just now is taken in soon")
