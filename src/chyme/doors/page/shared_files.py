"""The door for people who have a link: `/s/…` shows the files of that link, and opens nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from io import FileIO

from fastapi import FastAPI, Request
from fastapi.responses import Response

from chyme.accounts.permissions import Right
from chyme.application.app import App
from chyme.application.server_vaults import ServerVaults
from chyme.doors.http.access_middleware import retry_after
from chyme.doors.http.content_headers import disposition
from chyme.doors.http.routes.content import bytes_response, file_response
from chyme.doors.http.secret_addresses import (
    HEADERS,
    may_owner_still,
    vaults_of_secret,
    wait_after_wrong_secret,
)
from chyme.doors.page.rendering import page
from chyme.doors.page.shared_file_view import preview_of, shared_file, subtitles
from chyme.model import File
from chyme.sharing.share_links import OpenedShare

# Nothing but this page's own script and styles, and the pictures and sound of this link. Nothing can be sent anywhere.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
NEVER_STORED = "private, no-store"
GONE = "This file is no longer available."
ADVICE = "The link itself still works."


@dataclass(frozen=True, slots=True)
class _Found:
    app: App
    share: OpenedShare


class _Door:
    """Finds what a secret opens. Instead of a result it returns the page that says why there is none."""

    def __init__(self, server_vaults: ServerVaults) -> None:
        self._server_vaults = server_vaults

    def find(self, request: Request, secret: str) -> _Found | Response:
        for identity, app in vaults_of_secret(self._server_vaults, secret):
            share = app.shares.find(secret)
            if share is None:
                continue
            if not (share.is_open and may_owner_still(self._server_vaults, request, share.user, identity, Right.WRITE)):
                return _closed(request, 410, "This link has ended", "Ask the person who sent it for a new one.")
            return _Found(app, share)
        wait = wait_after_wrong_secret(self._server_vaults, request)
        if wait > 0:
            response = _closed(request, 429, "Too many wrong links", "Wait a while, then open the link again.")
            response.headers.update(retry_after(wait))
            return response
        return _closed(request, 404, "There is nothing here", "The link is not complete, or it was never one.")

    def find_file(self, request: Request, secret: str, position: str) -> tuple[_Found, File] | Response:
        found = self.find(request, secret)
        if isinstance(found, Response):
            return found
        number = int(position) if position.isascii() and position.isdecimal() and len(position) < 9 else 0
        file = found.share.files[number - 1] if 1 <= number <= len(found.share.files) else None
        return (found, file) if file is not None else _closed(request, 404, GONE, ADVICE)

    def send_picture(
        self, request: Request, secret: str, position: str, choose: Callable[[App, File], str | None]
    ) -> Response:
        found = self.find_file(request, secret, position)
        if isinstance(found, Response):
            return found
        app = found[0].app
        name = choose(app, found[1])
        data = app.documents.artifact(name) if name else None
        if data is None or not name or not name.endswith(".jpg"):
            return _closed(request, 404, GONE, ADVICE)
        headers = {"Content-Disposition": disposition("picture.jpg", True)}
        return _sealed(bytes_response(request, data, "image/jpeg", headers))


def add_routes(api: FastAPI, server_vaults: ServerVaults) -> None:
    """Add these pages to the server. They are for people, so they are no part of the API."""
    door = _Door(server_vaults)

    @api.get("/s/{secret}", include_in_schema=False)
    def opened(request: Request, secret: str) -> Response:
        """The file of a link, or the list of its files."""
        found = door.find(request, secret)
        if isinstance(found, Response):
            return found
        found.app.shares.count_opening(found.share.id)
        files = found.share.files
        if len(files) > 1:
            cards = {card.path: card for card in found.app.file_list.cards([file.path for file in files if file])}
            entries = [cards.get(file.path) if file is not None else None for file in files]
            return _page(request, "shared_list.html", 200, secret=secret, share=found.share, entries=entries)
        if not files or files[0] is None:
            return _closed(request, 410, GONE, "Ask the person who sent the link.")
        return _file_page(request, found, files[0], "1")

    @api.get("/s/{secret}/{position}", include_in_schema=False)
    def one(request: Request, secret: str, position: str) -> Response:
        """One of the files of a link."""
        found = door.find_file(request, secret, position)
        return found if isinstance(found, Response) else _file_page(request, *found, position)

    @api.head("/s/{secret}/{position}/file", include_in_schema=False)
    @api.get("/s/{secret}/{position}/file", include_in_schema=False)
    def original(request: Request, secret: str, position: str, download: bool = False) -> Response:
        """The file itself."""
        found = door.find_file(request, secret, position)
        if isinstance(found, Response):
            return found
        opened_share, file = found
        try:
            stream = FileIO(opened_share.app.vault.open(file))
        except (OSError, ValueError):
            return _closed(request, 404, GONE, ADVICE)
        return _sealed(file_response(request, file, stream, download))

    @api.get("/s/{secret}/{position}/preview", include_in_schema=False)
    def preview(request: Request, secret: str, position: str) -> Response:
        """The picture that shows the file."""
        return door.send_picture(request, secret, position, preview_of)

    @api.get("/s/{secret}/{position}/thumbnail", include_in_schema=False)
    def thumbnail(request: Request, secret: str, position: str) -> Response:
        """The small picture of the file in the list."""
        return door.send_picture(request, secret, position, _thumbnail_of)

    @api.get("/s/{secret}/{position}/subtitles.vtt", include_in_schema=False)
    def captions(request: Request, secret: str, position: str) -> Response:
        """What is said in the recording."""
        found = door.find_file(request, secret, position)
        if isinstance(found, Response):
            return found
        text = subtitles(found[0].app, found[1])
        if text is None:
            return _closed(request, 404, GONE, ADVICE)
        return _sealed(bytes_response(request, text.encode(), "text/vtt; charset=utf-8", {}))


def _thumbnail_of(app: App, file: File) -> str | None:
    return next((card.thumbnail for card in app.file_list.cards([file.path])), None)


def _file_page(request: Request, found: _Found, file: File, position: str) -> Response:
    return _page(
        request,
        "shared_file.html",
        200,
        secret=request.path_params["secret"],
        share=found.share,
        position=int(position),
        shown=shared_file(found.app, file),
    )


def _closed(request: Request, status: int, heading: str, advice: str) -> Response:
    return _page(request, "shared_closed.html", status, heading=heading, advice=advice)


def _page(request: Request, template: str, status: int, **values: object) -> Response:
    response = page(request, template, status, **values)
    response.headers.update({"Content-Security-Policy": POLICY, "Cache-Control": NEVER_STORED, **HEADERS})
    return response


def _sealed(response: Response) -> Response:
    """Keep content out of caches and search engines, and its address out of other sites."""
    response.headers.update({"Cache-Control": NEVER_STORED, **HEADERS})
    return response
