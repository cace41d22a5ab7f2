"""What every request passes before anything else looks at it: who asks, for whom it is meant, who may come in."""

from __future__ import annotations

import logging
import math
import secrets
from dataclasses import dataclass
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chyme.accounts.login_throttle import network_key
from chyme.accounts.permissions import Right, Visitor
from chyme.application.server_vaults import ServerVaults
from chyme.doors.http.problem_details import internal_error, problem_response, status_of
from chyme.doors.http.request_origin import (
    Network,
    client_of,
    is_allowed_origin,
    is_loopback,
    is_own_host,
    is_proven_same_origin,
    is_trusted_proxy,
)
from chyme.errors import ChymeError

log = logging.getLogger(__name__)

COOKIE = "chyme_session"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:; "
    "connect-src 'self'; font-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with no-referrer, browsers hide from us, too, which page sent a form
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cache-Control": "no-store",
}
PUBLIC_PATHS = ("/healthz", "/login")
FORWARDED = frozenset(
    {"forwarded", "via", "x-real-ip", "x-client-ip", "x-cluster-client-ip", "true-client-ip", "cf-connecting-ip"}
)
FOR_PROGRAMS = ("/api", "/mcp", "/metrics", "/openapi.json")


@dataclass(frozen=True, slots=True)
class Addresses:
    """What the server is called, and whom it believes about others."""

    bound: str = "127.0.0.1"
    names: frozenset[str] = frozenset()
    proxies: tuple[Network, ...] = ()

    @property
    def beyond_loopback(self) -> bool:
        """Whether others than this machine's users are meant to come: by address, or through a proxy."""
        return not is_loopback(self.bound) or bool(self.names or self.proxies)


class AccessMiddleware:
    """Around the whole house. A pure ASGI wrapper: streams pass as they are."""

    def __init__(self, inside: ASGIApp, house: ServerVaults, addresses: Addresses) -> None:
        self._inside = inside
        self._house = house
        self._addresses = addresses
        self._known = addresses.names | {addresses.bound.strip("[]").lower()}
        self._always_closed = addresses.beyond_loopback  # also when the last account is removed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._inside(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})  # there is none here

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        number = secrets.token_hex(6)
        scope.setdefault("state", {})["request_id"] = number
        begun = False

        async def sent(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers["X-Request-Id"] = number
            await send(message)

        try:
            with self._house.doors.explain_damage():
                refusal = self._judge(scope)
            await (refusal or self._inside)(scope, receive, sent)
        except ChymeError as error:
            if not begun:
                await problem_response(status_of(error), str(error))(scope, receive, sent)
        except Exception:
            log.exception("request %s failed: %s", number, scope["method"])
            if not begun:
                await internal_error(number)(scope, receive, sent)

    def _judge(self, scope: Scope) -> Response | None:
        """None for who may come in; else what they are told."""
        headers, method = Headers(scope=scope), scope["method"]
        peer = (scope.get("client") or ("", 0))[0]
        arrived_at = (scope.get("server") or ("", 0))[0]
        host, origin, site = headers.get("host", ""), headers.get("origin"), headers.get("sec-fetch-site")
        if is_trusted_proxy(peer, self._addresses.proxies) and headers.get("x-forwarded-proto") in ("http", "https"):
            scope["scheme"] = headers["x-forwarded-proto"]
        if len(headers.getlist("host")) != 1 or not is_own_host(host, arrived_at, self._known):
            return problem_response(
                403, "this server does not go by that name; a request must name it as the setting hosts does"
            )
        if not is_allowed_origin(method, scope["scheme"], host, origin, site, headers.get("sec-fetch-mode")):
            return problem_response(403, "another site's page sent this; open chyme itself and do it there")
        forwarded = [one for line in headers.getlist("x-forwarded-for") for one in line.split(",")]
        client = client_of(peer, forwarded, self._addresses.proxies)
        state = scope["state"]
        state.update(client=client, visitor=None, vault_name=None, may_write=True)
        state["closed"] = closed = self._always_closed or self._house.doors.login_required
        if closed:
            visitor, refusal = self._visitor(headers, scope, client)
            if refusal is not None:
                return refusal
            if (
                visitor is not None
                and visitor.session_id is not None
                and not is_proven_same_origin(method, origin, site)
            ):
                return problem_response(403, "a browser must say which page sent this; this request does not")
            state.update(visitor=visitor, may_write=False)
            if visitor is None and not _open_to_all(scope["path"]):
                return _asked_to_sign_in(scope)
        elif any(name in FORWARDED or name.startswith("x-forwarded-") for name in headers):
            return problem_response(403, "a proxy passed this on, and without accounts chyme is for this machine alone")
        state["vaults"] = tuple(name for name in self._house.vaults if self._readable(state, name))
        return None

    def _readable(self, state: dict[str, object], name: str) -> bool:
        visitor = state["visitor"]
        if isinstance(visitor, Visitor):
            return visitor.may(self._house.identities[name], Right.READ)
        return not state["closed"]

    def _visitor(self, headers: Headers, scope: Scope, client: str) -> tuple[Visitor | None, Response | None]:
        doors = self._house.doors
        kind, _, secret = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            visitor = doors.by_token(secret.strip())
            if visitor is not None:  # whoever else guesses there: nobody guesses this one
                return visitor, None
            wait = doors.wrong_tokens.start_attempt([network_key(client)])
            if wait > 0:
                return None, problem_response(
                    429, "too many wrong tokens came from there; wait a while", retry_after(wait)
                )
            return None, problem_response(401, "this token opens nothing (any more)", {"WWW-Authenticate": "Bearer"})
        cookie = cookie_parser(headers.get("cookie", "")).get(cookie_name(scope["scheme"]))
        return (doors.by_session(cookie) if cookie else None), None


def cookie_name(scheme: str) -> str:
    """With https the name itself keeps other hosts and plain http from setting it."""
    return f"__Host-{COOKIE}" if scheme == "https" else COOKIE


def retry_after(seconds: float) -> dict[str, str]:
    return {"Retry-After": str(math.ceil(seconds))}


def _open_to_all(path: str) -> bool:
    return path in PUBLIC_PATHS or path.startswith("/static/")


def _asked_to_sign_in(scope: Scope) -> Response:
    path = scope["path"]
    inside = "/" + path.split("/", 3)[3] if path.startswith("/v/") and path.count("/") > 2 else path
    query = scope.get("query_string", b"").decode("latin-1")
    here = quote(path, safe="/") + (f"?{query}" if query else "")
    sign_in = f"/login?next={quote(here, safe='')}"
    if scope["method"] in ("GET", "HEAD") and not inside.startswith(FOR_PROGRAMS):
        return RedirectResponse(sign_in, 303)
    return problem_response(401, "show a token, or sign in at /login", {"WWW-Authenticate": "Bearer"})
