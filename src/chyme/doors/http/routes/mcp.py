"""The Model Context Protocol over HTTP, at /mcp."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from anyio import to_thread
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from chyme.application.app import App
from chyme.doors.http.problem_details import problem_response

REQUEST_BYTES = 1024 * 1024  # tool calls are short


def add_routes(api: FastAPI, app: App) -> None:
    api.add_route("/mcp", _Mcp(app), include_in_schema=False)  # type: ignore[arg-type]


class _Mcp:
    """Answers every request by itself: no sessions, so there is nothing to store, to guess or to end.

    AccessMiddleware checks hosts and origins, because it knows the names of this server; the SDK does not.
    """

    def __init__(self, app: App) -> None:
        self._app = app

    @cached_property
    def _server(self) -> Any:
        import mcp.server.streamable_http_manager  # noqa: F401  # imported here, because this runs in a thread

        from chyme.doors.mcp.server import (
            create_server,  # imported late: a server without assistants saves half a second and 20 MB
        )

        return create_server(self._app)._lowlevel_server  # the SDK's own HTTP application uses this as well

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":  # there is no stream to listen to, and no session to delete
            response = problem_response(
                405, "assistants use POST here; docs/assistants.md explains how", {"Allow": "POST"}
            )
            await response(scope, receive, send)
            return
        server = await to_thread.run_sync(lambda: self._server)  # other requests are answered during the import
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        manager = StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, max_request_body_size=REQUEST_BYTES
        )
        async with manager.run():
            await manager.handle_request(scope, receive, send)
