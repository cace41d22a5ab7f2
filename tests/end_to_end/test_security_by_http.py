"""Faults of other software, tried point by point on the real server: two vaults, users with different rights.

The numbers are those of the checklist in docs/security.md. Points that no request can touch (parsers, models, the
crawler) are tested next to those parts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest
from running_chyme import SAMPLES, RunningChyme, wait_until
from waiting import AMPLE

pytestmark = pytest.mark.slow

PASSWORD = "a long enough sentence"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
PAGE = b"<!doctype html><title>Evil</title><script>alert(1)</script><p>heron on the page</p>"
NOTE = "# <img src=x onerror=alert(1)>\n\n<script>alert(2)</script> heron [click](javascript:alert(3)) ![x](http://other.invalid/x.png)\n"
HOSTILE = '"><script>alert(4)</script>.txt'


class Markup(HTMLParser):
    """What a page must not contain: inline scripts and styles, frames, handlers, and addresses that lead elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        if tag in ("iframe", "object", "embed", "base", "style"):
            self.wrong.append(tag)
        if tag == "script" and not known.get("src", "").startswith("/static/"):
            self.wrong.append(f"script {known}")
        for name, value in known.items():
            leads = name in ("src", "href", "action", "poster", "srcset", "data")
            if name.startswith("on") or name == "style" or (leads and not value.startswith(("/", "?", "#"))):
                self.wrong.append(f"{tag} {name}={value}")


@dataclass(frozen=True)
class Place:
    """The server, and the credentials of its users."""

    address: str
    writer: dict[str, str]
    reader: dict[str, str]  # of the vault `open` alone
    chyme: RunningChyme

    def ask(self, who: dict[str, str] | None, path: str, method: str = "GET", **options: Any) -> httpx.Response:
        headers = {**(who or {}), **options.pop("headers", {})}
        return httpx.request(method, self.address + path, headers=headers, timeout=300, trust_env=False, **options)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("security")
    chyme = RunningChyme(folder)
    try:
        closed = folder / "closed"
        closed.mkdir()
        (closed / "diary.txt").write_text("a heron that nobody else may read about")
        chyme.drop("evil.svg", SVG)
        chyme.drop("evil.html", PAGE)
        chyme.drop("note.md", NOTE)
        chyme.drop(HOSTILE, "heron in a strange name")
        chyme.drop("contract.pdf", (SAMPLES / "contract.pdf").read_bytes())
        (folder / "outside.txt").write_text("outside of every vault")
        (chyme.vault / "way-out.txt").symlink_to(folder / "outside.txt")
        for vault in (chyme.vault, closed):
            assert chyme.run("digest", vault=vault).code in (0, 1)
        writer = _token(chyme, "writer")
        reader = _token(chyme, "reader", "--only", str(chyme.vault), "--read-only")
        assert chyme.run("users", "add", "ada", "--password-stdin", typed=PASSWORD).code == 0
        server = chyme.serve(str(closed))
        address = str(server.http.base_url).rstrip("/")
        server.http.close()
        here = Place(address, _bearer(writer), _bearer(reader), chyme)
        wait_until(lambda: here.ask(here.writer, "/v/closed/api/search?q=heron").json()["total"] == 1)
        yield here
    finally:
        chyme.close()


def _token(chyme: RunningChyme, name: str, *options: str) -> str:
    made = chyme.run("tokens", "--json", "add", name, *options)
    assert made.code == 0, made.err
    return str(made.json["secret"])


def _bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def test_point_3_a_page_from_elsewhere_is_never_shown_on_our_origin(place: Place) -> None:
    answer = place.ask(place.reader, "/v/vault/api/raw/evil.html")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("name", ["evil.svg", "evil.html", "note.md", "contract.pdf"])
def test_point_4_files_have_an_allowed_type_and_are_not_sniffed(place: Place, name: str) -> None:
    answer = place.ask(place.reader, f"/v/vault/api/raw/{name}")
    assert answer.status_code == 200
    assert answer.headers["x-content-type-options"] == "nosniff"
    media_type = answer.headers["content-type"].partition(";")[0]
    assert media_type in ("application/octet-stream", "text/plain", "application/pdf")
    if media_type == "application/octet-stream":
        assert answer.headers["content-disposition"].startswith("attachment")


@pytest.mark.parametrize(
    "path", ["/", "/file/note.md", "/file/" + HOSTILE.replace("/", "%2F"), "/?q=heron", "/activity", "/tags"]
)
def test_point_5_no_markup_of_files_reaches_a_page(place: Place, path: str) -> None:
    answer = place.ask(place.reader, "/v/vault" + path)
    assert answer.status_code == 200, answer.text
    markup = Markup()
    markup.feed(answer.text)
    assert markup.wrong == []
    assert "unsafe" not in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    "path",
    [
        "/", "/api/search?q=heron", "/api/files", "/api/files/diary.txt", "/api/digest/diary.txt",
        "/api/raw/diary.txt",
        "/api/similar/diary.txt", "/api/status", "/api/events", "/api/tags", "/api/people", "/api/folders",
        "/api/failures",
        "/api/jobs", "/api/trash", "/api/settings", "/openapi.json", "/file/diary.txt", "/activity", "/api/nothing",
    ],
)  # fmt: skip
def test_point_6_a_vault_closed_to_a_user_does_not_exist_for_that_user(place: Place, path: str) -> None:
    closed, nowhere = (place.ask(place.reader, f"/v/{name}{path}") for name in ("closed", "nowhere"))
    assert closed.status_code == nowhere.status_code == 404
    assert closed.content.replace(b"closed", b"") == nowhere.content.replace(b"nowhere", b"")
    assert place.ask(None, f"/v/closed{path}").status_code in (302, 303, 401)


def test_point_6_counts_names_and_metrics_cover_only_open_vaults(place: Place) -> None:
    assert "closed" not in place.ask(place.reader, "/api/vaults").text
    metrics = place.ask(place.reader, "/metrics").text
    assert 'vault="vault"' in metrics
    assert "closed" not in metrics
    assert "closed" not in place.ask(place.reader, "/", follow_redirects=True).text.replace("disclosed", "")
    assert place.ask(place.writer, "/api/vaults").text.count("closed") >= 1


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/digest/note.md"), ("PATCH", "/api/files/note.md"), ("DELETE", "/api/files/note.md"),
        ("POST", "/api/links"),
        ("POST", "/api/notes"), ("POST", "/api/upload"), ("POST", "/api/digest"), ("DELETE", "/api/trash"),
        ("POST", "/api/documents/note.md/reprocess"), ("POST", "/api/tags/rename"), ("POST", "/api/people/undo"),
        ("POST", "/api/ai/pause"), ("DELETE", "/api/digesters/tags/digests"),
    ],
)  # fmt: skip
def test_point_6_a_reader_may_change_nothing(place: Place, method: str, path: str) -> None:
    assert place.ask(place.reader, "/v/vault" + path, method, json={}).status_code == 403


@pytest.mark.parametrize("field", ["path", "state", "hash", "id", "summary", "vanished_at"])
def test_point_7_fields_that_may_not_be_set_are_refused(place: Place, field: str) -> None:
    answer = place.ask(place.writer, "/v/vault/api/files/note.md", "PATCH", json={field: "x"})
    assert answer.status_code == 422


@pytest.mark.parametrize(
    "path",
    [
        "..%2foutside.txt", "%2e%2e/outside.txt", "../outside.txt", "/etc/passwd", "%2fetc%2fpasswd", "way-out.txt",
        ".chyme/vault.db",
        ".chyme%2fvault.db", "note.md%00.txt", "..\\outside.txt", "....//outside.txt", "%c0%ae%c0%ae/outside.txt",
    ],
)  # fmt: skip
def test_point_8_and_18_nothing_outside_the_vault_is_read(place: Place, path: str) -> None:
    for route in ("raw", "files", "digest", "pages", "similar", "artifacts"):
        answer = place.ask(place.writer, f"/v/vault/api/{route}/{path}")
        assert answer.status_code in (400, 404, 422), (route, answer.text[:200])
        assert b"outside of every vault" not in answer.content
        assert b"SQLite format" not in answer.content


@pytest.mark.parametrize(
    "name", ["../escape.txt", "/tmp/escape.txt", ".chyme/escape.txt", "..\\escape.txt", "a/../../escape.txt"]
)
def test_point_8_an_upload_stays_inside(place: Place, name: str) -> None:
    place.ask(place.writer, "/v/vault/api/upload", "POST", files={"file": (name, b"escaped")})
    assert not (place.chyme.folder / "escape.txt").exists()
    assert not Path("/tmp/escape.txt").exists()
    assert not (place.chyme.vault / ".chyme/escape.txt").exists()


def test_point_10_beyond_loopback_without_accounts_nothing_is_served(tmp_path: Path) -> None:
    alone = RunningChyme(tmp_path)
    try:
        process = alone.start("serve", "--host", "0.0.0.0", "--port", "0")
        wait_until(lambda: "with this code" in alone.said(process))
        (port,) = set(re.findall(r"http://0\.0\.0\.0:(\d+)/", alone.said(process)))
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=AMPLE, trust_env=False) as http:
            wait_until(lambda: http.get("/healthz").status_code == 503)
            assert http.get("/api/status").status_code == 503
    finally:
        alone.close()


def test_point_12_an_upload_that_is_too_large_or_deep_is_refused(place: Place) -> None:
    deep = "[" * 100_000
    answer = place.ask(
        place.writer, "/v/vault/api/notes", "POST", content=deep, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code in (400, 413, 422)
    huge = place.ask(
        place.writer,
        "/v/vault/api/upload",
        "POST",
        content=b"",
        headers={"Content-Type": "multipart/form-data; boundary=x", "Content-Length": "0"},
    )
    assert huge.status_code in (400, 422)


@pytest.mark.parametrize(
    "question",
    [
        "(" * 5_000,
        '"' * 5_001,
        "a*" * 5_000,
        "-" * 10_000,
        "folder:" + "../" * 3_000,
        "\0",
        "NEAR(a b, 1)",
        "a' OR 1=1 --",
    ],
)
def test_point_15_and_16_no_question_costs_much_or_becomes_sql(place: Place, question: str) -> None:
    answer = place.ask(place.reader, "/v/vault/api/search", params={"q": question})
    assert answer.status_code in (200, 400, 422)


@pytest.mark.parametrize("sort", ["id; DROP TABLE files", "(SELECT 1)", "name--"])
def test_point_16_no_column_comes_from_outside(place: Place, sort: str) -> None:
    assert place.ask(place.reader, "/v/vault/api/files", params={"sort": sort}).status_code == 422


def test_point_19_another_sites_page_cannot_act_for_a_user(place: Place) -> None:
    with httpx.Client(base_url=place.address, trust_env=False) as browser:
        entered = browser.post("/login", data={"name": "ada", "password": PASSWORD}, headers={"Origin": place.address})
        assert entered.status_code == 303
        cookie = entered.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite" in cookie
        note = {"text": "written by a stranger"}
        for headers in (
            {"Origin": "http://evil.invalid"},
            {"Origin": "null"},
            {"Sec-Fetch-Site": "cross-site"},
            {},
            {"Origin": place.address, "Sec-Fetch-Site": "cross-site"},
        ):
            assert browser.post("/v/vault/api/notes", json=note, headers=headers).status_code == 403, headers
        assert browser.post("/v/vault/api/notes", json=note, headers={"Origin": place.address}).status_code == 201


@pytest.mark.parametrize("host", ["evil.invalid", "127.0.0.1.evil.invalid", "localhost.evil.invalid", "192.0.2.1", ""])
def test_point_19_a_foreign_host_name_that_leads_here_is_refused(place: Place, host: str) -> None:
    assert place.ask(place.writer, "/api/vaults", headers={"Host": host}).status_code in (400, 403, 421)


def test_point_20_guessing_is_slowed_and_a_forged_header_does_not_help(place: Place) -> None:
    seen = []
    for number in range(12):
        answer = place.ask(
            None, "/login", "POST", data={"name": "grace", "password": f"guess {number} of many"},
            headers={"Origin": place.address, "X-Forwarded-For": f"198.51.100.{number}"},
        )  # fmt: skip
        seen.append(answer.status_code)
    assert 429 in seen
    assert "retry-after" in answer.headers


def test_point_21_errors_reveal_no_internals(place: Place) -> None:
    for path in (
        "/v/vault/api/files/nowhere",
        "/v/vault/api/search?limit=x&q=a",
        "/v/vault/api/pages/note.md?page=1",
        "/nothing",
    ):
        answer = place.ask(place.writer, path)
        assert answer.status_code >= 400
        assert answer.headers["content-type"] == "application/problem+json"
        assert set(answer.json()) == {"type", "title", "status", "detail"}
        for inside in ("Traceback", "sqlite", str(place.chyme.folder), ".py"):
            assert inside not in answer.text


def test_point_21_no_secret_is_logged_or_sent(place: Place) -> None:
    secrets = [place.writer["Authorization"][7:], place.reader["Authorization"][7:], PASSWORD]
    logs = "".join(path.read_text(errors="replace") for path in place.chyme.folder.glob("said-*.txt"))
    visible = (
        logs + place.ask(place.writer, "/v/vault/api/settings").text + place.ask(place.writer, "/v/vault/settings").text
    )
    assert not [secret for secret in secrets if secret in visible]
    stored = (place.chyme.folder / "server" / "server.db").read_bytes()
    assert not [secret for secret in secrets if secret.encode() in stored]
    assert (place.chyme.folder / "server" / "server.db").stat().st_mode & 0o077 == 0


def test_point_23_assistants_get_only_what_their_token_opens(place: Place) -> None:
    question = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    content = json.dumps(question)
    assert place.ask(None, "/v/vault/mcp", "POST", content=content, headers=headers).status_code == 401
    assert place.ask(place.reader, "/v/closed/mcp", "POST", content=content, headers=headers).status_code == 404
    assert place.ask(place.reader, "/v/vault/mcp", "POST", content=content, headers=headers).status_code not in (
        401,
        403,
        404,
    )
