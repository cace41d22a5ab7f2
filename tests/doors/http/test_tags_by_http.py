"""/api/tags and the page of tags: which tags there are, and what people decide about them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from described_vault import classify, put
from fastapi.testclient import TestClient

from chyme.application.app import App, open_app
from chyme.application.settings import Settings
from chyme.doors.http.vault_api import create_vault_api
from chyme.understanding.edit_rules import EditRequest

pytestmark = pytest.mark.slow  # each takes little time, but there are many

EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with open_app(tmp_path, Settings()) as opened:
        classify(opened, put(opened, "a.txt"), "A", None, "letter", "dog", "read/write")
        classify(opened, put(opened, "b.txt"), "B", None, "letter", "dogs")
        yield opened


def names(http: TestClient, **params: Any) -> list[str]:
    answer = http.get("/api/tags", params=params)
    assert answer.status_code == 200, answer.text
    return [tag["name"] for tag in answer.json()["tags"]]


def test_tags_are_listed_with_their_files_most_used_first(http: TestClient) -> None:
    payload = http.get("/api/tags").json()
    assert payload["tags"][0] == {"name": "letter", "files": 2, "by_machine": 2, "by_person": 0}
    assert payload["total"] == 4
    assert (payload["banned"], payload["becomes"]) == ([], {})


def test_tags_are_filtered_sorted_and_paged(http: TestClient) -> None:
    assert names(http, prefix="do") == ["dog", "dogs"]
    assert names(http, prefix="DO", limit=1) == ["dog"]
    assert names(http, contains="wr") == ["read/write"]
    assert names(http, sort="name") == ["dog", "dogs", "letter", "read/write"]
    assert names(http, sort="name", limit=2, offset=1) == ["dogs", "letter"]
    assert http.get("/api/tags", params={"prefix": "do", "limit": 1}).json()["total"] == 2


def test_a_tag_lists_its_files_and_may_contain_a_slash(http: TestClient) -> None:
    payload = http.get("/api/tags/read/write").json()
    assert payload["tag"]["name"] == "read/write"
    assert payload["files"] == [{"path": "a.txt", "title": "A", "by_person": False}]


def test_an_unknown_tag_is_not_found(http: TestClient) -> None:
    answer = http.get("/api/tags/whale")
    assert (answer.status_code, answer.json()["title"]) == (404, "Not Found")


def test_a_tag_called_like_a_route_is_reached_in_capitals(app: App, http: TestClient) -> None:
    classify(app, put(app, "c.txt"), "C", None, "similar")
    assert http.get("/api/tags/Similar").json()["tag"]["name"] == "similar"


def test_renaming_is_done_on_all_files_and_undone(http: TestClient) -> None:
    done = http.post("/api/tags/rename", json={"old": "letter", "new": "Post"}).json()
    assert (done["done"], done["files"], done["tag"]["name"]) == ("renamed “letter” to “post”", 2, "post")
    assert http.post("/api/tags/undo").json()["done"] == "undone: renamed “letter” to “post”"
    assert "letter" in names(http)


def test_merging_banning_and_allowing_again(http: TestClient) -> None:
    merged = http.post("/api/tags/merge", json={"into": "dog", "others": ["dogs"]}).json()
    assert (merged["files"], merged["tag"]["files"]) == (2, 2)
    assert http.post("/api/tags/ban", json={"tag": "letter"}).status_code == 200
    payload = http.get("/api/tags").json()
    assert (payload["banned"], payload["becomes"]) == (["letter"], {"dogs": "dog"})
    assert http.post("/api/tags/unban", json={"tag": "letter"}).status_code == 200
    assert http.get("/api/tags").json()["banned"] == []


def test_tags_spelt_alike_are_proposed_to_be_merged(http: TestClient) -> None:
    pairs = http.get("/api/tags/similar").json()["similar"]
    assert [{pair["one"], pair["other"]} for pair in pairs] == [{"dog", "dogs"}]
    html = http.get("/ui/tags/similar").text
    assert 'data-one="dog"' in html and 'data-other="dogs"' in html


@pytest.mark.parametrize(
    ("route", "body", "status"),
    [
        ("rename", {"old": "whale", "new": "fish"}, 400),
        ("rename", {"old": "letter", "new": "\0"}, 400),
        ("rename", {"old": "letter", "new": "x" * 201}, 422),
        ("rename", {"old": "letter"}, 422),
        ("merge", {"into": "dog", "others": []}, 422),
        ("merge", {"into": "dog", "others": ["dog"]}, 400),
        ("ban", {"tag": ""}, 422),
        ("ban", {"tag": "a, b"}, 400),
        ("ban", {"tag": "dog", "more": 1}, 422),
        ("unban", {"tag": "dog"}, 400),
        ("undo", None, 400),
    ],
)
def test_nonsense_is_refused_with_a_sentence(
    http: TestClient, route: str, body: dict[str, object] | None, status: int
) -> None:
    answer = http.post(f"/api/tags/{route}", json=body)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"]


@pytest.mark.parametrize("name", ["%00", "..%2F..", "%ED%A0%80", "a%2Cb", "%20"])
def test_odd_names_cause_no_server_error(http: TestClient, name: str) -> None:
    assert http.get(f"/api/tags/{name}").status_code in (400, 404)


def test_the_page_shows_tags_that_lead_to_their_files_and_escapes_everything(app: App, http: TestClient) -> None:
    app.edits.change("a.txt", EditRequest({}, ["cats & dogs"]))
    html = http.get("/tags").text
    assert 'href="/?tag=cats%20%26%20dogs"' in html
    assert "cats &amp; dogs" in html
    assert EVIL not in http.get("/tags", params={"q": EVIL}).text


def test_the_page_says_so_when_there_are_none(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with open_app(tmp_path / "empty", Settings()) as app, TestClient(create_vault_api(app)) as http:
        assert "There are no tags yet" in http.get("/tags").text


def test_many_tags_are_sent_in_parts(app: App, http: TestClient) -> None:
    file = put(app, "many.txt")
    classify(app, file, "Many", None, *(f"tag {number:04}" for number in range(5000)))
    page = http.get("/tags", params={"sort": "name", "q": "tag"})
    assert page.text.count('class="tag-row"') == 120
    assert 'data-next="120"' in page.text
    following = http.get("/ui/tags/list", params={"sort": "name", "q": "tag", "offset": 4920}).text
    assert following.count('class="tag-row"') == 80
    assert "data-next" not in following
