"""The routes that add files, links and notes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Annotated, Any, Protocol, TypeVar

import anyio
from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from python_multipart.multipart import parse_options_header
from starlette.requests import ClientDisconnect

from chyme.application.app import App
from chyme.doors.http.request_bodies import RequestBody
from chyme.errors import UsageError
from chyme.vault.intake.links import LinkResult, add_links
from chyme.vault.intake.notes import add_note
from chyme.vault.intake.upload_limits import UploadTooLarge
from chyme.vault.intake.upload_placement import UploadResult
from chyme.vault.intake.uploads import UploadReceiver

T = TypeVar("T")
R = TypeVar("R")
B = TypeVar("B", bound="BodyReceiver")
Url = Annotated[str, Field(max_length=10_000)]
Folder = Annotated[str, Field(max_length=4096)]

WRITERS = 4  # threads that write uploads; a limit, so that other requests find a free thread
PIECE = 1024 * 1024  # bytes that are written together; no more of an upload is in memory
PATIENCE = 60.0  # seconds without a byte, after which the sender counts as gone
MULTIPART = "multipart/form-data"
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            MULTIPART: {
                "schema": {
                    "type": "object",
                    "properties": {"file": {"type": "array", "items": {"type": "string", "format": "binary"}}},
                }
            }
        },
    }
}


class NewLinks(RequestBody):
    """One link to add to the vault, or several."""

    url: Url | None = None
    urls: Annotated[list[Url], Field(min_length=1, max_length=1000)] | None = None
    name: Annotated[str, Field(max_length=1000)] | None = None
    folder: Folder = ""


class AddedLink(BaseModel):
    """A link that is in the vault now."""

    url: str
    path: str
    created: bool


class AddedLinks(BaseModel):
    """Links that are in the vault now."""

    links: list[AddedLink]


class NewNote(RequestBody):
    """A note to add to the vault."""

    text: Annotated[str, Field(max_length=5_000_000)]
    title: Annotated[str, Field(max_length=1000)] | None = None
    folder: Folder = ""


class AddedNote(BaseModel):
    """Where the note is."""

    path: str


class OneUploaded(BaseModel):
    """An uploaded file: where it is, whether it is new, or why it was refused."""

    name: str
    path: str | None
    size: int
    created: bool
    problem: str | None = None


class AllUploaded(BaseModel):
    """All uploaded files, in their order."""

    files: list[OneUploaded]


def add_routes(api: FastAPI, app: App) -> None:
    writers = CapacityLimiter(WRITERS)

    @api.post(
        "/api/upload",
        status_code=201,
        response_model=AllUploaded,
        responses={200: {"model": AllUploaded, "description": "All of it was there before"}},
        openapi_extra=BODY,
    )
    async def upload(request: Request, folder: Annotated[str, Query(max_length=4096)] = "") -> Response:
        """Add files to a folder of the vault, streamed; no file is ever overwritten."""
        results = await receive_upload(
            request, writers, partial(UploadReceiver, app.open_vault, folder), UploadReceiver.finish
        )
        created = any(result.created for result in results)
        return JSONResponse({"files": [_upload_json(result) for result in results]}, 201 if created else 200)

    @api.post(
        "/api/links",
        status_code=201,
        response_model=AddedLink | AddedLinks,
        responses={200: {"model": AddedLink | AddedLinks, "description": "All of it was there before"}},
    )
    def add_link(links: NewLinks, response: Response) -> AddedLink | AddedLinks:
        """Add a link, or several, to the vault; 200 when they are already there."""
        if (links.url is None) == (links.urls is None):
            raise UsageError("say either url for one link, or urls for several")
        typed = [links.url] if links.url is not None else links.urls or []
        added = add_links(app.open_vault, typed, links.name, links.folder)
        response.status_code = 201 if any(link.created for link in added) else 200
        responses = [_link_response(link) for link in added]
        return responses[0] if links.url is not None else AddedLinks(links=responses)

    @api.post("/api/notes", status_code=201)
    def note(new: NewNote) -> AddedNote:
        """Write a note into the vault, as a Markdown file."""
        return AddedNote(path=add_note(app.open_vault, new.text, new.title or "", new.folder))


class BodyReceiver(Protocol):
    """Takes a body piece by piece, as receivers of uploads and exports do."""

    def feed(self, data: bytes, /) -> object: ...

    def close(self) -> object: ...


async def receive_upload(
    request: Request,
    writers: CapacityLimiter,
    begin: Callable[[bytes, int | None], UploadReceiver],
    finish: Callable[[UploadReceiver], T],
) -> T:
    """Stream a body of several parts to disk; `finish` moves it into the vault."""
    boundary, length = _parse_boundary(request), parse_length(request)
    return await receive_body(request, writers, lambda: begin(boundary, length), finish)


async def receive_body(
    request: Request, writers: CapacityLimiter, begin: Callable[[], B], finish: Callable[[B], T]
) -> T:
    """Stream a body to disk, in threads."""

    async def in_thread(work: Callable[[], R]) -> R:
        return await to_thread.run_sync(work, limiter=writers)

    try:
        receiver = await in_thread(begin)
        try:
            async for piece in _read_pieces(request):
                await in_thread(lambda piece=piece: receiver.feed(piece))  # type: ignore[misc]
            return await in_thread(lambda: finish(receiver))
        finally:
            with anyio.CancelScope(shield=True):
                await in_thread(receiver.close)
    except UploadTooLarge as error:
        raise HTTPException(413, str(error)) from error
    except ClientDisconnect:
        raise UsageError("the upload broke off; nothing of it was kept") from None
    except TimeoutError:
        raise HTTPException(408, f"nothing came for {PATIENCE:g} seconds; send it again") from None


def _parse_boundary(request: Request) -> bytes:
    kind, options = parse_options_header(request.headers.get("content-type", "").encode("latin-1", "replace"))
    if kind != MULTIPART.encode():
        raise HTTPException(415, f"files come as {MULTIPART}, as browsers and 'curl -F file=@name' send them")
    if not options.get(b"boundary"):
        raise UsageError(f"the {MULTIPART} has no boundary; send it as browsers do")
    return options[b"boundary"]


def parse_length(request: Request) -> int | None:
    """The Content-Length, if there is a sensible one."""
    length = request.headers.get("content-length", "")
    return int(length) if length.isascii() and length.isdigit() and len(length) < 20 else None


async def _read_pieces(request: Request) -> AsyncIterator[bytes]:
    """Yield the body in pieces that are large enough to be worth a thread."""
    stream = request.stream()
    buffer = bytearray()
    while True:
        with anyio.fail_after(PATIENCE):
            try:
                buffer += await anext(stream)
            except StopAsyncIteration:
                break
        if len(buffer) >= PIECE:
            yield bytes(buffer)
            buffer.clear()
    yield bytes(buffer)


def _upload_json(result: UploadResult) -> dict[str, Any]:
    fields = {"name": result.name, "path": result.path, "size": result.size, "created": result.created}
    return fields if result.problem is None else {**fields, "problem": result.problem}


def _link_response(added: LinkResult) -> AddedLink:
    return AddedLink(url=added.url, path=added.path, created=added.created)
