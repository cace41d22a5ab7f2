"""The route that exports all documents as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from chyme.application.app import App
from chyme.application.vault_export import TABLE

LINES = 500
CSV = "text/csv; charset=utf-8"


def add_routes(api: FastAPI, app: App) -> None:
    @api.get(
        f"/api/export/{TABLE}",
        response_class=StreamingResponse,
        responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
    )
    def documents() -> StreamingResponse:
        """All documents as CSV, in which no spreadsheet finds a formula."""
        headers = {"Content-Disposition": f'attachment; filename="{TABLE}"'}
        return StreamingResponse(_join_lines(app.export.csv_lines()), media_type=CSV, headers=headers)


def _join_lines(lines: Iterable[str]) -> Iterator[bytes]:
    """Join many lines into one piece: each piece takes a turn of the event loop that all requests share."""
    remaining = iter(lines)
    while batch := list(islice(remaining, LINES)):
        yield "".join(batch).encode()
