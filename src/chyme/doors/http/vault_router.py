"""Routes a request to the vault it names, if the visitor may enter it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.types import Message, Receive, Scope, Send

from chyme.accounts.permissions import Right, Visitor
from chyme.application.server_vaults import ServerVaults
from chyme.doors.http.problem_details import problem_response
from chyme.doors.http.request_bodies import TOO_LARGE, BodyMemory, declares_too_large
from chyme.doors.http.request_origin import SAFE_METHODS
from chyme.doors.page.error_pages import server_error_response

UPLOAD = "/api/upload"  # written to disk as it arrives, and limited there
READING_POSTS = ("/api/ask", "/ask")  # they change nothing in the vault


class VaultRouter:
    """Routes `/v/{name}/…`, or the whole server for the only vault. A vault the visitor may not read gives a 404."""

    def __init__(
        self,
        server_vaults: ServerVaults,
        vault_apis: Mapping[str, FastAPI],
        body_memory: BodyMemory,
        only: str | None = None,
    ) -> None:
        self._server_vaults = server_vaults
        self._body_memory = body_memory
        self._vault_apis = vault_apis
        self._only = only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = _path_below(scope)
        name = self._only
        if name is None:
            name = route.split("/", 2)[1] if route.startswith("/") else ""
            scope = {**scope, "root_path": f"{scope.get('root_path', '')}/{name}"}
        if name not in scope["state"]["vaults"]:
            if self._only is not None and route in ("", "/") and scope["state"]["visitor"] is not None:
                await RedirectResponse("/account", 303)(scope, receive, send)
                return
            if name in self._server_vaults.closed and self._sees_closed(scope["state"]):
                reason = self._server_vaults.closed[name]
                await server_error_response(Request(scope), 503, reason)(scope, receive, send)
                return
            raise HTTPException(404)
        await self._enter(name, scope, receive, send)

    async def _enter(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        state, route = scope["state"], _path_below(scope)
        state["vault_name"] = name
        state["may_write"] = self._allowed(state["visitor"], name, Right.WRITE)
        if route == "":
            await RedirectResponse(f"{scope['root_path']}/", 307)(scope, receive, send)
            return
        assistant = route == "/mcp" or route.startswith("/mcp/")  # it only reads, although it uses POST
        reads = scope["method"] in SAFE_METHODS or (scope["method"] == "POST" and route in READING_POSTS)
        if not reads and not state["may_write"] and not assistant:
            await problem_response(403, "you may read this vault, but not change it")(scope, receive, send)
            return
        if route == UPLOAD:
            await self._answer(name, scope, receive, send)
        elif declares_too_large(scope):
            await problem_response(413, TOO_LARGE)(scope, receive, send)
        else:
            with self._body_memory.count(receive) as counted:
                await self._answer(name, scope, counted, send)

    async def _answer(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        visitor = scope["state"]["visitor"]
        stream = _Stream(send, lambda: self._may_still_read(visitor, name))
        try:
            await self._vault_apis[name](scope, receive, stream)
        except Exception:
            if not stream.ended:
                raise

    @staticmethod
    def _sees_closed(state: dict[str, Any]) -> bool:
        """Whether a visitor learns of a closed vault: its identity is unknown, so they need access to every vault."""
        visitor = state["visitor"]
        return visitor.may("", Right.READ) if visitor is not None else not state["closed"]

    def _may_still_read(self, visitor: Visitor | None, name: str) -> bool:
        """Whether the listener of a stream may go on: they may have signed out, or lost the right."""
        if visitor is None:
            return not self._server_vaults.authenticator.login_required
        refreshed = self._server_vaults.authenticator.refresh(visitor)
        return refreshed is not None and self._allowed(refreshed, name, Right.READ)

    def _allowed(self, visitor: Visitor | None, name: str, right: Right) -> bool:
        return visitor is None or visitor.may(self._server_vaults.identities[name], right)


def _path_below(scope: Scope) -> str:
    """Return the path without the prefix it is mounted at."""
    path, root = str(scope["path"]), str(scope.get("root_path", ""))
    return path.removeprefix(root) if path == root or path.startswith(f"{root}/") else path


class _Stream:
    """Passes messages on, and ends an event stream once its listener may no longer read it."""

    def __init__(self, send: Send, allowed: Callable[[], bool]) -> None:
        self._send = send
        self._allowed = allowed
        self._is_event_stream = False
        self.ended = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            content_types = [value for name, value in message.get("headers", ()) if name.lower() == b"content-type"]
            self._is_event_stream = any(content_type.startswith(b"text/event-stream") for content_type in content_types)
        elif self._is_event_stream and message.get("more_body") and not self._allowed():
            self.ended = True
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
            raise ConnectionAbortedError("the listener may no longer read this vault")
        await self._send(message)
