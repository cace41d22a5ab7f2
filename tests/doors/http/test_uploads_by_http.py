"""POST /api/upload, /api/notes and several links."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.types import Message

from chyme.application.app import App, open_app
from chyme.application.settings import Settings
from chyme.doors.http.vault_api import create_vault_api

pytestmark = pytest.mark.slow  # each takes little time, but there are many

PAGES = ["https://example.org/one", "https://example.org/two"]


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with open_app(tmp_path, Settings(upload_bytes=100_000, upload_files=3)) as opened:
        yield opened


def send(http: TestClient, *files: tuple[str, bytes], folder: str = "") -> Any:
    return http.post("/api/upload", params={"folder": folder}, files=[("file", file) for file in files])


def listed(app: App) -> list[str]:
    found = (path.relative_to(app.vault.root).as_posix() for path in app.vault.root.rglob("*") if path.is_file())
    return sorted(path for path in found if not path.startswith(".chyme/vault.db"))


def test_files_are_stored_in_the_requested_folder(app: App, http: TestClient) -> None:
    answer = send(http, ("a.txt", b"one"), ("trip/b.txt", b"two"), (".DS_Store", b"x"), folder="in")
    assert answer.status_code == 201
    taken, deeper, refused = answer.json()["files"]
    assert taken == {"name": "a.txt", "path": "in/a.txt", "size": 3, "created": True}
    assert deeper["path"] == "in/trip/b.txt"
    assert (refused["path"], refused["created"], "hidden" in refused["problem"]) == (None, False, True)
    assert listed(app) == ["in/a.txt", "in/trip/b.txt"]


def test_the_same_again_answers_200(http: TestClient) -> None:
    assert send(http, ("a.txt", b"one")).status_code == 201
    again = send(http, ("a.txt", b"one"))
    assert (again.status_code, again.json()["files"][0]["created"]) == (200, False)
    assert send(http, ("a.txt", b"other")).json()["files"][0]["path"] == "a 2.txt"


@pytest.mark.parametrize(
    ("headers", "content", "status"),
    [
        ({"content-type": "application/json"}, b"{}", 415),
        ({"content-type": "text/plain"}, b"x", 415),
        ({}, b"x", 415),
        ({"content-type": "multipart/form-data"}, b"x", 400),
        ({"content-type": "multipart/form-data; boundary="}, b"x", 400),
        ({"content-type": "multipart/form-data; boundary=" + "x" * 5000}, b"x", 400),
        ({"content-type": "multipart/form-data; boundary=abc"}, b"", 400),
        ({"content-type": "multipart/form-data; boundary=abc"}, b"--abc\r\n\r\nhalf", 400),
        ({"content-type": "multipart/form-data; boundary=abc"}, b"x" * 200_000, 413),
    ],
)
def test_a_request_that_is_no_upload_is_refused_with_a_sentence(
    app: App, http: TestClient, headers: dict[str, str], content: bytes, status: int
) -> None:
    answer = http.post("/api/upload", content=content, headers=headers)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert len(answer.json()["detail"].split()) > 4
    assert listed(app) == []


def test_too_many_files_are_too_much(app: App, http: TestClient) -> None:
    assert send(http, *((f"{number}.txt", b"x") for number in range(4))).status_code == 413
    assert listed(app) == []


@pytest.mark.parametrize("folder", ["..", "/etc", ".chyme", "a\0b", "con", "a\uffff", "😀%ED%A0%80", "x" * 300])
def test_no_folder_outside_is_written_to(app: App, http: TestClient, folder: str) -> None:
    assert send(http, ("a.txt", b"x"), folder=folder).status_code == 400
    assert listed(app) == []


def test_the_body_is_not_read_when_it_is_known_to_be_too_large(http: TestClient) -> None:
    headers = {"content-type": "multipart/form-data; boundary=abc", "content-length": str(10**15)}
    assert http.post("/api/upload", content=io.BytesIO(b"x" * 10), headers=headers).status_code == 413


@pytest.mark.anyio
async def test_a_client_that_disconnects_leaves_nothing(app: App) -> None:
    """Half a file arrives, then the connection ends."""
    half = b'--abc\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhalf of it'
    sent_messages: list[Message] = []

    async def coming() -> AsyncIterator[Message]:
        yield {"type": "http.request", "body": half, "more_body": True}
        yield {"type": "http.disconnect"}

    messages = coming()

    async def receive() -> Message:
        return await anext(messages)

    async def send_back(message: Message) -> None:
        sent_messages.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", b"multipart/form-data; boundary=abc")]
    scope = {"type": "http", "method": "POST", "path": "/api/upload", "query_string": b"", "headers": headers}
    await create_vault_api(app)(scope, receive, send_back)
    assert sent_messages[0]["status"] == 400
    assert listed(app) == []
    assert list(app.open_vault.staging.folder.iterdir()) == []


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_a_note_becomes_a_file(app: App, http: TestClient) -> None:
    first = http.post("/api/notes", json={"text": "boil it", "title": "Rhubarb jam", "folder": "kitchen"})
    assert (first.status_code, first.json()) == (201, {"path": "kitchen/Rhubarb jam.md"})
    assert (app.vault.root / "kitchen/Rhubarb jam.md").read_text() == "# Rhubarb jam\n\nboil it\n"
    assert http.post("/api/notes", json={"text": "# Rhubarb jam\nno", "folder": "kitchen"}).json() == {
        "path": "kitchen/Rhubarb jam 2.md"
    }
    assert (app.vault.root / "kitchen/Rhubarb jam 2.md").read_text() == "# Rhubarb jam\nno"
    assert http.post("/api/notes", json={"text": "# Jam\nx", "title": "Jam"}).json() == {"path": "Jam.md"}
    assert (app.vault.root / "Jam.md").read_text() == "# Jam\nx"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"text": " "}, 400),
        ({"text": "x", "folder": "../out"}, 400),
        ({"text": "x", "folder": ".hidden"}, 400),
        ({"title": "x"}, 422),
        ({"text": 1}, 422),
        ({"text": "x", "path": "/etc/passwd"}, 422),
    ],
)
def test_an_invalid_note_is_refused(app: App, http: TestClient, body: dict[str, Any], status: int) -> None:
    assert http.post("/api/notes", json=body).status_code == status
    assert listed(app) == []


@pytest.mark.parametrize("folder", ["\ud800", "a/\udcff", ".\udcff"])
@pytest.mark.parametrize(("route", "field"), [("notes", {"text": "t"}), ("links", {"url": PAGES[0]})])
def test_a_folder_that_is_not_text_is_refused(
    app: App, http: TestClient, route: str, field: dict[str, str], folder: str
) -> None:
    answer = http.post(
        f"/api/{route}", content=json.dumps({**field, "folder": folder}), headers={"content-type": "application/json"}
    )
    assert answer.status_code == 422
    assert listed(app) == []


@pytest.mark.parametrize(
    "body",
    [
        {"url": "https://example.org/" + "x" * 10_000},
        {"urls": ["https://example.org/" + "x" * 10_000]},
        {"url": PAGES[0], "name": "x" * 1001},
        {"url": PAGES[0], "folder": "x/" * 2049},
    ],
)
def test_too_long_fields_of_a_link_are_refused(http: TestClient, body: dict[str, Any]) -> None:
    assert http.post("/api/links", json=body).status_code == 422


def test_several_links_are_added_at_once(http: TestClient) -> None:
    answer = http.post("/api/links", json={"urls": PAGES, "folder": "later"})
    assert answer.status_code == 201
    assert [link["path"] for link in answer.json()["links"]] == [
        "later/example.org – one.url",
        "later/example.org – two.url",
    ]
    assert http.post("/api/links", json={"urls": PAGES, "folder": "later"}).status_code == 200
    assert http.post("/api/links", json={"urls": PAGES, "url": PAGES[0]}).status_code == 400
    assert http.post("/api/links", json={"urls": []}).status_code == 422
