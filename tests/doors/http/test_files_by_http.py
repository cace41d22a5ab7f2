"""GET /api/files, /api/folders and the trash over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from described_vault import classify, listed, put
from fastapi.testclient import TestClient

from chyme.application.app import App, open_app

pytestmark = pytest.mark.slow  # each takes little time, but there are many


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with open_app(tmp_path) as opened:
        for number, name in enumerate(("b.txt", "in/a.txt", "in/deep/c.md")):
            classify(opened, put(opened, name), f"Title {number}", f"202{number}-01-02", "all", f"tag{number}")
        yield opened


def test_files_are_paged_by_cursor(http: TestClient) -> None:
    found, cursor = [], None
    while True:
        behind = f"&cursor={cursor}" if cursor else ""
        page = http.get(f"/api/files?sort=name&order=asc&limit=1{behind}").json()
        found += [file["path"] for file in page["files"]]
        cursor = page["next"]
        assert (page["total"], page["total_is_exact"]) == (3, True)
        if cursor is None:
            break
    assert found == ["in/a.txt", "b.txt", "in/deep/c.md"]


def test_a_card_contains_what_a_list_shows(http: TestClient) -> None:
    (file,) = http.get("/api/files", params={"tag": "tag1"}).json()["files"]
    assert {name: file[name] for name in ("path", "name", "kind", "title", "date", "tags", "thumbnail", "pages")} == {
        "path": "in/a.txt",
        "name": "a.txt",
        "kind": "text",
        "title": "Title 1",
        "date": "2021-01-02",
        "tags": ["all", "tag1"],
        "thumbnail": None,
        "pages": None,
    }
    assert file["processing_status"] == "pending" and file["added_at"].endswith("Z")


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("folder=in", ["in/a.txt", "in/deep/c.md"]),
        ("folder=in/deep", ["in/deep/c.md"]),
        ("folder=/in/", ["in/a.txt", "in/deep/c.md"]),
        ("tag=all&tag=tag0", ["b.txt"]),
        ("year=2022", ["in/deep/c.md"]),
        ("kind=text&kind=image&year=2020", ["b.txt"]),
        ("kind=image", []),
        ("state=processing", ["b.txt", "in/a.txt", "in/deep/c.md"]),
        ("state=failed", []),
        ("person=nobody", []),
        ("person=12", []),
        ("tag=none", []),
        ("folder=i", []),
        ("folder=%00", []),
        ("tag=%F0%9F%99%82", []),
        ("folder=" + "x" * 4000, []),
    ],
)
def test_filters_are_combined(http: TestClient, asked: str, found: list[str]) -> None:
    answer = http.get(f"/api/files?sort=date&order=asc&{asked}").json()
    assert ([file["path"] for file in answer["files"]], answer["total"]) == (found, len(found))


@pytest.mark.parametrize(
    "query",
    ["sort=colour", "order=up", "limit=0", "limit=501", "limit=x", "kind=book", "state=odd", "year=24", "year=20244"],
)
def test_nonsense_is_refused(http: TestClient, query: str) -> None:
    assert http.get(f"/api/files?{query}").status_code == 422


@pytest.mark.parametrize("cursor", ["x", "bm9wZQ", "%00", "%F0%9F%99%82", "W10="])
def test_a_forged_cursor_is_refused_in_a_sentence(http: TestClient, cursor: str) -> None:
    answer = http.get(f"/api/files?cursor={cursor}")
    assert answer.status_code == 400 and "start again" in answer.json()["detail"]


def test_a_single_file_is_returned_without_its_digests(app: App, http: TestClient) -> None:
    http.patch("/api/files/in/a.txt", json={"title": "Mine"})
    payload = http.get("/api/files/in/a.txt").json()
    assert (payload["file"]["path"], payload["document"]["title"], payload["edits"]) == (
        "in/a.txt",
        "Mine",
        {"title": "Mine"},
    )
    assert "digests" not in payload and http.get("/api/files/nowhere").status_code == 404


def test_folders_are_listed_one_level_at_a_time(http: TestClient) -> None:
    assert http.get("/api/folders").json() == {"folders": [{"path": "in", "name": "in", "files": 2}]}
    inside = http.get("/api/folders", params={"inside": "in"}).json()
    assert inside == {"folders": [{"path": "in/deep", "name": "deep", "files": 1}]}
    assert http.get("/api/folders", params={"inside": "../\0"}).json() == {"folders": []}


def test_a_file_is_deleted_listed_in_the_trash_and_brought_back(app: App, http: TestClient) -> None:
    trashed = http.delete("/api/files/in/a.txt").json()["trashed"]
    assert trashed["path"] == "in/a.txt" and listed(app) == ["b.txt", "in/deep/c.md"]
    assert http.get("/api/files").json()["total"] == 2
    assert http.get("/api/trash").json() == {"trash": [trashed]}
    restored = http.post(f"/api/trash/{trashed['id']}/restore").json()["restored"]
    assert restored == {"id": trashed["id"], "was": "in/a.txt", "path": "in/a.txt"}
    assert http.get("/api/files/in/a.txt").json()["document"]["title"] == "Title 1"
    assert http.get("/api/trash").json() == {"trash": []}


def test_the_trash_is_emptied_one_by_one_or_at_once(http: TestClient) -> None:
    first, _, _ = (
        http.delete(f"/api/files/{path}").json()["trashed"] for path in ("b.txt", "in/a.txt", "in/deep/c.md")
    )
    assert http.delete(f"/api/trash/{first['id']}").json() == {"deleted": 1}
    assert http.delete(f"/api/trash/{first['id']}").status_code == 404
    assert http.delete("/api/trash").json() == {"deleted": 2}
    assert http.delete("/api/trash").json() == {"deleted": 0}


def test_deleting_a_file_twice_is_reported(http: TestClient) -> None:
    assert http.delete("/api/files/b.txt").status_code == 200
    again = http.delete("/api/files/b.txt")
    assert again.status_code == 404 and "b.txt" in again.json()["detail"]


@pytest.mark.parametrize("id_", ["x", "..", "%2e%2e", "\0", "20260101T000000000000Z-00000000"])
def test_an_id_that_is_not_in_the_trash_is_a_404(http: TestClient, id_: str) -> None:
    assert http.post(f"/api/trash/{quote(id_)}/restore").status_code == 404
    assert http.delete(f"/api/trash/{quote(id_)}x").status_code == 404
