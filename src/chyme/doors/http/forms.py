"""Reads plain HTML forms."""

from __future__ import annotations

from urllib.parse import parse_qs

from fastapi import Request
from starlette.exceptions import HTTPException

LARGEST = 16 * 1024  # bytes; a form may come from a client that has not signed in


async def form_of(request: Request) -> dict[str, str]:
    """Return the fields of a form; of several with one name, the last."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise HTTPException(415, "send the form as a browser does: application/x-www-form-urlencoded")
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > LARGEST:
            raise HTTPException(413, "this is more than any form here holds")
    try:
        fields = parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=50)
    except (UnicodeDecodeError, ValueError) as error:
        raise HTTPException(400, "this is no form") from error
    return {name: values[-1] for name, values in fields.items()}
