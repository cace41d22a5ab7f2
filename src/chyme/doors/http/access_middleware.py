"""Checks of every request before anything else handles it: its host and origin, its sender, and their access."""

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

from chyme.accounts.first_owner import FirstOwner
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
    "Referrer-Policy": "same-origin",  # with no-referrer, browsers would not tell us either which page sent a form
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cache-Control": "no-store",
}
SETUP_PATH = "/set-up"
PUBLIC_PATHS = ("/healthz", "/login", "/invitation", "/api/invitation", "/capture", "/manifest.webmanifest")
SHARE = "/share"  # where a phone's share menu sends things
PUBLIC_FOLDERS = ("/static/", "/s/", "/feeds/")  # shared files and feeds: their addresses hold a secret
FORWARDED = frozenset(
    {"forwarded", "via", "x-real-ip", "x-client-ip", "x-cluster-client-ip", "true-client-ip", "cf-connecting-ip"}
)
FOR_PROGRAMS = ("/api", "/mcp", "/metrics", "/openapi.json")


@dataclass(frozen=True, slots=True)
class Addresses:
    """The names of the server, and the proxies it trusts."""

    bound: str = "127.0.0.1"
    names: frozenset[str] = frozenset()
    proxies: tuple[Network, ...] = ()

    @property
    def beyond_loopback(self) -> bool:
        """Whether other machines are meant to reach the server: by its address, or through a proxy."""
        return not is_loopback(self.bound) or bool(self.names or self.proxies)


class AccessMiddleware:
    """Wraps the whole server. A pure ASGI wrapper: streams pass unchanged."""

    def __init__(
        self, app: ASGIApp, server_vaults: ServerVaults, addresses: Addresses, first_owner: FirstOwner | None = None
    ) -> None:
        """`first_owner`: while it is awaited, only the set-up page is served."""
        self._app = app
        self._first_owner = first_owner
        self._server_vaults = server_vaults
        self._addresses = addresses
        self._own_names = addresses.names | {addresses.bound.strip("[]").lower()}
        self._login_always_required = addresses.beyond_loopback  # even when the last account is removed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})  # websockets are not supported

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        request_id = secrets.token_hex(6)
        scope.setdefault("state", {})["request_id"] = request_id
        response_started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal response_started
            if message["type"] == "http.response.start":
                response_started = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers["X-Request-Id"] = request_id
            await send(message)

        try:
            with self._server_vaults.authenticator.explain_damage():
                refusal = self._find_refusal(scope)
            await (refusal or self._app)(scope, receive, send_with_headers)
        except ChymeError as error:
            if not response_started:
                await problem_response(status_of(error), str(error))(scope, receive, send_with_headers)
        except Exception:
            log.exception("request %s failed: %s", request_id, scope["method"])
            if not response_started:
                await internal_error(request_id)(scope, receive, send_with_headers)

    def _find_refusal(self, scope: Scope) -> Response | None:
        """Return None if the request may pass, else the response that refuses it."""
        headers, method = Headers(scope=scope), scope["method"]
        peer = (scope.get("client") or ("", 0))[0]
        arrived_at = (scope.get("server") or ("", 0))[0]
        host, origin, site = headers.get("host", ""), headers.get("origin"), headers.get("sec-fetch-site")
        if is_trusted_proxy(peer, self._addresses.proxies) and headers.get("x-forwarded-proto") in ("http", "https"):
            scope["scheme"] = headers["x-forwarded-proto"]
        if len(headers.getlist("host")) != 1 or not is_own_host(host, arrived_at, self._own_names):
            return problem_response(
                403, "this server does not have that name; a request must use a name from the setting hosts"
            )
        if is_sent_by_system(method, scope["path"], origin, site):
            origin = None  # "null": no page has sent this
        if not is_allowed_origin(method, scope["scheme"], host, origin, site, headers.get("sec-fetch-mode")):
            return problem_response(403, "another site's page sent this; open chyme itself and do it there")
        forwarded = [address for line in headers.getlist("x-forwarded-for") for address in line.split(",")]
        client = client_of(peer, forwarded, self._addresses.proxies)
        state = scope["state"]
        state.update(client=client, visitor=None, vault_name=None, may_write=True)
        if self._first_owner is not None and self._first_owner.is_awaited:
            state.update(closed=True, vaults=(), may_write=False)
            return None if _belongs_to_setup(scope["path"]) else _ask_to_set_up(scope)
        state["closed"] = login_required = (
            self._login_always_required or self._server_vaults.authenticator.login_required
        )
        if login_required:
            visitor, refusal = self._authenticate(headers, scope, client)
            if refusal is not None:
                return refusal
            if (
                visitor is not None
                and visitor.session_id is not None
                and not is_proven_same_origin(method, origin, site)
            ):
                return problem_response(403, "a browser must say which page sent this; this request does not")
            state.update(visitor=visitor, may_write=False)
            if visitor is None and not _is_public(scope["path"]):
                return _ask_to_sign_in(scope)
        elif any(name in FORWARDED or name.startswith("x-forwarded-") for name in headers):
            return problem_response(403, "a proxy passed this on, and without accounts chyme is for this machine alone")
        state["vaults"] = tuple(name for name in self._server_vaults.vaults if self._can_read(state, name))
        return None

    def _can_read(self, state: dict[str, object], name: str) -> bool:
        visitor = state["visitor"]
        if isinstance(visitor, Visitor):
            return visitor.may(self._server_vaults.identities[name], Right.READ)
        return not state["closed"]

    def _authenticate(self, headers: Headers, scope: Scope, client: str) -> tuple[Visitor | None, Response | None]:
        authenticator = self._server_vaults.authenticator
        scheme, _, secret = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            visitor = authenticator.by_token(secret.strip())
            if visitor is not None:  # a valid token is accepted even while others on this network guess tokens
                return visitor, None
            wait = authenticator.wrong_tokens.start_attempt([network_key(client)])
            if wait > 0:
                return None, problem_response(
                    429, "too many wrong tokens came from there; wait a while", retry_after(wait)
                )
            return None, problem_response(401, "this token opens nothing (any more)", {"WWW-Authenticate": "Bearer"})
        cookie = cookie_parser(headers.get("cookie", "")).get(cookie_name(scope["scheme"]))
        return (authenticator.by_session(cookie, client) if cookie else None), None


def cookie_name(scheme: str) -> str:
    """Return the name of the session cookie. With https the prefix keeps other hosts and plain http from setting it."""
    return f"__Host-{COOKIE}" if scheme == "https" else COOKIE


def retry_after(seconds: float) -> dict[str, str]:
    return {"Retry-After": str(math.ceil(seconds))}


def is_sent_by_system(method: str, path: str, origin: str | None, site: str | None) -> bool:
    """Whether the share menu of a phone sent this: the browser says that no page did, and pages cannot forge that."""
    return method == "POST" and path.endswith(SHARE) and origin == "null" and site == "none"


def _is_public(path: str) -> bool:
    return path in PUBLIC_PATHS or path.startswith(PUBLIC_FOLDERS)


def _belongs_to_setup(path: str) -> bool:
    return path == SETUP_PATH or path.startswith("/static/")


def _ask_to_set_up(scope: Scope) -> Response:
    if scope["method"] in ("GET", "HEAD") and not _is_for_programs(scope["path"]) and scope["path"] != "/healthz":
        return RedirectResponse(SETUP_PATH, 303)
    return problem_response(
        503, f"this server has no accounts yet; open {SETUP_PATH} in a browser and make the owner's", retry_after(60)
    )


def _is_for_programs(path: str) -> bool:
    return _vault_path(path).startswith(FOR_PROGRAMS)


def _vault_path(path: str) -> str:
    """The path below the vault's own, or the whole of one that names no vault."""
    return "/" + path.split("/", 3)[3] if path.startswith("/v/") and path.count("/") > 2 else path


def _ask_to_sign_in(scope: Scope) -> Response:
    path = scope["path"]
    query = scope.get("query_string", b"").decode("latin-1")
    address = quote(path, safe="/") + (f"?{query}" if query else "")
    login_address = f"/login?next={quote(address, safe='')}"
    if scope["method"] == "POST" and _vault_path(path) == SHARE:
        return RedirectResponse("/capture#lost=1", 303)  # what was shared cannot be kept for later: say so
    if scope["method"] in ("GET", "HEAD") and not _is_for_programs(path):
        return RedirectResponse(login_address, 303)
    return problem_response(401, "show a token, or sign in at /login", {"WWW-Authenticate": "Bearer"})
