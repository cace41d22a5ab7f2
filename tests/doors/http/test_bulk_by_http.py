"""POST /api/digest, jobs, digesters and failures by HTTP."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from chyme.application.app import App, open_app

pytestmark = pytest.mark.slow  # each takes little time, but there are many


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    for name in ("one.txt", "sub/two.txt", "picture.zip"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"words of {name}")
        os.utime(path, (1e9, 1e9))
    with open_app(tmp_path) as opened:
        opened.scan_and_settle()
        yield opened


def fail(app: App, name: str, error: str) -> None:
    failed = "status = 'failed', settled = 1, error_category = 'validation'"
    app.database.write(
        lambda db: db.execute(f"UPDATE digests SET {failed}, error = ? WHERE digester = ?", (error, name))
    )


def test_a_dry_run_says_what_would_be_done(app: App, http: TestClient) -> None:
    answer = http.post("/api/digest", json={"folder": "sub", "digesters": ["search-keyword"], "dry_run": True})
    assert (answer.status_code, answer.json()) == (
        200,
        {"files": 1, "digests": 1, "by_digester": {"search-keyword": 1}, "asks_models": 0, "providers": {}},
    )
    assert app.bulk.list_jobs() == []


def test_a_job_is_started_paused_resumed_and_cancelled(http: TestClient) -> None:
    request = {"query": "kind:text -name:picture", "digesters": ["search-keyword"]}
    answer = http.post("/api/digest", json=request)
    assert answer.status_code == 202
    job = answer.json()["job"]
    assert (job["state"], job["total"], job["done"], job["left"]) == ("running", 2, 0, 2)
    assert http.post("/api/digest", json=request).json()["job"] == job
    for action, state in (("pause", "paused"), ("resume", "running"), ("cancel", "cancelled"), ("resume", "cancelled")):
        assert http.post(f"/api/jobs/{job['id']}/{action}").json()["state"] == state
    assert [row["state"] for row in http.get("/api/jobs").json()["jobs"]] == ["cancelled"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"query": ""}, 400),
        ({"all": True, "query": "x"}, 400),
        ({"paths": ["nowhere"]}, 400),
        ({"paths": [""]}, 400),
        ({"paths": []}, 202),
        ({"all": True, "digesters": ["nobody"]}, 400),
        ({"all": True, "digesters": []}, 400),
        ({"all": True, "mode": "everything"}, 422),
        ({"all": True, "sql": "1"}, 422),
        ({"all": 1, "dry_run": True}, 422),
        ({"all": True, "dry_run": "yes"}, 422),
        ({"paths": ["x" * 4097]}, 422),
        ({"query": 'name:"\0" OR ((', "dry_run": True}, 200),
        ({"folder": "../..", "dry_run": True}, 200),
        ([], 422),
    ],
)
def test_every_request_gets_a_sensible_answer(http: TestClient, body: Any, status: int) -> None:
    assert http.post("/api/digest", json=body).status_code == status


def test_lone_surrogates_are_refused(http: TestClient) -> None:
    json = {"content-type": "application/json"}
    for body in ('"query": "\\ud800"', '"folder": "\\ud800"', '"paths": ["\\ud800"]', '"digesters": ["\\ud800"]'):
        answer = http.post("/api/digest", content=f"{{{body}}}", headers=json)
        assert answer.status_code == 422
        assert "valid string" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/jobs/7/pause", 404),
        ("/api/jobs/0/pause", 422),
        (f"/api/jobs/{10**30}/cancel", 422),
        ("/api/jobs/1/burn", 422),
        ("/api/failures/0123/retry", 404),
    ],
)
def test_unknown_jobs_actions_and_failures_are_refused(http: TestClient, path: str, status: int) -> None:
    answer = http.post(path)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")


def test_digesters_say_what_they_make_of_which_files(http: TestClient) -> None:
    found = {digester["name"]: digester for digester in http.get("/api/digesters").json()["digesters"]}
    assert found["image-ocr"]["kinds"] == ["image"]
    assert found["url-crawl"]["outputs"] == ["url-crawl-content", "url-crawl-html", "url-metadata"]
    assert "text" in found["search-keyword"]["kinds"]
    assert found["search-keyword"]["statuses"]["todo"] == 3
    assert found["tags"]["provider"] is None
    assert all(digester["label"] and digester["description"] for digester in found.values())


def test_the_numbers_of_a_digester_follow_its_digests(app: App, http: TestClient) -> None:
    def statuses() -> dict[str, int]:
        listed = http.get("/api/digesters").json()["digesters"]
        return next(digester["statuses"] for digester in listed if digester["name"] == "search-keyword")

    before = statuses()
    assert (before["todo"], before["failed"]) == (3, 0)
    fail(app, "search-keyword", "it is broken; mend it")
    after = statuses()
    assert (after["todo"], after["failed"]) == (0, 3)
    assert statuses() == after


def test_all_digests_of_a_digester_are_made_again(app: App, http: TestClient) -> None:
    assert http.delete("/api/digesters/search-keyword/digests?dry_run=true").json()["digests"] == 3
    answer = http.delete("/api/digesters/search-keyword/digests")
    assert (answer.status_code, answer.json()["job"]["total"]) == (202, 3)
    assert http.delete("/api/digesters/search-keyword/digests").json() == answer.json()
    assert len(app.bulk.list_jobs()) == 1
    assert http.delete("/api/digesters/nobody/digests").status_code == 404


def test_failures_are_grouped_and_tried_again(app: App, http: TestClient) -> None:
    assert http.get("/api/failures").json() == {"groups": []}
    fail(app, "search-keyword", "it is broken; mend it")
    (group,) = http.get("/api/failures").json()["groups"]
    assert (group["digester"], group["cause"], group["way_out"]) == ("search-keyword", "it is broken", "mend it")
    assert (group["files"], sorted(group["sample_paths"])) == (3, ["one.txt", "picture.zip", "sub/two.txt"])
    assert http.post(f"/api/failures/{group['id']}/retry").json() == {"digests": 3}
    assert http.post(f"/api/failures/{group['id']}/retry").status_code == 404
    assert http.get("/api/failures").json() == {"groups": []}
