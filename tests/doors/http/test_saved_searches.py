"""Saved searches over HTTP: what is new to them, whose they are, and their feeds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from sqlite3 import Connection
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
from described_vault import put
from fastapi.testclient import TestClient
from two_vaults import ORIGIN, add_people, answers_of, sign_in, stranger, two_vaults

from chyme.accounts.permissions import Right
from chyme.application.app import App
from chyme.application.server_vaults import ServerVaults
from chyme.core.clock import now
from chyme.core.store import documents
from chyme.model import iso

pytestmark = pytest.mark.slow

ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[ServerVaults]:
    with two_vaults(tmp_path) as opened:
        yield opened


@pytest.fixture
def photos(house: ServerVaults) -> App:
    return house.vaults["photos"]


@pytest.fixture
def http(house: ServerVaults) -> TestClient:
    """A client of the server while it has no accounts, that sends what its own pages send."""
    client = stranger(answers_of(house))
    client.headers.update(ORIGIN)
    return client


def arrive(app: App, name: str, content: str | bytes = "", title: str | None = None) -> None:
    """Put a file into the vault, or change it, and let its digestion end."""
    file = put(app, name, content or f"some words of {name}")

    def settle(db: Connection) -> None:
        documents.set_state(db, file.id, "processing", "new", False, iso(now()))
        if title is not None:
            documents.describe(db, file.id, title, "It says so.", None, None, ["bird"])
        documents.set_state(db, file.id, "completed", None, False, iso(now()))

    app.database.write(settle)


def save(http: TestClient, name: str = "Texts", query: str = "kind:text", **more: str) -> dict[str, Any]:
    answer = http.post("/v/photos/api/searches", json={"name": name, "query": query, **more})
    assert answer.status_code == 201, answer.text
    saved: dict[str, Any] = answer.json()
    return saved


def new_paths(http: TestClient, number: int = 1) -> list[str]:
    return [file["path"] for file in http.get(f"/v/photos/api/searches/{number}/new").json()["files"]]


def feed_of(http: TestClient, number: int = 1) -> str:
    made = http.post(f"/v/photos/api/searches/{number}/feed")
    assert made.status_code == 201, made.text
    return urlsplit(str(made.json()["address"])).path


def test_what_arrives_after_a_search_was_saved_is_new_until_it_is_seen(http: TestClient, photos: App) -> None:
    arrive(photos, "before.txt")
    assert save(http)["new"] == 0
    arrive(photos, "one.txt")
    arrive(photos, "two.txt")
    arrive(photos, "picture.png", b"\x89PNG\r\n\x1a\n" + bytes(40))
    assert new_paths(http) == ["two.txt", "one.txt"]
    (listed,) = http.get("/v/photos/api/searches").json()["searches"]
    assert listed["new"] == 2
    arrive(photos, "three.txt")
    seen = http.post("/v/photos/api/searches/1/seen", json={"until": listed["newest"]}).json()
    assert seen["new"] == 1 and new_paths(http) == ["three.txt"]  # came after the list was looked at
    assert http.post("/v/photos/api/searches/1/seen").json()["new"] == 0


def test_new_content_is_new_and_digesting_again_is_not(http: TestClient, photos: App) -> None:
    arrive(photos, "one.txt", "words")
    save(http)
    arrive(photos, "one.txt", "words")  # processed again, with the same content
    assert new_paths(http) == []
    (photos.vault.root / "one.txt").rename(photos.vault.root / "moved.txt")
    photos.scan_and_settle()
    assert new_paths(http) == []
    arrive(photos, "moved.txt", "other words, and more of them")
    assert new_paths(http) == ["moved.txt"]


def test_a_number_of_a_deleted_file_is_not_given_again(http: TestClient, photos: App) -> None:
    arrive(photos, "last.txt")
    save(http)
    photos.database.write(lambda db: db.execute("DELETE FROM files WHERE path = 'last.txt'"))
    arrive(photos, "next.txt")
    assert new_paths(http) == ["next.txt"]


def test_words_and_modes_are_saved_with_the_search(http: TestClient, photos: App) -> None:
    save(http, "Named", "harbour", mode="words")
    arrive(photos, "harbour.txt")
    arrive(photos, "street.txt")
    assert new_paths(http) == ["harbour.txt"]
    for wrong in ({"name": "", "query": "x"}, {"name": "x", "query": "  "}, {"name": "x", "query": "y", "mode": "z"}):
        assert http.post("/v/photos/api/searches", json=wrong).status_code in (400, 422), wrong
    twice = http.post("/v/photos/api/searches", json={"name": "NAMED", "query": "x"})
    assert twice.status_code == 400 and "already" in twice.json()["detail"]
    assert http.patch("/v/photos/api/searches/1", json={"name": "Called"}).json()["name"] == "Called"
    assert http.delete("/v/photos/api/searches/1").json() == {"deleted": "Called"}
    assert http.get("/v/photos/api/searches/1/new").status_code == 404


def test_the_page_of_a_saved_search_marks_what_is_new(http: TestClient, photos: App) -> None:
    arrive(photos, "old.txt")
    save(http, "Texts <b>", "kind:text")
    arrive(photos, "fresh.txt")
    text = http.get("/v/photos/?q=kind:text&saved=1").text
    assert "Texts &lt;b&gt;" in text and "1 new since" in text
    assert text.count('<span class="badge badge-new">New</span>') == 1
    assert "badge-new" not in http.get("/v/photos/?q=kind:image&saved=1").text  # another question
    assert "Save search" in http.get("/v/photos/?q=pelican").text
    assert "1 new" in http.get("/v/photos/searches").text


def test_everyone_has_their_own_searches_and_readers_may_save(house: ServerVaults, http: TestClient) -> None:
    save(http, "Of the vault")
    add_people(house)
    answers = answers_of(house)
    ada, bob = (sign_in(stranger(answers), name) for name in ("Ada", "Bob"))
    for client in (ada, bob):
        client.headers.update(ORIGIN)
        assert client.get("/v/photos/api/searches").json() == {"searches": []}
    save(bob, "Mine")
    assert ada.get("/v/photos/api/searches").json() == {"searches": []}
    for method, path in (
        *(
            ("GET", "2/new"),
            ("POST", "2/seen"),
            ("PATCH", "2"),
            ("DELETE", "2"),
            ("POST", "2/feed"),
            ("DELETE", "2/feed"),
        ),
    ):
        body = {"name": "Stolen"} if method == "PATCH" else None
        assert ada.request(method, f"/v/photos/api/searches/{path}", json=body).status_code == 404, (method, path)
    assert bob.post("/v/diary/api/searches", json={"name": "x", "query": "y"}).status_code == 404
    for path in ("/api/shares", "/api/notes", "/api/searchesx"):
        assert bob.post(f"/v/photos{path}", json={}).status_code == 403  # reading is all else they may do
    token = house.authenticator.tokens.add("script", Right.READ, owner="Bob").secret
    program = stranger(answers)
    program.headers.update({"Authorization": f"Bearer {token}"})
    assert [one["name"] for one in program.get("/v/photos/api/searches").json()["searches"]] == ["Mine"]
    assert program.post("/v/photos/api/searches/2/feed").status_code == 403  # a token to read changes nothing


def test_a_feed_tells_what_came_last(http: TestClient, photos: App) -> None:
    save(http, "Birds & <b>", "kind:text")
    arrive(photos, "first.txt", title="A <script> & \ud83d\udc26"[:13])
    arrive(photos, "a b/second ü.txt")
    address = feed_of(http)
    read = http.get(address)
    assert read.headers["content-type"] == "application/atom+xml; charset=utf-8"
    assert read.headers["referrer-policy"] == "no-referrer" and "noindex" in read.headers["x-robots-tag"]
    feed = ElementTree.fromstring(read.text)
    assert feed.findtext(f"{ATOM}title") == "Birds & <b>"
    entries = feed.findall(f"{ATOM}entry")
    assert [entry.findtext(f"{ATOM}title") for entry in entries][1].startswith("A <script> &")  # type: ignore[union-attr]
    links = [entry.find(f"{ATOM}link").get("href") for entry in entries]  # type: ignore[union-attr]
    assert links[0] == "http://localhost/v/photos/file/a%20b/second%20%C3%BC.txt"
    assert feed.findtext(f"{ATOM}updated") == entries[0].findtext(f"{ATOM}updated")
    assert len({entry.findtext(f"{ATOM}id") for entry in entries}) == 2
    for entry in (feed, *entries):
        assert (entry.findtext(f"{ATOM}id") or "").startswith("urn:chyme:") and entry.findtext(f"{ATOM}updated")
    assert address.rpartition("/")[2].removesuffix(".atom") not in read.text
    again = http.get(address, headers={"If-None-Match": read.headers["etag"]})
    assert again.status_code == 304 and not again.content
    assert http.head(address).headers["etag"] == read.headers["etag"]
    arrive(photos, "third.txt")
    third = http.get(address, headers={"If-None-Match": read.headers["etag"]})
    assert third.status_code == 200 and len(ElementTree.fromstring(third.text).findall(f"{ATOM}entry")) == 3


def test_a_feed_has_at_most_fifty_entries_and_no_private_file(http: TestClient, photos: App) -> None:
    save(http)
    for number in range(55):
        arrive(photos, f"{number}.txt")
    arrive(photos, "bank/letter.txt")
    (photos.vault.root / ".chymeprivate").write_text("bank/\n")
    text = http.get(feed_of(http)).text
    assert len(ElementTree.fromstring(text).findall(f"{ATOM}entry")) == 50
    assert "54.txt" in text and "bank" not in text


def test_a_feed_opens_that_feed_and_ends_with_its_owners_right(house: ServerVaults, photos: App) -> None:
    add_people(house)
    answers = answers_of(house)
    bob, reader = sign_in(stranger(answers), "Bob"), stranger(answers)
    bob.headers.update(ORIGIN)
    save(bob)
    arrive(photos, "one.txt")
    address = feed_of(bob)
    secret = address.rpartition("/")[2].removesuffix(".atom")
    assert "one.txt" in reader.get(address).text
    for path in (f"/s/{secret}", f"/feeds/{secret}", "/v/photos/api/status", "/v/photos/file/one.txt", "/metrics"):
        for headers in ({"Authorization": f"Bearer {secret}"}, {"Cookie": f"chyme_session={secret}"}, {}):
            answer = reader.get(path, headers=headers, params={"token": secret})
            assert answer.status_code in (303, 401, 404, 429), path
            assert "one.txt" not in answer.text
    other = feed_of(bob)
    assert reader.get(address).status_code == 404 and reader.get(other).status_code == 200  # made anew
    house.authenticator.accounts.revoke("Bob", (house.identities["photos"], "photos"))
    assert reader.get(other).status_code == 404
    house.authenticator.accounts.grant("Bob", (house.identities["photos"], "photos"), Right.READ)
    assert reader.get(other).status_code == 200
    assert bob.delete("/v/photos/api/searches/1/feed").json()["feed"] is False
    assert reader.get(other).status_code == 404
