"""Where assistants ask over HTTP: the Model Context Protocol at /mcp."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from anyio import to_thread
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from chyme.application.app import App
from chyme.doors.http.problem_details import problem_response

REQUEST_BYTES = 1024 * 1024  # questions are short


def add_routes(api: FastAPI, app: App) -> None:
    """Add these routes to the HTTP face of an opened vault."""
    api.add_route("/mcp", _Mcp(app), include_in_schema=False)  # type: ignore[arg-type]


class _Mcp:
    """Every request is answered by itself: no sessions, so nothing to keep, to guess or to end.

    Hosts and origins are checked at the door, which knows by which names this server may be called; the SDK does not.
    """

    def __init__(self, app: App) -> None:
        self._app = app

    @cached_property
    def _server(self) -> Any:
        import mcp.server.streamable_http_manager  # noqa: F401  # here, because this runs beside the loop

        from chyme.doors.mcp.server import create_server

        return create_server(self._app)._lowlevel_server  # what the SDK's own HTTP application is made of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":  # there is nothing to listen to, and no session to delete
            answer = problem_response(
                405, "an assistant asks here by POST; docs/assistants.md tells how", {"Allow": "POST"}
            )
            await answer(scope, receive, send)
            return
        server = await to_thread.run_sync(lambda: self._server)  # others are answered while it is imported
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        manager = StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, max_request_body_size=REQUEST_BYTES
        )
        async with manager.run():
            await manager.handle_request(scope, receive, send)
