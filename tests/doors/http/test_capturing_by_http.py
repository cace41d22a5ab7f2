"""Saving pages with a token that may only add, what phones share, and whose requests are believed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from shared_api import shared_vault_api
from two_vaults import ORIGIN, add_people, answers_of, sign_in, stranger, token_in, two_vaults

from chyme.accounts.permissions import Right
from chyme.application.server_vaults import ServerVaults
from chyme.doors.http.vault_router import ADDING
from chyme.doors.page.rendering import STATIC

pytestmark = pytest.mark.slow

PAGE = "https://example.org/how-to-digest"
PHONE = {"Origin": "null", "Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}
FORM = {"title": (None, "Pelicans"), "text": (None, "look"), "url": (None, PAGE)}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerVaults]:
    with two_vaults(tmp_path_factory.mktemp("capturing")) as opened:
        add_people(opened)
        yield opened


def adder(house: ServerVaults, http: TestClient, vault: str | None = "photos", owner: str | None = "Ada") -> TestClient:
    chosen = (house.identities[vault], vault) if vault is not None else None
    token = house.authenticator.tokens.add("bookmarklet", Right.ADD, chosen, owner)
    http.headers["Authorization"] = f"Bearer {token.secret}"
    return http


def root(house: ServerVaults, name: str) -> Path:
    return house.vaults[name].vault.root


def test_a_page_is_saved_with_its_title_and_selection(house: ServerVaults) -> None:
    http = adder(house, stranger(answers_of(house)))
    body = {"url": PAGE, "title": "How <script>", "text": "what matters"}
    saved = http.post("/v/photos/api/capture", json=body)
    assert saved.status_code == 201
    note = saved.json()["note"]
    assert saved.json()["link"] == {"url": PAGE, "path": "How script.url", "created": True}
    assert "> what matters" in (root(house, "photos") / note).read_text()
    assert http.post("/v/photos/api/capture", json=body).status_code == 200
    assert http.post("/v/photos/api/capture", json={"url": "javascript:alert(1)"}).status_code == 400
    assert http.post("/v/photos/api/capture", json={}).status_code == 400


@pytest.mark.parametrize("vault", ["photos", None])
def test_a_token_that_may_only_add_opens_nothing_else(house: ServerVaults, vault: str | None) -> None:
    http = adder(house, stranger(answers_of(house)), vault)
    routes = [
        (method.upper(), path.replace("{path}", "photos.txt"))
        for path, methods in shared_vault_api(house.vaults["photos"]).openapi()["paths"].items()
        for method in methods
        if path not in ADDING
    ]
    pages = [("GET", path) for path in ("/", "/activity", "/settings", "/file/photos.txt", "/ui/activity/now")]
    others = [("POST", path) for path in ("/share", "/api/capture/", "//api/links", "/api/notes/../tags")]
    assert len(routes) > 50
    for method, path in (*routes, *pages, *others):
        answer = http.request(method, f"/v/photos{path}")
        assert answer.status_code in (403, 404, 405), (method, path, answer.status_code)
        assert "pelican" not in answer.text
    assert http.get("/api/vaults").json() == {"vaults": []}
    assert http.get("/account").status_code == 404
    assert http.post("/v/photos/api/links", json={"url": f"{PAGE}/{vault}"}).status_code == 201
    assert http.post("/v/photos/api/notes", json={"text": f"a note {vault}"}).status_code == 201
    assert http.post("/v/photos/api/upload", files={"file": ("a.txt", b"x")}).status_code in (200, 201)
    assert http.post("/v/diary/api/links", json={"url": f"{PAGE}/other"}).status_code == (404 if vault else 201)


def test_it_never_adds_where_its_owner_may_not(house: ServerVaults) -> None:
    http = adder(house, stranger(answers_of(house)), "photos", "Bob")
    assert http.post("/v/photos/api/links", json={"url": PAGE}).status_code == 404


def test_an_older_chyme_takes_it_for_a_token_that_opens_nothing(house: ServerVaults) -> None:
    """It stands in the table as one for a vault of a name that no vault has."""
    adder(house, stranger(answers_of(house)))
    db = house.authenticator.tokens._database.read()
    assert db is not None
    found = db.execute('SELECT "right", vault FROM tokens ORDER BY id DESC LIMIT 1').fetchone()
    assert found == ("write", f"add:{house.identities['photos']}")
    assert house.authenticator.tokens.list_all()[-1].right == "add"


def test_what_a_phone_shares_is_saved_once_and_shown(house: ServerVaults) -> None:
    http = sign_in(stranger(answers_of(house)), "Ada")
    files = [("files", ("a <b>.txt", b"from a phone")), ("files", ("b.txt", b"another"))]
    shared = http.post("/v/diary/share", files=[*FORM.items(), *files], headers=PHONE)
    assert shared.status_code == 303
    shown = http.get(shared.headers["location"])
    assert shown.status_code == 200
    for path in ("a b.txt", "b.txt", "Pelicans.url", "Pelicans – selection.md"):
        assert (root(house, "diary") / path).exists(), path
        assert path in shown.text
    assert http.get(shared.headers["location"]).status_code == 200
    assert http.get("/v/diary/shared/nothing").status_code == 404
    again = http.get(http.post("/v/diary/share", files=FORM, headers=PHONE).headers["location"])
    assert "was there already" in again.text
    assert http.post("/v/diary/share", files={"title": (None, "")}, headers=PHONE).status_code == 400


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "null", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
        {"Origin": "null", "Sec-Fetch-Mode": "navigate"},
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "none"},
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {},
    ],
)
def test_no_other_site_can_share_into_a_vault(house: ServerVaults, headers: dict[str, str]) -> None:
    http = sign_in(stranger(answers_of(house)), "Ada")
    before = sorted(root(house, "diary").iterdir())
    assert http.post("/v/diary/share", files={"text": (None, "planted")}, headers=headers).status_code == 403
    assert http.post("/v/diary/api/capture", json={"text": "planted"}, headers=headers).status_code == 403
    assert sorted(root(house, "diary").iterdir()) == before


def test_a_server_without_accounts_believes_no_page_either(tmp_path: Path) -> None:
    with two_vaults(tmp_path) as open_house:
        http = stranger(answers_of(open_house))
        for site in ({}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}):
            headers = {"Origin": "null", **site}
            assert http.post("/v/diary/share", files=FORM, headers=headers).status_code == 403
        assert http.post("/v/diary/share", files=FORM, headers=PHONE).status_code == 303


def test_the_exception_for_phones_is_for_sharing_alone(house: ServerVaults) -> None:
    http = sign_in(stranger(answers_of(house)), "Ada")
    assert http.post("/v/diary/api/notes", json={"text": "planted"}, headers=PHONE).status_code == 403


def test_sharing_needs_the_right_to_change_the_vault(house: ServerVaults) -> None:
    assert (
        sign_in(stranger(answers_of(house)), "Bob").post("/v/photos/share", files=FORM, headers=PHONE).status_code
        == 403
    )
    assert stranger(answers_of(house)).post("/v/photos/share", files=FORM, headers=PHONE).headers["location"] == (
        "/capture#lost=1"
    )


def test_the_bookmarklet_is_made_with_a_token_that_is_shown_once(house: ServerVaults) -> None:
    http = sign_in(stranger(answers_of(house)), "Ada")
    made = http.post("/capture/bookmarklet", data={"vault": "diary"}, headers=ORIGIN)
    assert (made.status_code, made.headers["location"]) == (303, "/capture")
    secret = token_in(http.get("/capture").text)
    assert "chyme_" not in http.get("/capture").text.replace("chyme_session", "")
    http = stranger(answers_of(house))
    http.headers["Authorization"] = f"Bearer {secret}"
    assert http.post("/v/diary/api/capture", json={"text": "by hand"}).status_code == 201
    bob = sign_in(stranger(answers_of(house)), "Bob")
    assert bob.post("/capture/bookmarklet", data={"vault": "photos"}, headers=ORIGIN).status_code == 400
    assert stranger(answers_of(house)).post("/capture/bookmarklet", data={"vault": "diary"}).status_code == 401


def test_the_page_says_nothing_of_vaults_to_strangers(house: ServerVaults) -> None:
    shown = stranger(answers_of(house)).get("/capture?vault=diary")
    assert shown.status_code == 200
    assert "diary" not in shown.text and "photos" not in shown.text


def test_each_vault_has_an_app_of_its_own(house: ServerVaults) -> None:
    http = stranger(answers_of(house))
    fixed = json.loads((STATIC / "manifest.webmanifest").read_text())
    assert fixed["share_target"]["action"] == "/share"
    assert {(icon["sizes"], icon["purpose"]) for icon in fixed["icons"]} >= {
        *(("192x192", "any"), ("512x512", "any"), ("192x192", "maskable"), ("512x512", "maskable"))
    }
    own = http.get("/manifest.webmanifest?vault=my%20photos%2F")
    assert own.headers["content-type"] == "application/manifest+json"
    assert own.json()["start_url"] == own.json()["id"] == "/v/my%20photos%2F/"
    assert own.json()["share_target"]["action"] == "/v/my%20photos%2F/share"
    for icon in fixed["icons"]:
        assert http.get(icon["src"]).status_code == 200
    page = sign_in(http, "Ada").get("/v/photos/").text
    assert 'rel="manifest" href="/manifest.webmanifest?vault=photos"' in page
