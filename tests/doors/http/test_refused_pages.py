"""What browsers are shown where something went wrong: a page with a way back; programs get problem details."""

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

pytestmark = pytest.mark.slow  # a little each, and they are many

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
    shown = http.get(path, headers=BROWSER)
    assert shown.status_code == 404
    assert "<h1>There is nothing here</h1>" in shown.text and "No page of chyme has this address." in shown.text
    assert 'class="btn btn-primary" href="/v/photos/"' in shown.text or "To the vaults" in shown.text
    assert ('aria-label="Pages"' in shown.text) == path.startswith("/v/photos/")  # a vault's own pages
    assert http.get(path).headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "path", ["/api/nowhere", "/v/photos/api/nowhere", "/v/photos/ui/file/parts?path=no", "/v/no/api/status"]
)
def test_programs_and_scripts_are_told_in_json_whatever_they_accept(http: TestClient, path: str) -> None:
    told = http.get(path, headers=BROWSER)
    assert (told.status_code, told.headers["content-type"]) == (404, "application/problem+json")


def test_whoever_has_no_account_reads_how_to_make_one(http: TestClient) -> None:
    shown = http.get("/account", headers=BROWSER)
    assert (
        shown.status_code == 404 and "There is no account here; &#39;chyme users add NAME&#39; makes one." in shown.text
    )


def test_a_wrong_method_is_told_in_words_and_keeps_its_header(http: TestClient) -> None:
    shown = http.get("/logout", headers=BROWSER)
    assert (shown.status_code, shown.headers["allow"]) == (405, "POST")
    assert "<h1>That did not work</h1>" in shown.text


def test_a_value_that_makes_no_sense_is_told_in_the_vault(http: TestClient) -> None:
    shown = http.get("/v/photos/people/abc", headers=BROWSER)
    assert shown.status_code in (404, 422) and 'aria-label="Pages"' in shown.text


def test_a_fault_of_ours_shows_nothing_of_the_inside(house: ServerVaults) -> None:
    def prepare(face: FastAPI) -> None:
        @face.get("/falls")
        def falls() -> None:
            raise RuntimeError("the inside")

    http = stranger(
        AccessMiddleware(create_server_api(house, prepare), house, addresses_of(house.settings, "127.0.0.1"))
    )
    shown = http.get("/v/photos/falls", headers=BROWSER)
    assert shown.status_code == 500 and "<h1>Something went wrong</h1>" in shown.text
    assert shown.headers["x-request-id"] in shown.text and "the inside" not in shown.text


def test_what_one_may_not_read_looks_like_what_is_not_there(tmp_path: Path) -> None:
    with two_vaults(tmp_path) as house:
        add_people(house)
        bob = sign_in(stranger(answers_of(house)), "bob")
        hidden, nothing = (bob.get(f"/v/{name}/", headers=BROWSER) for name in ("diary", "nope"))
        assert (hidden.status_code, hidden.text) == (404, nothing.text)
