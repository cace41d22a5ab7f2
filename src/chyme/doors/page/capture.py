"""The page that makes the bookmarklet and saves what it sends; and the manifest of each vault's app."""

from __future__ import annotations

import json
from datetime import date
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import FastAPI, Query, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response

from chyme.accounts.api_tokens import NewToken
from chyme.accounts.permissions import Right, Visitor
from chyme.application.server_vaults import ServerVaults
from chyme.core.clock import now
from chyme.doors.http.request_bodies import form_of
from chyme.doors.page.login import ListedVault, vaults_of
from chyme.doors.page.rendering import STATIC, page
from chyme.doors.page.shown_once import ShownOnce
from chyme.errors import NotFound, UsageError

TOKEN_DAYS = 365
MANIFEST = STATIC / "manifest.webmanifest"


def add_routes(api: FastAPI, server_vaults: ServerVaults) -> None:
    """Add these pages to the server. What the bookmarklet sends is behind the # and never reaches the server here."""
    new_tokens: ShownOnce[NewToken] = ShownOnce()

    @api.get("/capture", include_in_schema=False)
    def capture(request: Request) -> Response:
        visitor: Visitor | None = request.state.visitor
        signed_in = visitor is not None or not request.state.closed
        token = new_tokens.take(visitor) if visitor is not None else None
        return page(
            request,
            "capture.html",
            signed_in=signed_in,
            needs_token=request.state.closed,
            writable=[vault.name for vault in _writable(server_vaults, request)] if signed_in else [],
            secret=token.secret if token is not None else "",
            token_vault=token.token.vault_name if token is not None else "",
            token_days=TOKEN_DAYS,
        )

    @api.post("/capture/bookmarklet", include_in_schema=False)
    async def add_token(request: Request) -> Response:
        """Make a token that may only add to one vault, and show it in a bookmarklet, once."""
        visitor: Visitor | None = request.state.visitor
        if visitor is None or visitor.session_id is None:
            raise NotFound("a bookmarklet needs a token only where people sign in")
        name = (await form_of(request)).get("vault", "")
        if name not in {vault.name for vault in _writable(server_vaults, request)}:
            raise UsageError(f"there is no vault called {name[:100]!r} that you may change")
        label = f"Bookmarklet {date.isoformat(now().date())}"
        vault = (server_vaults.identities[name], name)
        token = server_vaults.authenticator.tokens.add(label, Right.ADD, vault, visitor.name, TOKEN_DAYS)
        new_tokens.put(visitor, token)
        return RedirectResponse("/capture", 303)

    @api.get("/capture/bookmarklet", include_in_schema=False)
    def back() -> Response:
        return RedirectResponse("/capture", 303)

    @api.get("/manifest.webmanifest", include_in_schema=False)
    def manifest(vault: Annotated[str, Query(max_length=300)] = "") -> Response:
        """The manifest of the app for one vault of several. It says nothing but the name in the address."""
        return JSONResponse(manifest_of(vault), media_type="application/manifest+json")


def manifest_of(vault: str) -> dict[str, Any]:
    """Return the manifest, with the addresses of this vault."""
    manifest: dict[str, Any] = json.loads(MANIFEST.read_text(encoding="utf-8"))
    if vault:
        start = f"/v/{quote(vault, safe='')}/"
        manifest |= {"id": start, "start_url": start, "name": f"chyme – {vault}", "short_name": vault}
        manifest["share_target"]["action"] = f"{start}share"
    return manifest


def _writable(server_vaults: ServerVaults, request: Request) -> list[ListedVault]:
    return [vault for vault in vaults_of(server_vaults, request) if vault.right == "write"]
