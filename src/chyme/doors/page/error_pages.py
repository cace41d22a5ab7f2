"""Errors: a page for people, problem details for programs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response

from chyme.doors.http.problem_details import describe_validation_error, internal_error, problem_response, status_of
from chyme.doors.page.rendering import page
from chyme.errors import ChymeError

FOR_PROGRAMS = ("/api", "/ui", "/mcp", "/metrics", "/openapi.json", "/static")  # or for the scripts of our pages
HEADINGS = {403: "This is not open to you", 404: "There is nothing here", 500: "Something went wrong"}
UNKNOWN = "No page of chyme has this address"
FAULT = "What you asked for broke something inside chyme"


def error_response(
    request: Request, status: int, detail: str, headers: dict[str, str] | None = None, template: str = "lost.html"
) -> Response:
    """Return a response that says what went wrong, with a link back to the vault it happened in."""
    if not _wants_page(request):
        return problem_response(status, detail, headers)
    return _error_page(request, template, status, detail, headers)


server_error_response = partial(error_response, template="lost_outside.html")  # outside of any vault


def add_error_handlers(api: FastAPI, respond: Callable[[Request, int, str], Response]) -> None:
    """Answer our errors, invalid requests and unexpected errors."""

    @api.exception_handler(ChymeError)
    def chyme_error(request: Request, error: ChymeError) -> Response:
        return respond(request, status_of(error), str(error))

    @api.exception_handler(RequestValidationError)
    def validation_error(request: Request, error: RequestValidationError) -> Response:
        return respond(request, 422, describe_validation_error(error))

    @api.exception_handler(Exception)
    def unexpected_error(request: Request, _error: Exception) -> Response:
        return internal_error_response(request, getattr(request.state, "request_id", "-"))


def internal_error_response(request: Request, request_id: str) -> Response:
    """Return the response for an internal error."""
    if not _wants_page(request):
        return internal_error(request_id)
    return _error_page(request, "lost_outside.html", 500, f"{FAULT}; the log says more under request {request_id}")


def _error_page(
    request: Request, template: str, status: int, detail: str, headers: dict[str, str] | None = None
) -> Response:
    shown = detail.encode("utf-8", "replace").decode()  # a file name need not be valid text
    message = UNKNOWN if shown == "Not Found" else f"{shown[:1].upper()}{shown[1:]}"
    heading = HEADINGS.get(status, "That did not work")
    response = page(request, template, status, active="", heading=heading, message=message)
    response.headers.update(headers or {})
    return response


def _wants_page(request: Request) -> bool:
    path = request.url.path
    if path.startswith("/v/"):
        path = "/" + path.split("/", 3)[3] if path.count("/") > 2 else "/"
    for_programs = any(path == prefix or path.startswith(f"{prefix}/") for prefix in FOR_PROGRAMS)
    return "text/html" in request.headers.get("accept", "") and not for_programs
