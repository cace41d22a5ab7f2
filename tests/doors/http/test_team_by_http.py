"""People, rights, invitations, sessions and tokens: by JSON and as plain forms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.types import ASGIApp
from two_vaults import ORIGIN, PASSWORD, answers_of, sign_in, stranger, two_vaults

from chyme.accounts.authentication import WRONG_CODES
from chyme.accounts.permissions import Right
from chyme.application.server_vaults import ServerVaults

pytestmark = pytest.mark.slow

NEW = "another good one"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[ServerVaults]:
    with two_vaults(tmp_path) as opened:
        accounts = opened.authenticator.accounts
        accounts.add("Ada", PASSWORD, Right.WRITE, owner=True)
        accounts.add("Bob", PASSWORD)
        accounts.grant("Bob", (opened.identities["photos"], "photos"), Right.READ)
        yield opened


@pytest.fixture
def answers(house: ServerVaults) -> ASGIApp:
    return answers_of(house)


def client(answers: ASGIApp, name: str, password: str = PASSWORD) -> TestClient:
    http = sign_in(stranger(answers), name, password)
    http.headers.update(ORIGIN)
    return http


def json(http: TestClient, method: str, path: str, body: Any = None, status: int = 200) -> Any:
    answer = http.request(method, path, json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def numbers(ada: TestClient) -> dict[str, int]:
    return {person["name"]: person["number"] for person in json(ada, "GET", "/api/team/people")["people"]}


def test_an_owner_makes_people_and_gives_and_takes_rights_at_once(answers: ASGIApp, house: ServerVaults) -> None:
    ada, bob = client(answers, "ada"), client(answers, "bob")
    number = numbers(ada)["Bob"]
    assert bob.get("/v/diary/api/status").status_code == 404
    changed = json(ada, "PATCH", f"/api/team/people/{number}", {"vaults": {"diary": "write", "photos": None}})
    assert [(grant["vault"], grant["right"]) for grant in changed["vaults"]] == [("diary", "write")]
    assert bob.get("/v/diary/api/status").status_code == 200 and bob.get("/v/photos/api/status").status_code == 404
    json(ada, "PATCH", f"/api/team/people/{number}", {"all_vaults": "read"})
    assert bob.get("/v/photos/api/status").status_code == 200
    json(ada, "PATCH", f"/api/team/people/{number}", {"active": False})
    assert bob.get("/v/photos/api/status").status_code == 401
    made = json(ada, "POST", "/api/team/people", {"name": "Eve", "password": NEW, "vaults": {"photos": "read"}}, 201)
    assert (made["owner"], made["all_vaults"], made["last_used_at"]) == (False, None, None)
    assert client(answers, "eve", NEW).get("/v/photos/api/status").status_code == 200
    json(ada, "PATCH", f"/api/team/people/{made['number']}", {"password": PASSWORD})
    client(answers, "eve")
    assert json(ada, "DELETE", f"/api/team/people/{made['number']}") == {"ended": 1}
    assert sorted(numbers(ada)) == ["Ada", "Bob"]


def test_unknown_fields_vaults_and_people_are_refused(answers: ASGIApp) -> None:
    ada = client(answers, "ada")
    number = numbers(ada)["Bob"]
    json(ada, "PATCH", f"/api/team/people/{number}", {"is_owner": True}, 422)
    json(ada, "PATCH", f"/api/team/people/{number}", {"vaults": {"none": "read"}}, 400)
    json(ada, "PATCH", f"/api/team/people/{number}", {"vaults": {"photos": "admin"}}, 422)
    json(ada, "PATCH", "/api/team/people/999", {"owner": True}, 404)
    json(ada, "POST", "/api/team/people", {"name": "a/b", "password": NEW}, 400)
    json(ada, "POST", "/api/team/invitations", {"days": 1000}, 400)
    assert ada.post("/api/team/people", content=b" " * 100_000).status_code == 413
    assert stranger(answers).post("/api/invitation", content=b" " * 100_000).status_code == 413


def test_the_last_owner_stays_whatever_is_asked(answers: ASGIApp) -> None:
    ada = client(answers, "ada")
    number = numbers(ada)["Ada"]
    for method, body in (("PATCH", {"owner": False}), ("PATCH", {"active": False}), ("DELETE", None)):
        assert "last owner" in json(ada, method, f"/api/team/people/{number}", body, 400)["detail"]
    for path, form in (("rights", {"all": "write"}), ("active", {"active": "no"}), ("remove", {})):
        answer = ada.post(f"/team/people/{number}/{path}", data=form)
        assert answer.status_code in (400, 415) and (answer.status_code == 415 or "last owner" in answer.text), path
    assert json(ada, "GET", "/api/account")["owner"] is True


def test_an_owner_needs_the_old_password_for_their_own_too(answers: ASGIApp) -> None:
    ada = client(answers, "ada")
    number = numbers(ada)["Ada"]
    assert "the old one" in json(ada, "PATCH", f"/api/team/people/{number}", {"password": NEW}, 400)["detail"]
    refused = ada.post(f"/team/people/{number}/password", data={"password": NEW})
    assert refused.status_code == 400 and "with the old one" in refused.text
    client(answers, "ada")


def test_an_invitation_is_made_redeemed_once_and_listed(answers: ASGIApp) -> None:
    ada = client(answers, "ada")
    body = {"note": "for Eve", "vaults": {"photos": "read"}, "days": 2}
    made = json(ada, "POST", "/api/team/invitations", body, 201)
    assert made["link"] == f"http://localhost/invitation#{made['code']}"
    eve = stranger(answers)
    answer = {"code": made["code"], "name": "Eve", "password": NEW}
    assert json(eve, "POST", "/api/invitation", answer, 201) == {"name": "Eve"}
    assert "not open" in json(eve, "POST", "/api/invitation", {**answer, "name": "Mallory"}, 404)["detail"]
    (listed,) = json(ada, "GET", "/api/team/invitations")["invitations"]
    assert (listed["state"], listed["redeemed_by"], listed["invited_by"]) == ("used", "Eve", "Ada")
    assert made["code"] not in str(listed)
    person = json(client(answers, "eve", NEW), "GET", "/api/account")
    assert (person["owner"], [grant["vault"] for grant in person["vaults"]]) == (False, ["photos"])
    second = json(ada, "POST", "/api/team/invitations", body, 201)
    json(ada, "DELETE", f"/api/team/invitations/{second['invitation']['number']}")
    json(eve, "POST", "/api/invitation", {**answer, "code": second["code"], "name": "Mallory"}, 404)


def test_those_who_guess_invitations_wait_and_an_open_one_works_all_the_same(answers: ASGIApp) -> None:
    guesser = stranger(answers)
    body = {"code": "chyme_invitation_x", "name": "Eve", "password": NEW}
    for _ in range(WRONG_CODES):
        json(guesser, "POST", "/api/invitation", body, 404)
    limited = guesser.post("/api/invitation", json=body)
    assert limited.status_code == 429 and int(limited.headers["retry-after"]) >= 1
    made = json(client(answers, "ada"), "POST", "/api/team/invitations", {}, 201)
    json(guesser, "POST", "/api/invitation", {**body, "code": made["code"]}, 201)


def test_everyone_changes_their_password_and_ends_sessions(answers: ASGIApp) -> None:
    here, there, third = (client(answers, "bob") for _ in range(3))
    listed = json(here, "GET", "/api/account/sessions")["sessions"]
    assert len(listed) == 3 and [one["here"] for one in listed].count(True) == 1
    assert {one["address"] for one in listed} == {"127.0.0.1"}
    other = next(one["number"] for one in json(third, "GET", "/api/account/sessions")["sessions"] if one["here"])
    json(here, "DELETE", f"/api/account/sessions/{other}")
    json(third, "GET", "/api/account", status=401)
    json(here, "POST", "/api/account/password", {"current": "wrong", "password": NEW}, 403)
    json(here, "POST", "/api/account/password", {"current": PASSWORD, "password": "short"}, 400)
    json(there, "GET", "/api/account")
    json(here, "POST", "/api/account/password", {"current": PASSWORD, "password": NEW})
    json(there, "GET", "/api/account", status=401)
    assert json(here, "GET", "/api/account")["name"] == "Bob"
    ada_session = next(
        one["number"] for one in json(client(answers, "ada"), "GET", "/api/account/sessions")["sessions"]
    )
    json(here, "DELETE", f"/api/account/sessions/{ada_session}", status=404)


def test_tokens_stay_within_ones_own_rights(answers: ASGIApp) -> None:
    bob = client(answers, "bob")
    path = "/api/account/tokens"
    assert "only read" in json(bob, "POST", path, {"name": "x", "vault": "photos", "right": "write"}, 400)["detail"]
    forbidden = json(bob, "POST", path, {"name": "x", "vault": "diary"}, 400)["detail"]
    assert forbidden == json(bob, "POST", path, {"name": "x", "vault": "none"}, 400)["detail"].replace("none", "diary")
    made = json(bob, "POST", path, {"name": "all", "right": "write"}, 201)
    program = stranger(answers)
    program.headers["Authorization"] = f"Bearer {made['secret']}"
    assert program.get("/v/photos/api/status").status_code == 200
    assert program.get("/v/diary/api/status").status_code == 404
    assert program.post("/v/photos/api/notes", json={"text": "x"}).status_code == 403
    ada = client(answers, "ada")
    (listed,) = json(ada, "GET", "/api/team/tokens")["tokens"]
    assert (listed["user"], listed["name"]) == ("Bob", "all") and made["secret"] not in str(listed)
    mine = json(ada, "POST", path, {"name": "mine"}, 201)["token"]["number"]
    json(bob, "DELETE", f"{path}/{mine}", status=404)
    json(ada, "DELETE", f"/api/team/tokens/{listed['number']}")
    assert program.get("/v/photos/api/status").status_code == 401


def test_the_forms_of_the_page_do_the_same_without_scripts(answers: ASGIApp, house: ServerVaults) -> None:
    ada = client(answers, "ada")
    number, diary = numbers(ada)["Bob"], house.identities["diary"]
    form = {"all": "none", f"vault:{house.identities['photos']}": "none", f"vault:{diary}": "write", "owner": "yes"}
    assert ada.post(f"/team/people/{number}/rights", data=form).headers["location"] == "/team"
    account = house.authenticator.accounts.get("bob")
    assert account.is_owner and [grant.vault for grant in account.grants] == [diary]
    assert "The rights of Bob are changed." in ada.get("/team").text
    assert ada.post("/team/invitations", data={"note": "<b>Eve</b>", "all": "read", "days": "3"}).status_code == 303
    page = ada.get("/team").text
    link = re.search(r"http://localhost/invitation#(chyme_invitation_[\w-]{43})", page)
    assert link is not None and "<b>Eve" not in page
    assert link[1] not in ada.get("/team").text  # it is shown once
    answer = stranger(answers).post("/invitation", data={"code": link[1], "name": "Eve", "password": NEW, "again": NEW})
    assert answer.status_code == 303 and "chyme_session" in answer.headers["set-cookie"]
    for path, data in (("password", {"password": NEW}), ("sign-out", {}), ("active", {"active": "no"})):
        assert ada.post(f"/team/people/{number}/{path}", data=data).status_code == 303, path
    assert not house.authenticator.accounts.get("bob").is_active
    assert ada.post(f"/team/people/{number}/rights", data={"all": "admin"}).status_code == 400
    assert ada.post(f"/team/people/{number}/rights", data={"vault:invented": "read"}).status_code == 400
    assert ada.post(f"/team/people/{number}/remove").status_code == 303
    assert sorted(numbers(ada)) == ["Ada", "Eve"]
