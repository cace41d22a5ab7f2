"""When something goes wrong, browsers get a page with a way back, and programs get problem details."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from two_vaults import add_people, answers_of, sign_in, stranger, two_vaults

from chyme.application.server_vaults import ServerVaults
from chyme.doors.http.access_middleware import AccessMiddleware
from chyme.doors.http.server_api import addresses_of, create_server_api

pytestmark = pytest.mark.slow  # each takes little time, but there are many

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerVaults]:
    with two_vaults(tmp_path_factory.mktemp("house")) as opened:
        yield opened


@pytest.fixture
def http(house: ServerVaults) -> TestClient:
    return stranger(answers_of(house))


@pytest.mark.parametrize("path", ["/nowhere", "/people", "/v/nope/", "/v/nope", "/v/photos/nowhere"])
def test_an_address_that_leads_nowhere_shows_a_page_with_a_way_back(http: TestClient, path: str) -> None:
    page = http.get(path, headers=BROWSER)
    assert page.status_code == 404
    assert "<h1>There is nothing here</h1>" in page.text and "No page of chyme has this address." in page.text
    assert 'class="btn btn-primary" href="/v/photos/"' in page.text or "To the vaults" in page.text
    assert ('aria-label="Pages"' in page.text) == path.startswith("/v/photos/")  # a vault's own pages
    assert http.get(path).headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "path", ["/api/nowhere", "/v/photos/api/nowhere", "/v/photos/ui/file/parts?path=no", "/v/no/api/status"]
)
def test_programs_and_scripts_get_errors_as_json_whatever_they_accept(http: TestClient, path: str) -> None:
    answer = http.get(path, headers=BROWSER)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


def test_without_accounts_the_account_page_says_how_to_make_one(http: TestClient) -> None:
    page = http.get("/account", headers=BROWSER)
    assert (
        page.status_code == 404 and "There is no account here; &#39;chyme users add NAME&#39; makes one." in page.text
    )


def test_a_wrong_method_is_explained_and_keeps_its_header(http: TestClient) -> None:
    page = http.get("/logout", headers=BROWSER)
    assert (page.status_code, page.headers["allow"]) == (405, "POST")
    assert "<h1>That did not work</h1>" in page.text


def test_a_nonsensical_value_is_reported_on_a_page_of_the_vault(http: TestClient) -> None:
    page = http.get("/v/photos/people/abc", headers=BROWSER)
    assert page.status_code in (404, 422) and 'aria-label="Pages"' in page.text


def test_an_internal_error_reveals_nothing_internal(house: ServerVaults) -> None:
    def prepare(face: FastAPI) -> None:
        @face.get("/falls")
        def falls() -> None:
            raise RuntimeError("the inside")

    http = stranger(
        AccessMiddleware(create_server_api(house, prepare), house, addresses_of(house.settings, "127.0.0.1"))
    )
    page = http.get("/v/photos/falls", headers=BROWSER)
    assert page.status_code == 500 and "<h1>Something went wrong</h1>" in page.text
    assert page.headers["x-request-id"] in page.text and "the inside" not in page.text


def test_a_forbidden_vault_looks_like_a_missing_one(tmp_path: Path) -> None:
    with two_vaults(tmp_path) as house:
        add_people(house)
        bob = sign_in(stranger(answers_of(house)), "bob")
        hidden, nothing = (bob.get(f"/v/{name}/", headers=BROWSER) for name in ("diary", "nope"))
        assert (hidden.status_code, hidden.text) == (404, nothing.text)
