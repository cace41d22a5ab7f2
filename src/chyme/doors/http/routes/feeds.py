"""The route that serves the feeds of saved searches. Its secret opens that feed and nothing else."""

from __future__ import annotations

import email.utils
import hashlib
from datetime import datetime
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.responses import Response

from chyme.accounts.permissions import Right
from chyme.application.server_vaults import ServerVaults
from chyme.doors.http.access_middleware import retry_after
from chyme.doors.http.address_of_server import server_address
from chyme.doors.http.atom_feed import MEDIA_TYPE, atom_feed
from chyme.doors.http.content_headers import POLICY, matches_etag
from chyme.doors.http.problem_details import problem_response
from chyme.doors.http.secret_addresses import (
    HEADERS,
    may_owner_still,
    vaults_of_secret,
    wait_after_wrong_secret,
)

MAX_ENTRIES = 50
FEED: dict[int | str, dict[str, Any]] = {
    200: {"description": "The feed", "content": {"application/atom+xml": {"schema": {"type": "string"}}}},
    304: {"description": "What the client has is still so"},
}


def add_routes(api: FastAPI, server_vaults: ServerVaults) -> None:
    @api.head("/feeds/{secret}.atom", response_class=Response, include_in_schema=False)
    @api.get("/feeds/{secret}.atom", response_class=Response, responses=FEED)
    def feed(request: Request, secret: str) -> Response:
        """What a saved search found last, as an Atom feed for a feed reader."""
        for identity, app in vaults_of_secret(server_vaults, secret):
            saved = app.saved_searches.find_by_feed(secret)
            if saved is None or not may_owner_still(server_vaults, request, saved.user, identity, Right.READ):
                continue
            name = next(name for name, known in server_vaults.identities.items() if known == identity)
            vault_address = f"{server_address(request)}/v/{quote(name)}"
            files = app.saved_searches.latest_files(saved, MAX_ENTRIES, app.private)
            app.saved_searches.note_feed_read(saved.id)
            body = atom_feed(saved, files, identity, vault_address).encode("utf-8", "replace")
            return _respond(request, body, max((file.at for file in files), default=saved.created_at))
        wait = wait_after_wrong_secret(server_vaults, request)
        if wait > 0:
            return problem_response(429, "too many wrong addresses came from there; wait a while", retry_after(wait))
        return problem_response(404, "there is no feed at this address (any more)", dict(HEADERS))


def _respond(request: Request, body: bytes, updated: str) -> Response:
    tag = f'"{hashlib.sha256(body).hexdigest()}"'
    headers = {
        **HEADERS,
        "ETag": tag,
        "Last-Modified": email.utils.formatdate(datetime.fromisoformat(updated).timestamp(), usegmt=True),
        "Cache-Control": "private, no-cache",
        "Content-Security-Policy": POLICY,
    }
    if matches_etag(request.headers.get("if-none-match"), tag):
        return Response(None, 304, headers)
    return Response(None if request.method == "HEAD" else body, 200, headers, MEDIA_TYPE)
