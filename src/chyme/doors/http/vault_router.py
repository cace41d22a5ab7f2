"""Routes a request to the vault it names, if the visitor may enter it."""

from __future__ import annotations

import asyncio
import contextlib
import time
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

WATCH_SECONDS = 1.0  # between two comparisons of the accounts while a stream is open
EXPIRY_SECONDS = 15.0  # a session or token that expires changes nothing in the database
UPLOADS = ("/api/upload", "/api/imports", "/share")  # written to disk as they arrive, and limited there
ADDING = ("/api/upload", "/api/links", "/api/notes", "/api/capture")  # all that a token with the right to add opens
SAVED_SEARCHES = "/api/searches"  # belong to the signed-in user, also to one who may only read
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
        if name in self._vault_apis and self._may_add(name, scope):
            await self._enter(name, scope, receive, send)
            return
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
        reads = scope["method"] in SAFE_METHODS or (scope["method"] == "POST" and route in READING_POSTS) or assistant
        if not (reads or state["may_write"] or self._may_add(name, scope) or _is_own(state, route)):
            await problem_response(403, "you may read this vault, but not change it")(scope, receive, send)
            return
        if route in UPLOADS and scope["method"] == "POST":
            await self._answer(name, scope, receive, send)
        elif declares_too_large(scope):
            await problem_response(413, TOO_LARGE)(scope, receive, send)
        else:
            with self._body_memory.count(receive) as counted:
                await self._answer(name, scope, counted, send)

    async def _answer(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        visitor = scope["state"]["visitor"]
        stream = AccessCheckedStream(receive, send, lambda: self._may_still_read(visitor, name), self._accounts_version)
        try:
            await self._vault_apis[name](scope, stream.receive, stream.send)
        except Exception:
            if not stream.ended.is_set():
                raise
        finally:
            stream.close()

    def _accounts_version(self) -> int:
        return self._server_vaults.authenticator.version()

    def _may_add(self, name: str, scope: Scope) -> bool:
        """Whether this adds to the vault, by a visitor with that right: they need no right to read it."""
        visitor, adds = scope["state"]["visitor"], scope["method"] == "POST" and _path_below(scope) in ADDING
        return adds and visitor is not None and self._allowed(visitor, name, Right.ADD)

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


def _is_own(state: dict[str, Any], route: str) -> bool:
    """Whether a request changes only what belongs to a user who has signed in. A token never does more than it says."""
    visitor = state["visitor"]
    signed_in = visitor is not None and visitor.session_id is not None
    return signed_in and (route == SAVED_SEARCHES or route.startswith(f"{SAVED_SEARCHES}/"))


class AccessCheckedStream:
    """Passes messages on, and ends an event stream as soon as its listener may no longer read it.

    Accounts are compared once a second, also while there is nothing to send; the application sees that its client
    is gone, so that it frees the listener's place.
    """

    def __init__(
        self, receive: Receive, send: Send, allowed: Callable[[], bool], accounts_version: Callable[[], int]
    ) -> None:
        self._receive = receive
        self._send = send
        self._allowed = allowed
        self._accounts_version = accounts_version
        self._watch: asyncio.Task[None] | None = None
        self.ended = asyncio.Event()

    async def receive(self) -> Message:
        if self._watch is None:
            return await self._receive()
        received, ended = asyncio.ensure_future(self._receive()), asyncio.ensure_future(self.ended.wait())
        try:
            await asyncio.wait({received, ended}, return_when=asyncio.FIRST_COMPLETED)
            return received.result() if received.done() else {"type": "http.disconnect"}
        finally:
            received.cancel()
            ended.cancel()

    async def send(self, message: Message) -> None:
        if self.ended.is_set():
            raise ConnectionAbortedError("the listener may no longer read this vault")
        if message["type"] == "http.response.start":
            content_types = [value for name, value in message.get("headers", ()) if name.lower() == b"content-type"]
            if any(content_type.startswith(b"text/event-stream") for content_type in content_types):
                self._watch = asyncio.ensure_future(self._end_when_refused())
        elif self._watch is not None and message.get("more_body") and not self._allowed():
            await self._end()
            raise ConnectionAbortedError("the listener may no longer read this vault")
        await self._send(message)

    def close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()

    async def _end_when_refused(self) -> None:
        version: int | None = None
        checked_at = 0.0
        while True:
            current, moment = self._accounts_version(), time.monotonic()
            if current != version or moment - checked_at >= EXPIRY_SECONDS:
                version, checked_at = current, moment
                if not self._allowed():
                    await self._end()
                    return
            await asyncio.sleep(WATCH_SECONDS)

    async def _end(self) -> None:
        self.ended.set()
        with contextlib.suppress(OSError):  # the client is gone
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
