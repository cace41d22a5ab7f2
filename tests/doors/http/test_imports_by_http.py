"""POST /api/imports: exports of other programs, uploaded, counted, and imported in the background."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from made_exports import BOOKMARKS, household, many_letters, zipped
from two_vaults import ORIGIN, add_people, answers_of, sign_in, stranger, two_vaults
from waiting import wait_until

from chyme.application.app import App, open_app
from chyme.application.settings import Settings


def upload(http: TestClient, source: str, data: bytes, **parameters: Any) -> Any:
    answer = http.post("/api/imports", params={"source": source, **parameters}, content=data)
    assert answer.status_code == 202, answer.text
    return answer.json()


def ended(http: TestClient, number: int, *states: str) -> Any:
    def state() -> str:
        return str(http.get(f"/api/imports/{number}").json()["state"])

    wait_until(lambda: state() in (*states, "failed"))
    return http.get(f"/api/imports/{number}").json()


def uploads_left(app: App) -> list[Path]:
    return [path for path in (app.state / "imports").rglob("*") if path.is_file()]


def test_an_export_is_counted_first_and_imported_when_it_is_started(app: App, http: TestClient, tmp_path: Path) -> None:
    data = zipped(household(tmp_path / ".e"), tmp_path / ".e.zip").read_bytes()

    run = upload(http, "paperless", data, name="export.zip", folder="in", dry_run=True)
    assert run["state"] in ("checking", "checked")
    counted = ended(http, run["id"], "checked")
    assert (counted["state"], counted["summary"]["added"]) == ("checked", 2), counted
    assert not (app.vault.root / "in").exists()

    assert http.post(f"/api/imports/{run['id']}/start").status_code == 200
    done = ended(http, run["id"], "done")
    assert (done["state"], done["summary"]["added"], done["finished_at"] is not None) == ("done", 2, True)
    shown = http.get("/api/files/in/scan 17.txt").json()["file"]
    assert shown["path"] == "in/scan 17.txt"
    assert uploads_left(app) == []
    assert [one["id"] for one in http.get("/api/imports").json()["imports"]] == [run["id"]]


def test_an_import_can_begin_at_once(app: App, http: TestClient) -> None:
    run = upload(http, "bookmarks", BOOKMARKS.encode(), name="b.html", dry_run=False)
    done = ended(http, run["id"], "done")
    assert (done["summary"]["added"], done["summary"]["left_out"]) == (2, 2)


def test_a_cancelled_import_leaves_no_upload(app: App, http: TestClient) -> None:
    run = upload(http, "bookmarks", BOOKMARKS.encode())
    ended(http, run["id"], "checked")
    assert http.post(f"/api/imports/{run['id']}/cancel").json()["state"] == "cancelled"
    assert uploads_left(app) == []
    assert http.post(f"/api/imports/{run['id']}/start").status_code == 400


def test_what_is_no_export_fails_with_a_reason_and_leaves_nothing(app: App, http: TestClient) -> None:
    run = upload(http, "paperless", b"nonsense", name="../x.zip")
    failed = ended(http, run["id"], "checked")
    assert failed["state"] == "failed"
    assert "x.zip: is neither a folder nor an intact zip archive" in failed["problem"]
    assert "/" not in failed["name"]
    assert uploads_left(app) == []


@pytest.mark.parametrize(
    ("parameters", "headers", "content", "status"),
    [
        ({"source": "elsewhere"}, {}, b"x", 422),
        ({"source": "bookmarks"}, {}, b"", 400),
        ({"source": "bookmarks", "folder": "../out"}, {}, b"x", 400),
        ({"source": "bookmarks", "folder": ".chyme"}, {}, b"x", 400),
        ({"source": "bookmarks"}, {"content-type": "text/plain"}, b"x", 415),
        ({"source": "bookmarks"}, {"content-type": "multipart/form-data; boundary=x"}, b"x", 415),
    ],
)
def test_requests_without_sense_are_refused(
    app: App, http: TestClient, parameters: dict[str, str], headers: dict[str, str], content: bytes, status: int
) -> None:
    answer = http.post("/api/imports", params=parameters, headers=headers, content=content)
    assert answer.status_code == status, answer.text
    assert http.get("/api/imports").json() == {"imports": []}
    assert uploads_left(app) == []


def test_an_import_that_a_restart_interrupted_is_continued(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    root.mkdir()
    data = zipped(many_letters(tmp_path / "e", 120), tmp_path / "e.zip").read_bytes()
    with open_app(root) as app:
        receiver = app.imports.receive("paperless", "e.zip", "in", None)
        receiver.feed(data)
        app.imports.close()  # as a server that is being stopped: nothing is worked on any more
        run = receiver.finish("paperless", "in", dry_run=False)
        receiver.close()
        assert app.imports.run(run.id).state == "running"
    with open_app(root) as app:
        app.imports.resume()
        wait_until(lambda: app.imports.run(run.id).state != "running")
        assert app.imports.run(run.id).summary.added == 120
        assert uploads_left(app) == []


def test_uploads_are_bounded(tmp_path: Path) -> None:
    with open_app(tmp_path, Settings(upload_bytes=1000)) as app:
        from chyme.doors.http.vault_api import create_vault_api

        with TestClient(create_vault_api(app), base_url="http://localhost") as http:
            answer = http.post("/api/imports", params={"source": "bookmarks"}, content=b"x" * 2000)
            assert answer.status_code == 413
            assert uploads_left(app) == []


def test_only_who_may_write_imports_and_only_who_may_read_sees_imports(tmp_path: Path) -> None:
    with two_vaults(tmp_path) as house:
        add_people(house)
        answers = answers_of(house)
        bob, nobody = sign_in(stranger(answers), "Bob"), stranger(answers)
        path = "/v/photos/api/imports"
        send = {"params": {"source": "bookmarks"}, "content": BOOKMARKS.encode(), "headers": ORIGIN}
        assert bob.post(path, **send).status_code == 403  # type: ignore[arg-type]
        assert bob.post(f"{path}/1/start", headers=ORIGIN).status_code == 403
        assert bob.get(path).status_code == 200
        assert bob.get("/v/diary/api/imports").status_code == 404
        assert nobody.get(path).status_code == 401
        ada = sign_in(stranger(answers), "Ada")
        foreign = {**send, "headers": {"Origin": "https://evil.example"}}
        assert ada.post(path, **foreign).status_code == 403  # type: ignore[arg-type]
        assert ada.post(path, **send).status_code == 202  # type: ignore[arg-type]
