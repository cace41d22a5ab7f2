"""From an address to the vault it means, for those who may enter it."""

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
from chyme.doors.http.body_limits import TOO_LARGE, BodyMemory, declares_too_large
from chyme.doors.http.problem_details import problem_response
from chyme.doors.http.request_origin import SAFE_METHODS
from chyme.doors.page.error_pages import server_error_response

UPLOAD = "/api/upload"  # written to the disk as it comes, and bounded there


class VaultRouter:
    """`/v/{name}/…`, or the whole of the server for the only vault. What may not be read is not there."""

    def __init__(
        self, house: ServerVaults, faces: Mapping[str, FastAPI], bodies: BodyMemory, only: str | None = None
    ) -> None:
        self._house = house
        self._bodies = bodies
        self._faces = faces
        self._only = only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = _below(scope)
        name = self._only
        if name is None:
            name = route.split("/", 2)[1] if route.startswith("/") else ""
            scope = {**scope, "root_path": f"{scope.get('root_path', '')}/{name}"}
        if name not in scope["state"]["vaults"]:
            if self._only is not None and route in ("", "/") and scope["state"]["visitor"] is not None:
                await RedirectResponse("/account", 303)(scope, receive, send)
                return
            if name in self._house.closed and self._sees_closed(scope["state"]):
                sentence = self._house.closed[name]
                await server_error_response(Request(scope), 503, sentence)(scope, receive, send)
                return
            raise HTTPException(404)
        await self._enter(name, scope, receive, send)

    async def _enter(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        state, route = scope["state"], _below(scope)
        state["vault_name"] = name
        state["may_write"] = self._allowed(state["visitor"], name, Right.WRITE)
        if route == "":
            await RedirectResponse(f"{scope['root_path']}/", 307)(scope, receive, send)
            return
        assistant = route == "/mcp" or route.startswith("/mcp/")  # it only reads, though it is spoken to by POST
        if scope["method"] not in SAFE_METHODS and not state["may_write"] and not assistant:
            await problem_response(403, "you may read this vault, but not change it")(scope, receive, send)
            return
        if route == UPLOAD:
            await self._answer(name, scope, receive, send)
        elif declares_too_large(scope):
            await problem_response(413, TOO_LARGE)(scope, receive, send)
        else:
            with self._bodies.count(receive) as counted:
                await self._answer(name, scope, counted, send)

    async def _answer(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        visitor = scope["state"]["visitor"]
        stream = _Stream(send, lambda: self._still(visitor, name))
        try:
            await self._faces[name](scope, receive, stream)
        except Exception:
            if not stream.ended:
                raise

    @staticmethod
    def _sees_closed(state: dict[str, Any]) -> bool:
        """Whose vault it is cannot be read: only those who may read every vault learn of it."""
        visitor = state["visitor"]
        return visitor.may("", Right.READ) if visitor is not None else not state["closed"]

    def _still(self, visitor: Visitor | None, name: str) -> bool:
        """Whether whoever listens to a stream may go on: they may have signed out, or lost the right."""
        if visitor is None:
            return not self._house.doors.login_required
        again = self._house.doors.refresh(visitor)
        return again is not None and self._allowed(again, name, Right.READ)

    def _allowed(self, visitor: Visitor | None, name: str, right: Right) -> bool:
        return visitor is None or visitor.may(self._house.identities[name], right)


def _below(scope: Scope) -> str:
    """The path without what led here."""
    path, root = str(scope["path"]), str(scope.get("root_path", ""))
    return path.removeprefix(root) if path == root or path.startswith(f"{root}/") else path


class _Stream:
    """Passes on what is sent, and ends a stream of events once its listener may not hear more."""

    def __init__(self, send: Send, allowed: Callable[[], bool]) -> None:
        self._send = send
        self._allowed = allowed
        self._events = False
        self.ended = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            kinds = [value for name, value in message.get("headers", ()) if name.lower() == b"content-type"]
            self._events = any(kind.startswith(b"text/event-stream") for kind in kinds)
        elif self._events and message.get("more_body") and not self._allowed():
            self.ended = True
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
            raise ConnectionAbortedError("whoever listened may not hear more")
        await self._send(message)
