"""The bytes of files, artifacts and pages: ranges, caching, and nothing that could run in the web page."""

from __future__ import annotations

import contextlib
import email.utils
import hashlib
import os
from collections.abc import AsyncIterator, Iterator
from io import FileIO
from typing import Annotated, Any

import anyio.to_thread
from fastapi import FastAPI, Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from chyme.application.app import App
from chyme.core.files.vault_folder import stamp_of
from chyme.documents.pages.pdf_renderer import LAST_PAGE, WIDTHS, NoSuchPage, TooBusy
from chyme.doors.http.content_headers import (
    OPAQUE,
    PLAIN,
    POLICY,
    NoSuchPart,
    Part,
    content_type,
    disposition,
    matches_etag,
    matches_if_range,
    parse_range,
)
from chyme.doors.http.problem_details import require_file
from chyme.errors import NotFound
from chyme.model import File
from chyme.search.query.parser import LONGEST_QUESTION

CHUNK = 256 * 1024
ARTIFACTS = {  # every other artifact is only saved, above all the copy of a web page
    ".jpg": "image/jpeg",
    ".json": "application/json",
    ".vtt": "text/vtt; charset=utf-8",
    ".srt": PLAIN,
}
ANY: dict[str, Any] = {"content": {"*/*": {"schema": {"type": "string", "format": "binary"}}}}
BYTES: dict[int | str, dict[str, Any]] = {
    200: {"description": "The bytes", **ANY},
    206: {"description": "A part of them", **ANY},
    304: {"description": "What the client has is still so"},
    416: {"description": "The file does not reach that far"},
}


def add_routes(api: FastAPI, app: App) -> None:
    @api.head("/api/raw/{path:path}", response_class=Response, include_in_schema=False)
    @api.get("/api/raw/{path:path}", response_class=Response, responses=BYTES)
    def raw(request: Request, path: str, download: bool = False) -> Response:
        """A file of the vault as it is on disk."""
        require_file(app, path)
        file = app.documents.file_at(path)
        if file is None or file.vanished_at is not None:
            raise NotFound(f"{path}: has vanished from the vault")
        try:
            stream = FileIO(app.vault.open(file))
        except (OSError, ValueError) as error:
            raise NotFound(f"{path}: is not there any more") from error
        return file_response(request, file, stream, download)

    @api.head("/api/artifacts/{name:path}", response_class=Response, include_in_schema=False)
    @api.get("/api/artifacts/{name:path}", response_class=Response, responses=BYTES)
    def artifact(request: Request, name: str, download: bool = False) -> Response:
        """The bytes of a preview, thumbnail, poster, cover or first page."""
        data = app.documents.artifact(name)
        if data is None:
            raise NotFound(f"{name}: is no artifact of this vault")
        filename = name.rpartition("/")[2]
        media_type = ARTIFACTS.get(filename[filename.rfind(".") :], OPAQUE)
        shown = media_type != OPAQUE and not download
        return bytes_response(request, data, media_type, {"Content-Disposition": disposition(filename, shown)})

    @api.head("/api/pages/{path:path}", response_class=Response, include_in_schema=False)
    @api.get("/api/pages/{path:path}", response_class=Response, responses={**BYTES, 503: {"description": "Busy"}})
    def page(
        request: Request,
        path: str,
        page: Annotated[int, Query(ge=1, le=LAST_PAGE)] = 1,
        width: Annotated[int, Query(ge=WIDTHS[0], le=WIDTHS[-1], description=f"One of {WIDTHS}.")] = 1200,
    ) -> Response:
        """A page of a PDF as a JPEG."""
        require_file(app, path)
        with _map_page_errors():
            rendered = app.page_renderer.render_page(path, page, width)
        return bytes_response(request, rendered.data, "image/jpeg", {})

    @api.get(
        "/api/page-words/{path:path}", responses={404: {"description": "No such page"}, 503: {"description": "Busy"}}
    )
    def page_words(
        path: str,
        q: Annotated[str, Query(max_length=LONGEST_QUESTION)],
        page: Annotated[int, Query(ge=1, le=LAST_PAGE)] = 1,
    ) -> PageWords:
        """Where the words of a query stand on a page of a PDF."""
        require_file(app, path)
        with _map_page_errors():
            return PageWords(page=page, boxes=[list(box) for box in app.page_renderer.word_boxes(path, page, q)])


@contextlib.contextmanager
def _map_page_errors() -> Iterator[None]:
    """Turn the reasons why a page is missing into HTTP errors."""
    try:
        yield
    except NoSuchPage as error:
        raise NotFound(str(error)) from error
    except TooBusy as error:
        raise HTTPException(503, str(error), {"Retry-After": "1"}) from error


class PageWords(BaseModel):
    """Boxes as left, top, right and bottom, as fractions of the rendered page."""

    page: int
    boxes: list[Annotated[list[float], Field(min_length=4, max_length=4)]]


def file_response(request: Request, file: File, stream: FileIO, download: bool) -> Response:
    """Serve an open file of the vault; closes it."""
    status = os.fstat(stream.fileno())
    served = content_type(file.kind, file.mime)
    is_changed = stamp_of(status) != file.stamp  # since the last scan: the stored hash belongs to older content
    tag = f'W/"{status.st_size:x}-{status.st_mtime_ns & (1 << 64) - 1:x}"' if is_changed else f'"{file.hash}"'
    headers = {
        "ETag": tag,
        "Last-Modified": _http_date(status.st_mtime),
        "Cache-Control": "private, no-cache, must-revalidate",
        "Content-Disposition": disposition(file.name, served.shown and not download),
    }
    try:
        prepared = _prepare_response(request, status.st_size, served.media_type, headers)
    except HTTPException:
        stream.close()
        raise
    if isinstance(prepared, Response):
        stream.close()
        return prepared
    part, status_code = prepared
    return StreamingResponse(_read_part(stream, part), status_code, headers, served.media_type)


def bytes_response(request: Request, data: bytes, media_type: str, headers: dict[str, str]) -> Response:
    """Serve bytes that are in memory. Adds to the headers."""
    headers |= {"ETag": f'"{hashlib.sha256(data).hexdigest()}"', "Cache-Control": "private, no-cache"}
    prepared = _prepare_response(request, len(data), media_type, headers)
    if isinstance(prepared, Response):
        return prepared
    part, status_code = prepared
    return Response(data[part.first : part.first + part.length], status_code, headers, media_type)


def _prepare_response(
    request: Request, size: int, media_type: str, headers: dict[str, str]
) -> Response | tuple[Part, int]:
    """Return the whole response if no bytes are sent, else the part to send and the status. Completes the headers."""
    headers |= {
        "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Accept-Ranges": "bytes",
    }
    request_headers, tag, modified = request.headers, headers["ETag"], headers.get("Last-Modified", "")
    if matches_etag(request_headers.get("if-none-match"), tag):
        return Response(None, 304, headers)
    part = None
    if matches_if_range(request_headers.get("if-range"), tag, modified):
        try:
            part = parse_range(request_headers.get("range"), size)
        except NoSuchPart:
            range_headers = {"Content-Range": f"bytes */{size}"}
            raise HTTPException(416, f"the file has {size} bytes and does not reach that far", range_headers) from None
    status_code = 200 if part is None else 206
    if part is None:
        part = Part(0, size)
    else:
        headers["Content-Range"] = f"bytes {part.first}-{part.first + part.length - 1}/{size}"
    headers["Content-Length"] = str(part.length)
    if request.method == "HEAD":
        return Response(None, status_code, headers, media_type)
    return part, status_code


async def _read_part(stream: FileIO, part: Part) -> AsyncIterator[bytes]:
    """Read piece by piece, so that a film takes no more memory than a note."""
    with stream:
        position, end = part.first, part.first + part.length
        while position < end:
            data = await anyio.to_thread.run_sync(os.pread, stream.fileno(), min(CHUNK, end - position), position)
            if not data:
                return  # the file has become shorter; the client notices by the length
            position += len(data)
            yield data


def _http_date(seconds: float) -> str:
    """Format a time for HTTP. A file may claim any time at all, also one that cannot be formatted."""
    try:
        return email.utils.formatdate(int(seconds), usegmt=True)
    except (OverflowError, ValueError, OSError):
        return email.utils.formatdate(0, usegmt=True)
