"""What a phone's share menu sends: links, texts and files are saved, and a page says what was saved."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from anyio import CapacityLimiter
from fastapi import FastAPI, Path, Request
from fastapi.responses import RedirectResponse, Response

from chyme.application.app import App
from chyme.doors.http.routes.uploads import receive_upload
from chyme.doors.page.rendering import base_of, page
from chyme.errors import ChymeError, NotFound, UsageError
from chyme.vault.intake.captures import save_shared, sort_shared
from chyme.vault.intake.uploads import UploadReceiver
from chyme.vault.open_vault import OpenVault

WRITERS = 2
FIELD_BYTES = 4 * 1024 * 1024  # of title, text and address
SHOWN_SECONDS = 3600.0
MAX_SHOWN = 100
FOLDER = ""  # the vault's top folder, as for the Add dialog


@dataclass(frozen=True, slots=True)
class SavedFile:
    """One line of the page: a file of the vault, or what could not be saved and why."""

    path: str | None
    created: bool
    problem: str | None = None


class RecentShares:
    """What was shared lately, by a random key. A page that is loaded again saves nothing again."""

    def __init__(self) -> None:
        self._shares: OrderedDict[str, tuple[float, tuple[SavedFile, ...]]] = OrderedDict()

    def put(self, saved: tuple[SavedFile, ...]) -> str:
        key = secrets.token_urlsafe(12)
        self._shares[key] = (time.monotonic(), saved)
        while len(self._shares) > MAX_SHOWN:
            self._shares.popitem(last=False)
        return key

    def find(self, key: str) -> tuple[SavedFile, ...] | None:
        added_at, saved = self._shares.get(key, (0.0, None))
        return saved if saved is not None and time.monotonic() - added_at < SHOWN_SECONDS else None


def add_routes(api: FastAPI, app: App) -> None:
    writers = CapacityLimiter(WRITERS)
    recent = RecentShares()

    @api.post("/share")
    async def share(request: Request) -> Response:
        """Save what a phone shares. AccessMiddleware has checked that no other site's page sent it."""
        receiver = partial(UploadReceiver, app.open_vault, FOLDER, field_bytes=FIELD_BYTES)
        saved = await receive_upload(request, writers, receiver, partial(save_received, app.open_vault))
        return RedirectResponse(f"{base_of(request)}/shared/{recent.put(saved)}", 303)

    @api.get("/share")
    def back(request: Request) -> Response:
        """For going back to the address of the form."""
        return RedirectResponse(f"{base_of(request)}/", 303)

    @api.get("/shared/{key}")
    def shared(request: Request, key: Annotated[str, Path(max_length=100)]) -> Response:
        """What was saved."""
        saved = recent.find(key)
        if saved is None:
            raise NotFound("this page is no longer kept; what was saved then is in the vault")
        return page(request, "shared.html", saved=saved, active="vault")


def save_received(vault: OpenVault, receiver: UploadReceiver) -> tuple[SavedFile, ...]:
    """Move shared files into the vault, and save the link or text that came with them."""
    receiver.require_complete()
    title, text, url = (receiver.fields.get(name, "") for name in ("title", "text", "url"))
    saved = (
        [SavedFile(file.path, file.created, file.problem) for file in receiver.finish()] if receiver.has_files else []
    )
    if saved and not (text.strip() or url.strip()):
        return tuple(saved)  # the title of files is their name
    try:
        result = save_shared(vault, sort_shared(title, text, url), FOLDER)
    except ChymeError as error:
        if not saved:
            raise
        return (*saved, SavedFile(None, False, str(error)))
    if result.link is not None:
        saved.append(SavedFile(result.link.path, result.link.created))
    if result.note is not None:
        saved.append(SavedFile(result.note, result.created))
    if not saved:
        raise UsageError("nothing was shared; share a page, a text or a file")
    return tuple(saved)
