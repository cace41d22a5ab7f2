"""Logs and counts requests: their route, but never their content."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger(__name__)

LONGEST = 200
SECRET_FOLDERS = ("/s/", "/feeds/")  # what follows is a secret
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class RequestLog:
    """Wraps the whole server. Query strings, headers and bodies may hold secrets and are left out."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, int]] = Counter()

    def counts(self) -> dict[tuple[str, int], int]:
        """Return how many requests were answered, by method and status."""
        with self._lock:
            return dict(self._counts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = time.perf_counter()
        scope.setdefault("state", {})["requests"] = self
        status = 500

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        path = scope["path"]  # inner applications may shorten it
        try:
            await self._app(scope, receive, send_and_note)
        finally:
            self._record(scope, path, status, (time.perf_counter() - start) * 1000)

    def _record(self, scope: Scope, path: str, status: int, ms: float) -> None:
        method = scope["method"] if scope["method"] in METHODS else "other"
        with self._lock:
            self._counts[method, status] += 1
        if log.isEnabledFor(logging.INFO):
            route = getattr(scope.get("route"), "path", None) or _without_secret(path)[:LONGEST]
            fields = {"method": method, "route": route, "status": status, "ms": round(ms, 1)}
            visitor = getattr(scope.get("state", {}).get("visitor"), "name", None)
            vault = scope.get("state", {}).get("vault_name")
            fields |= {name: value for name, value in (("visitor", visitor), ("vault", vault)) if value}
            log.info("%s %s %d in %.0f ms", method, route, status, ms, extra=fields)


def _without_secret(path: str) -> str:
    return next((f"{folder}…" for folder in SECRET_FOLDERS if path.startswith(folder)), path)
