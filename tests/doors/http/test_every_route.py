"""Every route and page, tried by an invited person with read rights on one of two vaults, by strangers and by owners.

A route that is in no table here fails the test: decide who may use it, and write that down.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from shared_api import shared_vault_api
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp
from two_vaults import ORIGIN, PASSWORD, answers_of, sign_in, stranger, two_vaults

from chyme.accounts.permissions import Right
from chyme.application.server_vaults import ServerVaults
from chyme.doors.http.server_api import create_server_api

pytestmark = pytest.mark.slow

# GET and HEAD in a vault: open to those who may read it. 404 and 422 are answers, too: the address has no such file.
READERS_MAY_GET = [
    "/api/imports",
    "/api/imports/{number}",
    "/api/searches",
    "/api/searches/{search_id}/new",
    "/api/timeline",
    "/api/throughput",
    "/api/ai/spend/daily",
    "/api/people/{person_id}/recordings",
    "/ask",
    "/share",
    "/shared/{key}",
    "/searches",
    "/ui/searches/list",
    "/ui/searches/chips",
    "/timeline",
    "/",
    "/activity",
    "/file/{path:path}",
    "/openapi.json",
    "/people",
    "/people/{person_id}",
    "/settings",
    "/tags",
    "/trash",
    "/api/ai",
    "/api/ai/spend",
    "/api/artifacts/{name:path}",
    "/api/digest/{path:path}",
    "/api/digesters",
    "/api/export/documents.csv",
    "/api/failures",
    "/api/files",
    "/api/files/{path:path}",
    "/api/folders",
    "/api/jobs",
    "/api/links/{path:path}",
    "/api/outdated",
    "/api/page-words/{path:path}",
    "/api/pages/{path:path}",
    "/api/people",
    "/api/people/{person_id}",
    "/api/raw/{path:path}",
    "/api/search",
    "/api/similar/{path:path}",
    "/api/status",
    "/api/subtitles/{path:path}.vtt",
    "/api/tags",
    "/api/tags/similar",
    "/api/tags/{name:path}",
    "/api/trash",
    "/api/vanished",
    "/api/workers",
    "/ui/activity/{part}",
    "/ui/cards",
    "/ui/choices",
    "/ui/file/content",
    "/ui/file/gone",
    "/ui/file/parts",
    "/ui/file/similar",
    "/ui/file/stage",
    "/ui/hits",
    "/ui/people",
    "/ui/people/{person_id}",
    "/ui/shelf",
    "/ui/tags/decided",
    "/ui/tags/list",
    "/ui/tags/similar",
    "/ui/trash/list",
    "/ui/vault",
]
WRITERS_MAY_GET = [
    *("/api/doctor", "/api/settings", "/ui/settings/doctor", "/ui/settings/vault", "/ui/settings/forms"),
    *("/api/private", "/api/mail", "/api/shares", "/shares", "/ui/shares/list"),
]
READERS_MAY_POST = [  # everything else that is no GET or HEAD is for writers
    "/mcp",  # assistants read by POST
    *("/api/ask", "/ask"),  # a question changes nothing
    *("/api/searches", "/api/searches/{search_id}"),  # a person's own saved searches
    *("/api/searches/{search_id}/seen", "/api/searches/{search_id}/feed"),
]
STREAMS = ["/api/events"]  # does not end by itself: see test_streams_of_ended_sessions.py and test_events.py
PLACEHOLDERS = {"path": "photos.txt", "name": "photos.txt", "number": "999999"}

# Shared files and feeds: the secret in the address decides, and wrong ones are soon refused altogether. What each opens
# is tried in test_shared_links.py and test_saved_searches.py.
OPENED_BY_SECRET = ("/s/", "/feeds/")

# Outside of vaults: what a stranger, a person with few rights and an owner are answered. 415 and 422: the check of
# the body comes next, so they may use it.
SERVER: dict[str, tuple[int, int, int]] = {
    "GET /healthz": (200, 200, 200),
    "GET /capture": (200, 200, 200),
    "POST /capture/bookmarklet": (401, 415, 415),
    "GET /capture/bookmarklet": (303, 303, 303),
    "GET /manifest.webmanifest": (200, 200, 200),
    "GET /metrics": (401, 200, 200),
    "GET /login": (200, 303, 303),
    "POST /login": (415, 415, 415),
    "POST /logout": (401, 303, 303),
    "GET /api/vaults": (401, 200, 200),
    "GET /": (303, 303, 200),
    "GET /set-up": (303, 303, 303),
    "POST /set-up": (401, 404, 404),
    "GET /invitation": (200, 200, 200),
    "POST /invitation": (415, 415, 415),
    "GET /account": (303, 200, 200),
    "GET /account/tokens": (303, 303, 303),
    "GET /account/password": (303, 303, 303),
    "POST /account/password": (401, 415, 415),
    "POST /account/sign-out-elsewhere": (401, 303, 303),
    "POST /account/sessions/{number}/end": (401, 404, 404),
    "POST /account/tokens": (401, 415, 415),
    "POST /account/tokens/{number}/revoke": (401, 404, 404),
    "GET /team": (303, 403, 200),
    "POST /team/people/{number}/rights": (401, 403, 415),
    "POST /team/people/{number}/active": (401, 403, 415),
    "POST /team/people/{number}/password": (401, 403, 415),
    "POST /team/people/{number}/sign-out": (401, 403, 404),
    "POST /team/people/{number}/remove": (401, 403, 404),
    "POST /team/invitations": (401, 403, 415),
    "POST /team/invitations/{number}/revoke": (401, 403, 404),
    "POST /team/sessions/{number}/end": (401, 403, 404),
    "POST /team/tokens/{number}/revoke": (401, 403, 404),
    "GET /api/account": (401, 200, 200),
    "POST /api/account/password": (401, 422, 422),
    "GET /api/account/sessions": (401, 200, 200),
    "DELETE /api/account/sessions": (401, 200, 200),
    "DELETE /api/account/sessions/{number}": (401, 404, 404),
    "GET /api/account/tokens": (401, 200, 200),
    "POST /api/account/tokens": (401, 422, 422),
    "DELETE /api/account/tokens/{number}": (401, 404, 404),
    "POST /api/invitation": (422, 422, 422),
    "GET /api/team/people": (401, 403, 200),
    "POST /api/team/people": (401, 403, 422),
    "PATCH /api/team/people/{number}": (401, 403, 422),
    "DELETE /api/team/people/{number}": (401, 403, 404),
    "DELETE /api/team/people/{number}/sessions": (401, 403, 404),
    "GET /api/team/invitations": (401, 403, 200),
    "POST /api/team/invitations": (401, 403, 422),
    "DELETE /api/team/invitations/{number}": (401, 403, 404),
    "GET /api/team/sessions": (401, 403, 200),
    "GET /api/team/tokens": (401, 403, 200),
    "DELETE /api/team/tokens/{number}": (401, 403, 404),
}
OWN = ("/account", "/team", "/api/account", "/api/team")  # a token opens none of these


@pytest.fixture
def house(tmp_path: Path) -> Iterator[ServerVaults]:
    with two_vaults(tmp_path) as opened:
        opened.authenticator.accounts.add("Ada", PASSWORD, Right.WRITE, owner=True)
        yield opened


@pytest.fixture
def answers(house: ServerVaults) -> ASGIApp:
    return answers_of(house)


def invited(house: ServerVaults, answers: ASGIApp) -> TestClient:
    """Bob, who was invited to read photos, made his account himself and is signed in."""
    photos = (house.identities["photos"], "photos")
    made = house.authenticator.invitations.add("for Bob", None, [(photos, Right.READ)], 1)
    form = {"code": made.secret, "name": "Bob", "password": PASSWORD, "again": PASSWORD}
    http = stranger(answers)
    answer = http.post("/invitation", data=form)
    assert (answer.status_code, answer.headers["location"]) == (303, "/"), answer.text
    return http


def flat(routes: Iterable[BaseRoute]) -> Iterator[Route]:
    for route in routes:
        if isinstance(route, Route):
            yield route
        elif (included := getattr(route, "original_router", None)) is not None:
            yield from flat(included.routes)


def tried(route: str) -> str:
    return re.sub(r"\{(\w+)(?::\w+)?\}", lambda match: PLACEHOLDERS.get(match[1], "1"), route)


def test_the_invited_person_may_read_one_vault_and_change_none(house: ServerVaults, answers: ASGIApp) -> None:
    http = invited(house, answers)
    assert http.get("/v/photos/api/raw/photos.txt").text == "a pelican on the beach"
    decided = {"GET": READERS_MAY_GET + WRITERS_MAY_GET + STREAMS, "HEAD": READERS_MAY_GET}
    undecided, wrong = [], []
    for route in flat(shared_vault_api(house.vaults["photos"]).routes):
        for method in route.methods or {"GET", "POST", "DELETE"}:
            if method in decided and route.path not in decided[method] + READERS_MAY_POST:
                undecided.append(f"{method} {route.path}")
            if route.path in STREAMS:
                continue
            status = http.request(method, f"/v/photos{tried(route.path)}", headers=ORIGIN).status_code
            reading = method in ("GET", "HEAD") and route.path not in WRITERS_MAY_GET
            refused = not reading and route.path not in READERS_MAY_POST
            if (status == 403) != refused or status in (401, 500, 503):
                wrong.append(f"{method} {route.path}: {status}")
    assert not undecided, "say in READERS_MAY_GET or WRITERS_MAY_GET who may use these"
    assert not wrong


def test_the_other_vault_does_not_exist_for_the_invited_person(house: ServerVaults, answers: ASGIApp) -> None:
    http = invited(house, answers)
    open_routes = []
    for route in flat(shared_vault_api(house.vaults["diary"]).routes):
        for method in route.methods or {"GET", "POST", "DELETE"}:
            path = tried(route.path).replace("photos.txt", "diary.txt")
            answer = http.request(method, f"/v/diary{path}", headers=ORIGIN)
            if answer.status_code != 404 or "secret" in answer.text:
                open_routes.append(f"{method} {route.path}: {answer.status_code}")
    assert not open_routes
    assert [vault["name"] for vault in http.get("/api/vaults").json()["vaults"]] == ["photos"]
    assert "diary" not in http.get("/metrics").text


def test_every_route_of_the_server_answers_each_as_decided(house: ServerVaults, answers: ASGIApp) -> None:
    bob, ada = invited(house, answers), sign_in(stranger(answers), "ada")
    secrets = [dict(http.cookies) for http in (bob, ada)]
    observed = {}
    for route in flat(create_server_api(house).routes):
        if route.path.startswith(OPENED_BY_SECRET):
            continue
        for method in route.methods or ():
            statuses = []
            for cookies in ({}, *secrets):
                http = stranger(answers)
                if route.path == "/logout" and cookies:  # ends a session that no other try needs
                    sign_in(http, "bob" if cookies == secrets[0] else "ada")
                else:
                    http.cookies.update(cookies)
                statuses.append(http.request(method, tried(route.path), headers=ORIGIN).status_code)
            observed[f"{method} {route.path}"] = tuple(statuses)
    assert observed == SERVER


def test_a_token_of_an_owner_manages_nothing(house: ServerVaults, answers: ASGIApp) -> None:
    secret = house.authenticator.tokens.add("script", Right.WRITE, owner="Ada").secret
    http = stranger(answers)
    for entry in SERVER:
        method, path = entry.split()
        if path.startswith(OWN) and path not in ("/account/tokens", "/account/password"):
            answer = http.request(method, tried(path), headers={"Authorization": f"Bearer {secret}"})
            assert answer.status_code == 404, entry
