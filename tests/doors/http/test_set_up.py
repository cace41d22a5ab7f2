"""A server beyond loopback without accounts: nothing but the page on which the owner's account is made."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from starlette.types import ASGIApp
from two_vaults import PASSWORD, sign_in, stranger, two_vaults

from chyme.accounts.authentication import WRONG_CODES
from chyme.accounts.first_owner import FirstOwner
from chyme.accounts.permissions import Right
from chyme.application.server_vaults import ServerVaults
from chyme.application.settings import Settings
from chyme.doors.http.server_api import create_server_app

pytestmark = pytest.mark.slow

BASE = "http://chyme.example"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[ServerVaults]:
    with two_vaults(tmp_path, Settings(hosts="chyme.example")) as opened:
        yield opened


@pytest.fixture
def first(house: ServerVaults) -> FirstOwner:
    return FirstOwner(house.authenticator)


@pytest.fixture
def answers(house: ServerVaults, first: FirstOwner) -> ASGIApp:
    return create_server_app(house, "0.0.0.0", first)


def form(code: str, **changes: str) -> dict[str, str]:
    return {"code": code, "name": "Ada", "password": PASSWORD, "again": PASSWORD, **changes}


def visitor(answers: ASGIApp, peer: str = "203.0.113.9") -> TestClient:
    return stranger(answers, BASE, peer)


def test_nothing_else_is_served(answers: ASGIApp, house: ServerVaults) -> None:
    http = visitor(answers)
    assert http.get("/set-up").status_code == 200
    assert http.get("/static/chyme.css").status_code == 200
    for path in ("/", "/login", "/account", "/team", "/invitation", "/v/photos/", "/v/photos/file/photos.txt", "/x"):
        answer = http.get(path)
        assert (answer.status_code, answer.headers["location"]) == (303, "/set-up"), path
    for path in (
        "/healthz",
        "/metrics",
        "/api/vaults",
        "/v/photos/api/status",
        "/v/photos/mcp",
        "/v/photos/openapi.json",
    ):
        assert http.get(path).status_code == 503, path
    token = {"Authorization": "Bearer chyme_x"}
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        for path in ("/login", "/api/invitation", "/v/photos/api/upload", "/v/photos/api/links", "/api/team/people"):
            assert http.request(method, path, headers=token).status_code == 503, f"{method} {path}"
    assert not house.authenticator.path.exists()


def test_the_code_makes_the_owner_who_is_signed_in_and_the_server_goes_on(
    answers: ASGIApp, first: FirstOwner, house: ServerVaults
) -> None:
    http = visitor(answers)
    made = http.post("/set-up", data=form(first.code))
    assert (made.status_code, made.headers["location"]) == (303, "/")
    assert http.get("/v/photos/api/status").status_code == 200
    assert http.get("/team").status_code == 200
    assert visitor(answers).get("/healthz").status_code == 200
    assert visitor(answers).get("/v/photos/api/status").status_code == 401
    account = house.authenticator.accounts.get("ada")
    assert account.is_owner and account.everything is Right.WRITE
    again = visitor(answers).post("/set-up", data=form(first.code, name="Eve"))
    assert again.status_code == 401
    assert http.post("/set-up", data=form(first.code, name="Eve"), headers={"Origin": BASE}).status_code == 404
    assert visitor(answers).get("/set-up").headers["location"].startswith(("/login", "/"))
    assert [one.name for one in house.authenticator.accounts.list_all()] == ["Ada"]
    sign_in(visitor(answers), "ada")


def test_a_wrong_code_makes_nothing_and_guessers_wait(answers: ASGIApp, first: FirstOwner, house: ServerVaults) -> None:
    guesser = visitor(answers)
    for number in range(WRONG_CODES):
        assert guesser.post("/set-up", data=form(f"AAAA-{number}")).status_code == 403
    assert guesser.post("/set-up", data=form(first.code)).status_code == 429
    assert not house.authenticator.path.exists()
    assert visitor(answers, "203.0.113.77").post("/set-up", data=form(first.code)).status_code == 303


def test_the_code_survives_a_poor_password_and_ends_with_the_process(
    answers: ASGIApp, first: FirstOwner, house: ServerVaults
) -> None:
    http = visitor(answers)
    assert (
        "everybody tries first"
        in http.post("/set-up", data=form(first.code, password="password", again="password")).text
    )
    assert http.post("/set-up", data=form(first.code, again="different one")).status_code == 400
    next_start = create_server_app(house, "0.0.0.0", FirstOwner(house.authenticator))
    assert visitor(next_start).post("/set-up", data=form(first.code)).status_code == 403
    assert http.post("/set-up", data=form(first.code)).status_code == 303


def test_only_names_and_addresses_of_the_server_and_its_own_page_are_answered(
    answers: ASGIApp, first: FirstOwner
) -> None:
    http = visitor(answers)
    for host in ("evil.example", "192.0.2.1", "localhost", ""):
        assert http.get("/set-up", headers={"Host": host}).status_code == 403, host
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        assert http.post("/set-up", data=form(first.code), headers=headers).status_code == 403


def test_the_code_is_in_no_log(
    answers: ASGIApp, first: FirstOwner, house: ServerVaults, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    visitor(answers).post("/set-up", data=form(first.code, password="short", again="short"))
    visitor(answers).post("/set-up", data=form(first.code))
    made = house.authenticator.invitations.add("", Right.READ, [])
    visitor(answers).post("/invitation", data=form(made.secret, name="Bob"))
    assert "/set-up" in caplog.text and "/invitation" in caplog.text
    assert first.code not in caplog.text and made.secret not in caplog.text and PASSWORD not in caplog.text
