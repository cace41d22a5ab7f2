"""How much one request may send: no body fills the memory, and the longest note is accepted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message
from two_vaults import answers_of, two_vaults

from chyme.application.server_vaults import ServerVaults
from chyme.doors.http.request_bodies import LARGEST, BodyMemory

pytestmark = pytest.mark.slow  # each takes little time, but there are many

PIECE = b" " * (1 << 20)
TOO_MUCH = [PIECE] * (3 * LARGEST // len(PIECE))


@pytest.fixture
def house(tmp_path: Path) -> Iterator[ServerVaults]:
    with two_vaults(tmp_path) as opened:
        yield opened


def send_body(answers: ASGIApp, path: str, pieces: list[bytes], whole: bool = False, **headers: str) -> tuple[int, int]:
    """Return the status and how many bytes were taken. Unless `whole` is true, the client disconnects at the end."""
    taken = 0
    messages: list[Message] = []
    coming = iter(pieces)

    async def receive() -> Message:
        nonlocal taken
        piece = next(coming, None)
        if piece is None:
            return {"type": "http.disconnect"}
        taken += len(piece)
        return {"type": "http.request", "body": piece, "more_body": not whole or piece is not pieces[-1]}

    async def send(message: Message) -> None:
        messages.append(message)

    all_headers = {
        "host": "localhost",
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
    }
    for name, value in headers.items():
        all_headers[name.replace("_", "-")] = value
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "root_path": "",
        "query_string": b"",
        "server": ("127.0.0.1", 80),
        "client": ("127.0.0.1", 1),
        "headers": [(name.encode(), value.encode()) for name, value in all_headers.items()],
    }
    asyncio.run(answers(scope, receive, send))  # type: ignore[arg-type]
    return int(messages[0]["status"]), taken


@pytest.mark.parametrize("path", ["/api/notes", "/api/tags/ban", "/api/links", "/api/digest", "/mcp"])
def test_a_body_without_a_length_is_read_no_further_than_the_limit(house: ServerVaults, path: str) -> None:
    status, taken = send_body(answers_of(house), f"/v/photos{path}", TOO_MUCH)
    assert status == 413
    assert taken <= LARGEST + len(PIECE)


@pytest.mark.parametrize("length", [str(LARGEST + 1), "9" * 18, "9" * 5000])
@pytest.mark.parametrize("path", ["/api/notes", "/mcp"])
def test_a_body_that_announces_too_much_is_not_read_at_all(house: ServerVaults, path: str, length: str) -> None:
    assert send_body(answers_of(house), f"/v/photos{path}", TOO_MUCH, content_length=length) == (413, 0)


def test_an_upload_has_its_own_limit(house: ServerVaults) -> None:
    kind = "multipart/form-data; boundary=abc"
    begun = b'--abc\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhalf of it'
    outcome = send_body(
        answers_of(house), "/v/photos/api/upload", [begun], content_type=kind, content_length=str(2 * LARGEST)
    )
    assert outcome == (400, len(begun))  # it was read until it broke off


def test_the_longest_note_is_accepted_even_when_escaped(house: ServerVaults) -> None:
    note = json.dumps({"text": "\u00e4" * 5_000_000}).encode()
    pieces = [note[start : start + len(PIECE)] for start in range(0, len(note), len(PIECE))]
    assert send_body(answers_of(house), "/v/photos/api/notes", pieces, whole=True) == (201, len(note))


def test_bodies_of_many_requests_together_are_bounded_and_counted_no_longer_than_their_requests() -> None:
    async def receive() -> Message:
        return {"type": "http.request", "body": b"12345678", "more_body": True}

    async def take() -> None:
        bodies = BodyMemory(max_bytes=20)
        with bodies.count(receive) as first:
            await first()
            with bodies.count(receive) as second:
                await second()
                with pytest.raises(HTTPException) as refused:
                    await second()
                assert refused.value.status_code == 503
            await first()

    asyncio.run(take())
