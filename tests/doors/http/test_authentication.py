"""Access control: who is let in, what is refused, and which headers every answer carries."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from two_vaults import ORIGIN, PASSWORD, add_people, answers_of, sign_in, stranger, two_vaults
from waiting import AMPLE

from chyme.accounts.authentication import WRONG_PASSWORDS, WRONG_TOKENS
from chyme.accounts.login_throttle import LoginThrottle
from chyme.accounts.permissions import Right
from chyme.application.server_vaults import ServerVaults
from chyme.application.settings import Settings
from chyme.doors.http.access_middleware import AccessMiddleware, Addresses
from chyme.doors.http.server_api import create_server_api
from chyme.doors.page.rendering import STATIC, STATIC_VERSION

pytestmark = pytest.mark.slow

IMPORT = re.compile(r"""^import (?:[^;"]* from )?"([^"]*)";$""", re.MULTILINE)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[ServerVaults]:
    with two_vaults(tmp_path) as opened:
        yield opened


def detail(answer: object) -> str:
    problem = answer.json()  # type: ignore[attr-defined]
    assert answer.headers["content-type"] == "application/problem+json"  # type: ignore[attr-defined]
    return str(problem["detail"])


def test_on_loopback_without_accounts_everything_is_open_and_nothing_is_made(house: ServerVaults) -> None:
    http = stranger(answers_of(house))
    assert [vault["name"] for vault in http.get("/api/vaults").json()["vaults"]] == ["photos", "diary"]
    assert http.get("/v/diary/api/status").json()["files"] == 1
    assert http.get("/login?next=/v/diary/").headers["location"] == "/v/diary/"
    assert http.get("/account").status_code == 404
    assert not house.authenticator.path.parent.exists()


def test_the_first_account_closes_a_running_server(house: ServerVaults) -> None:
    http = stranger(answers_of(house))
    assert http.get("/v/diary/api/status").status_code == 200
    add_people(house)
    assert http.get("/v/diary/api/status").status_code == 401


def test_beyond_loopback_the_server_stays_closed_even_without_accounts(house: ServerVaults) -> None:
    http = stranger(answers_of(house, "0.0.0.0"), "http://127.0.0.1")
    assert http.get("/v/diary/api/status").status_code == 401
    assert http.get("/").headers["location"] == "/login?next=%2F"


def test_a_proxy_in_front_of_an_open_server_gives_no_access(house: ServerVaults) -> None:
    http = stranger(answers_of(house))
    for name in (
        *("X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Server", "X-Forwarded-Host", "Forwarded"),
        *("X-Real-IP", "Via", "CF-Connecting-IP", "True-Client-IP"),
    ):
        assert http.get("/v/diary/api/status", headers={name: "203.0.113.9"}).status_code == 403
    house = replace(house, settings=replace(house.settings, trusted_proxies="127.0.0.1"))
    assert stranger(answers_of(house)).get("/v/diary/api/status").status_code == 401


def test_without_credentials_only_the_public_routes_are_open(house: ServerVaults) -> None:
    add_people(house)
    http = stranger(answers_of(house))
    for path in ("/healthz", "/login", "/static/chyme.css"):
        assert http.get(path).status_code == 200, path
    for path in ("/api/vaults", "/v/photos/api/status", "/v/none/api/status", "/v/photos/openapi.json", "/metrics"):
        refused = http.get(path)
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer"), path
        assert "token" in detail(refused)
    for path in ("/", "/account", "/v/photos/", "/v/none/", "/nothing/here", "//v/photos/api/status", "/static"):
        assert http.get(path).status_code == 303, path
    assert http.get("/v/photos/?q=a b").headers["location"] == "/login?next=%2Fv%2Fphotos%2F%3Fq%3Da%2520b"
    assert http.post("/v/photos/api/digest/photos.txt").status_code == 401
    assert http.post("/mcp").status_code == 401
    assert http.get("/healthz").json() == {"status": "ok"}


@pytest.mark.parametrize("path", ["/", "/healthz", "/v/none", "/login", "/static/chyme.css", "/static/none.js"])
def test_every_answer_carries_security_headers(house: ServerVaults, path: str) -> None:
    add_people(house)
    headers = stranger(answers_of(house)).get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == headers["cross-origin-opener-policy"] == "same-origin"
    assert "cache-control" in headers and "strict-transport-security" not in headers and "server" not in headers


def test_pages_are_not_cached_and_versions_of_static_files_are(house: ServerVaults) -> None:
    http = stranger(answers_of(house))
    assert http.get("/api/vaults").headers["cache-control"] == "no-store"
    assert http.get("/static/chyme.css").headers["cache-control"] == "no-cache"
    cached = http.get(f"/static/{STATIC_VERSION}/scripts/frame.js")
    assert "immutable" in cached.headers["cache-control"] and cached.headers["content-type"].startswith(
        "text/javascript"
    )
    again = http.get(f"/static/{STATIC_VERSION}/scripts/frame.js", headers={"If-None-Match": cached.headers["etag"]})
    assert again.status_code == 304


@pytest.mark.parametrize("prefix", ["", "0123456789/"])
def test_a_page_from_before_an_upgrade_gets_scripts_that_are_not_cached(house: ServerVaults, prefix: str) -> None:
    http = stranger(answers_of(house))
    current = http.get(f"/static/{STATIC_VERSION}/scripts/frame.js")
    older = http.get(f"/static/{prefix}scripts/frame.js")
    assert (older.status_code, older.content) == (200, current.content)
    assert older.headers["cache-control"] == "no-cache"
    again = http.get(f"/static/{prefix}scripts/frame.js", headers={"If-None-Match": older.headers["etag"]})
    assert (again.status_code, again.headers["cache-control"]) == (304, "no-cache")


def test_every_import_leads_to_a_script_of_the_same_version(house: ServerVaults) -> None:
    http = stranger(answers_of(house))
    scripts = sorted((STATIC / "scripts").glob("*.js"))
    imports = [(path, name) for path in scripts for name in IMPORT.findall(path.read_text(encoding="utf-8"))]
    assert len(imports) > len(scripts)
    for path, name in imports:
        assert re.fullmatch(r"\./\w+\.js", name), f"{path.name} imports {name}"
        imported = http.get(f"/static/{STATIC_VERSION}/scripts/{name.removeprefix('./')}")
        assert imported.status_code == 200 and "immutable" in imported.headers["cache-control"], f"{path.name}: {name}"


@pytest.mark.parametrize(
    "name",
    [
        "../render.py",
        "0123456789/../../render.py",
        "0123456789/",
        "..%2f..%2fdoor.py",
        "%2e%2e/door.py",
        "/etc/passwd",
        "a%00b",
        "",
    ],
)
def test_static_files_lead_nowhere_else(house: ServerVaults, name: str) -> None:
    assert stranger(answers_of(house)).get(f"/static/{name}").status_code in (404, 405)


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "localhost.evil.example", "192.0.2.1", ""),
        *("127.0.0.1%evil.example", "[::1]evil", "127.0.0.1:8765@evil", "localhost:80:80", "localhost/evil"),
    ],
)
def test_a_foreign_host_name_is_refused(house: ServerVaults, host: str) -> None:
    http = stranger(answers_of(house))
    for path in ("/healthz", "/api/vaults", "/static/chyme.css"):
        assert http.get(path, headers={"Host": host}).status_code == 403


def test_the_host_names_in_the_settings_are_accepted(tmp_path: Path) -> None:
    with two_vaults(tmp_path, Settings(hosts="Chyme.example, nas.lan")) as house:
        http = stranger(answers_of(house))
        assert http.get("/healthz", headers={"Host": "chyme.example"}).status_code == 200
        assert http.get("/healthz", headers={"Host": "nas.lan:8765"}).status_code == 200
        assert http.get("/healthz", headers={"Host": "example"}).status_code == 403


def test_another_sites_page_changes_nothing(house: ServerVaults) -> None:
    http = stranger(answers_of(house))
    for headers in (
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
        {"Origin": "https://localhost"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        body = {"url": "https://example.org/x"}
        assert http.post("/v/photos/api/links", json=body, headers=headers).status_code == 403, headers
    assert list(house.vaults["photos"].vault.root.glob("**/*.url")) == []
    picture = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert http.get("/v/photos/api/status", headers=picture).status_code == 403
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert http.get("/v/photos/api/status", headers=link).status_code == 200


def test_a_cookie_alone_changes_nothing(house: ServerVaults) -> None:
    add_people(house)
    http = sign_in(stranger(answers_of(house)), "ada")
    note = {"url": "https://example.org/x"}
    assert http.post("/v/photos/api/links", json=note).status_code == 403
    assert http.post("/v/photos/api/links", json=note, headers=ORIGIN).status_code == 201
    assert http.post("/v/photos/api/links", json=note, headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200


def test_a_reader_changes_nothing(house: ServerVaults) -> None:
    add_people(house)
    http = sign_in(stranger(answers_of(house)), "bob")
    assert http.get("/v/photos/api/status").status_code == 200
    refused = http.post("/v/photos/api/links", json={"url": "https://example.org/x"}, headers=ORIGIN)
    assert refused.status_code == 403 and "not change" in detail(refused)
    for method in ("PATCH", "PUT", "DELETE", "BREW"):
        assert http.request(method, "/v/photos/api/files/photos.txt", headers=ORIGIN).status_code == 403
    assert http.post("/v/photos/mcp", headers=ORIGIN).status_code != 403  # assistants read by POST


def test_a_vault_that_the_user_may_not_read_looks_like_a_missing_one(house: ServerVaults) -> None:
    add_people(house)
    http = sign_in(stranger(answers_of(house)), "bob")
    for path in ("", "/", "/api/status", "/api/search?q=pelican", "/openapi.json", "/mcp", "/static/x"):
        for method in ("GET", "POST", "DELETE"):
            forbidden = http.request(method, f"/v/diary{path}", headers=ORIGIN)
            missing = http.request(method, f"/v/none{path}", headers=ORIGIN)
            assert forbidden.status_code == 404, path
            assert (forbidden.content, forbidden.status_code) == (missing.content, missing.status_code)
            changing = ("x-request-id",)
            stable_headers = [
                {k: v for k, v in answer.headers.items() if k not in changing} for answer in (forbidden, missing)
            ]
            assert stable_headers[0] == stable_headers[1]
    assert [vault["name"] for vault in http.get("/api/vaults").json()["vaults"]] == ["photos"]
    assert http.get("/").headers["location"] == "/v/photos/"
    for sly in (
        "/v/photos/../diary/api/status",
        "/v/photos/%2e%2e/diary/api/status",
        "/v//diary/api/status",
        "/v/DIARY/",
    ):
        assert http.get(sly).status_code == 404, sly
        assert "secret" not in http.get(sly).text


def test_a_token_opens_what_it_was_made_for(house: ServerVaults) -> None:
    photos = (house.identities["photos"], "photos")
    reading = house.authenticator.tokens.add("reads photos", Right.READ, photos).secret
    writing = house.authenticator.tokens.add("writes all", Right.WRITE).secret
    http = stranger(answers_of(house))

    def code(method: str, path: str, secret: str) -> int:
        body = {"url": "https://example.org/x"} if method == "POST" else None
        return http.request(method, path, json=body, headers={"Authorization": f"Bearer {secret}"}).status_code

    assert code("GET", "/v/photos/api/status", reading) == 200
    assert code("POST", "/v/photos/api/links", reading) == 403
    assert code("GET", "/v/diary/api/status", reading) == 404
    assert code("POST", "/v/diary/api/links", writing) == 201
    assert code("GET", "/account", writing) == 404  # a token makes no tokens
    assert code("GET", "/v/photos/api/status", "chyme_made_up") == 401
    for odd in ("", "Bearer", "Bearer ", "Basic YWRhOng=", "Bearer ünknown".encode().decode("latin-1")):
        assert http.get("/api/vaults", headers=[(b"Authorization", odd.encode("latin-1"))]).status_code == 401, odd


def stopped() -> datetime:
    """A stopped clock: no wait passes while the machine is slow."""
    return datetime(2026, 4, 3, tzinfo=UTC)


def test_a_client_that_guesses_tokens_has_to_wait(house: ServerVaults) -> None:
    house.authenticator.wrong_tokens = LoginThrottle(WRONG_TOKENS, stopped)
    house.authenticator.tokens.add("ci", Right.READ)
    answers = answers_of(house)
    http = stranger(answers)
    codes = [http.get("/api/vaults", headers={"Authorization": f"Bearer {n}"}).status_code for n in range(21)]
    assert codes == [401] * 20 + [429]
    waiting = http.get("/api/vaults", headers={"Authorization": "Bearer another"})
    assert waiting.status_code == 429 and int(waiting.headers["retry-after"]) > 0
    elsewhere = stranger(answers, peer="127.0.0.2")
    assert elsewhere.get("/api/vaults", headers={"Authorization": "Bearer another"}).status_code == 401


def test_a_right_token_never_waits_for_the_wrong_ones_of_others(house: ServerVaults) -> None:
    house.authenticator.wrong_tokens = LoginThrottle(WRONG_TOKENS, stopped)
    right = house.authenticator.tokens.add("ci", Right.READ).secret
    http = stranger(answers_of(house))
    for number in range(25):
        http.get("/api/vaults", headers={"Authorization": f"Bearer {number}"})
    for path in ("/api/vaults", "/healthz", "/v/photos/api/status"):
        assert http.get(path, headers={"Authorization": f"Bearer {right}"}).status_code == 200, path
    assert http.get("/api/vaults", headers={"Authorization": "Bearer wrong"}).status_code == 429


def test_strangers_cannot_choose_the_address_they_come_from(tmp_path: Path) -> None:
    with two_vaults(tmp_path, Settings(hosts="chyme.example", trusted_proxies="10.0.0.1")) as house:
        add_people(house)
        house.authenticator.wrong_passwords = LoginThrottle(WRONG_PASSWORDS, stopped)
        answers = answers_of(house)
        stranger_ = stranger(answers, "http://chyme.example", peer="203.0.113.9")
        proxy = stranger(answers, "http://chyme.example", peer="10.0.0.1")

        def guess(http: TestClient, number: int, forwarded_for: str) -> int:
            form = {"name": f"somebody {number}", "password": "wrong"}
            return http.post("/login", data=form, headers={"X-Forwarded-For": forwarded_for}).status_code

        assert [guess(stranger_, n, f"198.51.100.{n}") for n in range(6)] == [401] * 5 + [429]
        assert [guess(proxy, 10 + n, f"198.51.100.{n}") for n in range(6)] == [401] * 6
        assert [guess(proxy, 20 + n, f"{n}.1.1.1, 198.51.100.77") for n in range(6)] == [401] * 5 + [429]


def test_internal_errors_reveal_nothing_internal(house: ServerVaults, caplog: pytest.LogCaptureFixture) -> None:
    api = create_server_api(house)

    @api.get("/api/broken")
    def broken_route() -> None:
        raise RuntimeError("the password of the database is hunter2")

    http = stranger(AccessMiddleware(api, house, Addresses()))
    with caplog.at_level(logging.ERROR):
        answer = http.get("/api/broken")
    assert answer.status_code == 500
    assert "hunter2" not in answer.text and "Traceback" not in answer.text
    assert answer.headers["x-request-id"] in detail(answer)
    assert answer.headers["x-request-id"] in caplog.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_internal_errors_outside_of_any_route_reveal_nothing_internal(house: ServerVaults) -> None:
    async def broken_inside(*_: object) -> None:
        raise RuntimeError("hunter2")

    answer = stranger(AccessMiddleware(broken_inside, house, Addresses())).get("/")
    assert answer.status_code == 500 and "hunter2" not in answer.text and detail(answer)


def test_lifespans_of_vaults_begin_and_end_with_the_server(house: ServerVaults) -> None:
    lived: list[str] = []

    @asynccontextmanager
    async def life(face: FastAPI) -> AsyncIterator[None]:
        lived.append("begun")
        yield
        lived.append("ended")

    api = create_server_api(house, lambda face: face.state._state.setdefault("lifespans", []).append(life))
    with TestClient(AccessMiddleware(api, house, Addresses()), "http://localhost") as http:
        http.get("/healthz")
        assert lived == ["begun", "begun"]
    assert lived == ["begun", "begun", "ended", "ended"]


def test_a_stream_ends_when_the_right_to_read_is_revoked(house: ServerVaults) -> None:
    """Calls the ASGI application directly: a test client would wait for the whole stream."""
    add_people(house)
    session = house.authenticator.accounts.sign_in("bob", PASSWORD, 1, "")
    assert session is not None
    sent: list[dict[str, object]] = []

    async def listen() -> None:
        answers = answers_of(house)
        listening = asyncio.Event()
        never = asyncio.Event()

        async def receive() -> dict[str, object]:
            await never.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, object]) -> None:
            sent.append(message)
            if message["type"] == "http.response.body":
                listening.set()

        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": "/v/photos/api/events",
            "root_path": "",
            "query_string": b"",
            "server": ("127.0.0.1", 80),
            "client": ("127.0.0.1", 1),
            "headers": [(b"host", b"localhost"), (b"cookie", f"chyme_session={session.secret}".encode())],
        }
        task = asyncio.ensure_future(answers(scope, receive, send))  # type: ignore[arg-type]
        await asyncio.wait_for(listening.wait(), AMPLE)
        house.authenticator.accounts.revoke("bob", (house.identities["photos"], "photos"))
        await asyncio.to_thread((house.vaults["photos"].vault.root / "new.txt").write_text, "new")
        await asyncio.to_thread(house.vaults["photos"].scan_and_settle)
        await asyncio.wait_for(task, AMPLE)

    asyncio.run(listen())
    assert sent[0]["status"] == 200
    assert sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}
    assert b"new.txt" not in b"".join(bytes(message.get("body", b"")) for message in sent)  # type: ignore[call-overload]
