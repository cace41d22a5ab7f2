"""Bytes of the vault over HTTP: served so that nothing in them can run, leave the vault or take memory."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import threading
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection
from io import BytesIO
from pathlib import Path
from sqlite3 import Connection
from urllib.parse import quote

import pytest
import uvicorn
from described_vault import file_at, put
from fastapi.testclient import TestClient
from PIL import Image
from shared_api import shared_vault_api

from chyme.application.app import App
from chyme.core.store import artifacts, digests
from chyme.doors.http.content_headers import disposition, matches_etag, parse_range
from chyme.doors.http.vault_api import create_vault_api

pytestmark = pytest.mark.slow  # each takes little time, but there are many

SAMPLES = Path(__file__).parents[2] / "samples"
POLICY = "default-src 'none'; sandbox"
RUNS = (
    ("page.html", b"<!doctype html><script>alert(1)</script>"),
    ("page.txt", b"<html><body onload=alert(1)>"),
    ("picture.png", b"<!DOCTYPE html><html><script>alert(1)</script></html>"),
    ("drawing.svg", b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'),
    ("drawing.jpg", b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'),
    ("page.xhtml", b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><script/></html>'),
    ("data.xml", b'<?xml version="1.0"?><?xml-stylesheet href="x.xsl"?><a/>'),
    ("feed.rss", b'<?xml version="1.0"?><rss version="2.0"/>'),
    ("mail.eml", b"From: a@b.example\nTo: c@d.example\nSubject: x\nMessage-ID: <1>\n\n<script>alert(1)</script>"),
    ("archive.zip", b"PK\x05\x06" + bytes(18)),
    ("program.exe", b"MZ" + bytes(64)),
)
ODD_NAMES = (
    'quo"te.txt',
    "new\nline\r\nSet-Cookie: a=b.txt",
    "per%cent%0d%0a.txt",
    "..%2f..%2fetc%2fpasswd",
    "ümlaut 日本 🙂.txt",
    "semi;colon=1, comma.txt",
    "back\\slash.txt",
    "rtl\u202egnp.txt",
    b"latin\xe9.txt",
)


@pytest.fixture
def http(app: App) -> Iterator[TestClient]:
    with TestClient(shared_vault_api(app), base_url="http://localhost", raise_server_exceptions=True) as client:
        yield client


def at(path: str) -> str:
    return "/api/raw/" + quote(path, safe="/")


def png() -> bytes:
    out = BytesIO()
    Image.new("RGB", (3, 2), "red").save(out, "PNG")
    return out.getvalue()


def is_harmless(headers: Mapping[str, str]) -> bool:
    return (
        headers["content-security-policy"] == POLICY
        and headers["x-content-type-options"] == "nosniff"
        and headers["cross-origin-resource-policy"] == "same-origin"
    )


@pytest.mark.parametrize(("name", "data"), RUNS)
def test_content_that_could_run_is_only_downloaded_and_never_with_its_own_type(
    app: App, http: TestClient, name: str, data: bytes
) -> None:
    answer = http.get(at(put(app, name, data).path))
    assert answer.status_code == 200 and answer.content == data and is_harmless(answer.headers)
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment;")


@pytest.mark.parametrize(
    ("name", "data", "media_type"),
    [
        ("a.png", png(), "image/png"),
        ("a.html", png(), "image/png"),  # the content counts, not the name
        ("note.txt", b"plain words", "text/plain; charset=utf-8"),
        ("note.md", b"# A heading", "text/plain; charset=utf-8"),
        ("script.js", b"alert(1)", "text/plain; charset=utf-8"),
        ("style.css", b"a {}", "text/plain; charset=utf-8"),
        ("data.json", b"{}", "text/plain; charset=utf-8"),
    ],
)
def test_safe_content_is_shown_with_a_type_of_a_short_list(
    app: App, http: TestClient, name: str, data: bytes, media_type: str
) -> None:
    path = put(app, name, data).path
    answer = http.get(at(path))
    assert (answer.headers["content-type"], answer.content) == (media_type, data) and is_harmless(answer.headers)
    assert answer.headers["content-disposition"].startswith("inline;")
    saved = http.get(at(path), params={"download": "true"})
    assert saved.headers["content-disposition"].startswith("attachment;") and is_harmless(saved.headers)


def test_a_pdf_is_only_downloaded_because_its_scripts_would_run_in_the_viewer(app: App, http: TestClient) -> None:
    data = (SAMPLES / "contract.pdf").read_bytes()
    path = put(app, "a.html", data).path
    for params in ({}, {"download": "true"}, {"download": "false"}):
        answer = http.get(at(path), params=params)
        assert (answer.headers["content-type"], answer.content) == ("application/pdf", data)
        assert answer.headers["content-disposition"].startswith("attachment;") and is_harmless(answer.headers)
    part = http.get(at(path), headers={"Range": "bytes=0-3"})
    assert (part.status_code, part.content) == (206, b"%PDF")
    assert part.headers["content-disposition"].startswith("attachment;")


@pytest.fixture
def served(app: App) -> Iterator[int]:
    """The port of a real server: requests must arrive as they are, and client libraries tidy them up."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(create_vault_api(app), log_level="critical", lifespan="off"))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        yield listener.getsockname()[1]
        server.should_exit = True
        thread.join()


def fetch(port: int, target: str) -> tuple[int, list[tuple[str, str]], bytes]:
    connection = HTTPConnection("127.0.0.1", port)
    connection.putrequest("GET", target)
    connection.endheaders()
    answer = connection.getresponse()
    found = answer.status, [(name.lower(), value) for name, value in answer.getheaders()], answer.read()
    connection.close()
    return found


@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_name_is_sent_in_one_header_that_carries_nothing_else(app: App, served: int, name: str | bytes) -> None:
    path = put(app, name, b"words").path
    code, headers, body = fetch(served, at(path))
    assert (code, body) == (200, b"words")
    (sent_disposition,) = [value for header, value in headers if header == "content-disposition"]
    assert sent_disposition.isascii() and sent_disposition.isprintable() and sent_disposition.count('"') == 2
    assert "set-cookie" not in dict(headers) and "/" not in sent_disposition and "\\" not in sent_disposition


def test_the_exact_name_is_sent_to_clients_that_can_read_it() -> None:
    assert disposition("Bäume.pdf", False) == "attachment; filename=\"B_ume.pdf\"; filename*=UTF-8''B%C3%A4ume.pdf"
    assert disposition("", True) == "inline; filename=\"file\"; filename*=UTF-8''file"


@pytest.mark.parametrize(
    "path",
    [
        "nowhere.txt", "../outside.txt", "..%2foutside.txt", "%2e%2e/outside.txt", "/etc/passwd", "%2fetc%2fpasswd",
        ".chyme/vault.db", "in/../.chyme/vault.db", "a%00.txt", "%00", "", ".", "a" * 5000, "%ff%fe", "in", "in/",
        "a.txt/", "a.txt%0a", "%EF%BF%BD", "a.txt/../a.txt%2f..%2f..%2fx",
    ],
)  # fmt: skip
def test_nothing_but_files_of_the_vault_is_served(app: App, served: int, path: str, tmp_path: Path) -> None:
    put(app, "a.txt")
    put(app, "in/b.txt")
    for route in ("raw", "pages", "artifacts", "files"):
        code, headers, body = fetch(served, f"/api/{route}/{path}")
        assert code == 404, (route, path, body)
        assert dict(headers)["content-type"] == "application/problem+json" and os.fsencode(tmp_path) not in body


def test_a_link_that_leads_out_of_the_vault_is_not_followed(
    app: App, http: TestClient, tmp_path_factory: pytest.TempPathFactory
) -> None:
    secret = tmp_path_factory.mktemp("outside") / "secret.txt"
    secret.write_text("secret")
    put(app, "a.txt", "harmless")
    put(app, "in/b.txt", "harmless")
    (app.vault.root / "a.txt").unlink()
    (app.vault.root / "a.txt").symlink_to(secret)
    shutil.move(app.vault.root / "in", app.vault.root / "elsewhere")
    (secret.parent / "b.txt").write_text("secret")
    (app.vault.root / "in").symlink_to(secret.parent)
    for path in ("a.txt", "in/b.txt"):
        assert http.get(at(path)).status_code == 404


def test_chymes_own_files_are_not_served_through_a_link(app: App, http: TestClient) -> None:
    put(app, "a.txt", "harmless")
    (app.vault.root / "a.txt").unlink()
    (app.vault.root / "a.txt").symlink_to(".chyme/vault.db")
    assert http.get(at("a.txt")).status_code == 404


def test_a_pipe_in_place_of_a_file_blocks_no_request(app: App, http: TestClient) -> None:
    put(app, "a.txt")
    (app.vault.root / "a.txt").unlink()
    os.mkfifo(app.vault.root / "a.txt")
    assert http.get(at("a.txt")).status_code == 404


def test_a_vanished_or_deleted_file_is_not_served(app: App, http: TestClient) -> None:
    put(app, "a.txt")
    put(app, "b.txt")
    (app.vault.root / "a.txt").unlink()
    app.trash.put(["b.txt"])
    assert [http.get(at(path)).status_code for path in ("a.txt", "b.txt")] == [404, 404]


def test_content_that_the_client_has_is_not_sent_again(app: App, http: TestClient) -> None:
    path = put(app, "a.txt", b"words").path
    first = http.get(at(path))
    tag = first.headers["etag"]
    assert tag == f'"{hashlib.sha256(b"words").hexdigest()}"'
    for if_none_match in (tag, f'W/{tag}, "other"', "*"):
        again = http.get(at(path), headers={"If-None-Match": if_none_match})
        assert (
            (again.status_code, again.content) == (304, b"")
            and again.headers["etag"] == tag
            and is_harmless(again.headers)
        )
    assert http.get(at(path), headers={"If-None-Match": '"other"'}).status_code == 200
    assert "private" in first.headers["cache-control"] and "must-revalidate" in first.headers["cache-control"]


def test_a_file_that_changed_meanwhile_is_not_mistaken_for_the_old_one(app: App, http: TestClient) -> None:
    path = put(app, "a.txt", b"words").path
    tag = http.get(at(path)).headers["etag"]
    (app.vault.root / "a.txt").write_bytes(b"other words")
    answer = http.get(at(path), headers={"If-None-Match": tag, "Range": "bytes=0-1", "If-Range": tag})
    assert (answer.status_code, answer.content) == (200, b"other words")
    assert answer.headers["etag"].startswith('W/"')


@pytest.mark.parametrize(
    ("asked", "code", "content", "content_range"),
    [
        ("bytes=0-3", 206, b"0123", "bytes 0-3/10"),
        ("bytes=4-", 206, b"456789", "bytes 4-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=-99", 206, b"0123456789", "bytes 0-9/10"),
        ("bytes=8-99999999999999999999", 206, b"89", "bytes 8-9/10"),
        ("bytes=9-9", 206, b"9", "bytes 9-9/10"),
        ("bytes=10-", 416, None, "bytes */10"),
        ("bytes=-0", 416, None, "bytes */10"),
        ("bytes=99999999999999999999-", 416, None, "bytes */10"),
        *((odd, 200, b"0123456789", None) for odd in ("bytes=0-1,3-4", "bytes=", "bytes=-", "bytes=5-2", "lines=1-2")),
        *((odd, 200, b"0123456789", None) for odd in ("bytes=a-b", "bytes=0-" + "9" * 200, "bytes=0x1-2", "0-3")),
    ],
)
def test_a_range_is_sent_as_a_part_and_a_nonsensical_range_as_the_whole_file(
    app: App, http: TestClient, asked: str, code: int, content: bytes | None, content_range: str | None
) -> None:
    path = put(app, "a.txt", b"0123456789").path
    answer = http.get(at(path), headers={"Range": asked})
    assert (answer.status_code, answer.headers.get("content-range")) == (code, content_range)
    if content is not None:
        assert answer.content == content and int(answer.headers["content-length"]) == len(content)
        assert answer.headers["accept-ranges"] == "bytes" and is_harmless(answer.headers)


def test_a_client_with_another_version_gets_the_whole_file(app: App, http: TestClient) -> None:
    path = put(app, "a.txt", b"0123456789").path
    first = http.get(at(path))
    for validator, code in ((first.headers["etag"], 206), (first.headers["last-modified"], 206), ('"old"', 200)):
        answer = http.get(at(path), headers={"Range": "bytes=0-1", "If-Range": validator})
        assert answer.status_code == code


def test_head_returns_every_header_and_no_body(app: App, http: TestClient) -> None:
    path = put(app, "a.txt", b"0123456789").path
    head_answer, get_answer = http.head(at(path)), http.get(at(path))
    assert (head_answer.status_code, head_answer.content) == (200, b"")
    assert dict(head_answer.headers.items()) == dict(get_answer.headers.items())
    assert http.head(at(path), headers={"Range": "bytes=2-3"}).headers["content-length"] == "2"


def test_an_empty_file_is_served(app: App, http: TestClient) -> None:
    file = put(app, "empty.txt", "words")
    (app.vault.root / file.path).write_bytes(b"")
    answer = http.get(at(file.path))
    assert (answer.status_code, answer.content, answer.headers["content-length"]) == (200, b"", "0")
    assert http.get(at("empty.txt"), headers={"Range": "bytes=0-"}).status_code == 416


def test_no_descriptor_stays_open(app: App, http: TestClient) -> None:
    path = put(app, "a.txt", b"0123456789").path
    http.get(at(path))
    before = len(os.listdir("/proc/self/fd"))
    for headers in ({}, {"Range": "bytes=0-1"}, {"Range": "bytes=99-"}, {"If-None-Match": "*"}):
        for request in (http.get, http.head):
            request(at(path), headers=headers)
    assert len(os.listdir("/proc/self/fd")) == before


def test_parts_put_together_are_the_file() -> None:
    for size in (1, 2, 7):
        whole = bytes(range(size))
        for first in range(size):
            for last in range(first, size + 2):
                part = parse_range(f"bytes={first}-{last}", size)
                assert part is not None
                assert whole[part.first : part.first + part.length] == whole[first : last + 1]


def test_a_header_full_of_tags_is_read_in_no_time() -> None:
    assert not matches_etag('"' * 60_000, '"x"') and matches_etag('"a", ' * 10_000 + '"x"', '"x"')


# Artifacts


def store_artifact(app: App, filename: str, data: bytes, digester: str = "sketch") -> str:
    file = put(app, "a.txt") if not app.file_list.cards(["a.txt"]) else file_at(app, "a.txt")

    def write(db: Connection) -> None:
        digests.register(db, file.id, file.path, [(digester, True, 0)], "", "now")
        first = artifacts.replace(db, file.path, digester, [artifacts.PackedArtifact(filename, len(data), data)], 0)
        digests.complete(db, file.id, digester, "{}", "hash", first, "recipe", "input", 1, "now")

    app.database.write(write)
    return "/api/artifacts/" + artifacts.name_of(file.path, digester, filename)


@pytest.mark.parametrize("filename", ["copy.html", "page.htm", "drawing.svg", "feed.xml", "noextension", "x.jpg.html"])
def test_the_copy_of_a_crawled_page_is_only_downloaded(app: App, http: TestClient, filename: str) -> None:
    answer = http.get(store_artifact(app, filename, b"<script>alert(1)</script>"))
    assert answer.headers["content-type"] == "application/octet-stream" and is_harmless(answer.headers)
    assert answer.headers["content-disposition"].startswith("attachment;")


def test_an_artifact_is_revalidated_and_sent_again_only_when_it_changed(app: App, http: TestClient) -> None:
    address = store_artifact(app, "thumbnail.jpg", b"one picture")
    first = http.get(address)
    assert first.headers["content-type"] == "image/jpeg" and first.headers["cache-control"] == "private, no-cache"
    assert http.get(address, headers={"If-None-Match": first.headers["etag"]}).status_code == 304
    assert http.get(address, headers={"Range": "bytes=4-6"}).content == b"pic"
    assert store_artifact(app, "thumbnail.jpg", b"another picture", "sketch") == address  # names are reused
    second = http.get(address, headers={"If-None-Match": first.headers["etag"]})
    assert (second.status_code, second.content) == (200, b"another picture")


def test_the_routes_are_described(http: TestClient) -> None:
    paths = http.get("/openapi.json").json()["paths"]
    for path in ("/api/raw/{path}", "/api/artifacts/{name}", "/api/pages/{path}"):
        assert {"200", "206", "304", "416"} <= set(paths[path]["get"]["responses"]), json.dumps(paths[path])
