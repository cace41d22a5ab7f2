"""POST /api/links: a web page is added to the vault."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from two_vaults import ORIGIN, answers_of, stranger, two_vaults

from chyme.application.app import App

pytestmark = pytest.mark.slow  # each takes little time, but there are many

PAGE = "https://example.org/how-to-digest"
NAME = "example.org – how to digest.url"


def test_a_link_is_created_once(app: App, http: TestClient) -> None:
    first = http.post("/api/links", json={"url": PAGE})
    assert (first.status_code, first.json()) == (201, {"url": PAGE, "path": NAME, "created": True})
    again = http.post("/api/links", json={"url": f"<{PAGE}>"})
    assert (again.status_code, again.json()) == (200, {"url": PAGE, "path": NAME, "created": False})
    assert (app.vault.root / NAME).exists()


def test_name_and_folder_may_be_chosen(http: TestClient) -> None:
    made = http.post("/api/links", json={"url": PAGE, "name": "Digestion", "folder": "to read"})
    assert (made.status_code, made.json()["path"]) == (201, "to read/Digestion.url")


@pytest.mark.parametrize(
    "body",
    [
        {"url": "ftp://example.org/"},
        {"url": "https://ada:secret@example.org/"},
        {"url": PAGE, "folder": "../out"},
        {"url": PAGE, "folder": ".chyme"},
        {"url": PAGE, "name": "///"},
        {},
    ],
)
def test_nonsense_is_refused_with_a_sentence(body: dict[str, str], app: App, http: TestClient) -> None:
    answer = http.post("/api/links", json=body)
    assert answer.status_code == 400
    assert len(answer.json()["detail"].split()) > 4
    assert "secret" not in answer.text
    assert list(app.vault.root.glob("**/*.url")) == []


@pytest.mark.parametrize("body", [{"url": 7}, [PAGE], {"url": PAGE, "mode": "0777"}])
def test_a_body_of_the_wrong_form_is_refused(body: object, http: TestClient) -> None:
    assert http.post("/api/links", json=body).status_code == 422


def test_the_page_of_another_site_cannot_add_links(tmp_path: Path) -> None:
    with two_vaults(tmp_path) as house:
        http = stranger(answers_of(house))
        elsewhere = {"Origin": "https://elsewhere.example"}
        assert http.post("/v/photos/api/links", json={"url": PAGE}, headers=elsewhere).status_code == 403
        assert list(house.vaults["photos"].vault.root.glob("**/*.url")) == []
        assert http.post("/v/photos/api/links", json={"url": PAGE}, headers=ORIGIN).status_code == 201
