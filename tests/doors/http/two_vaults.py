"""A server with two vaults, and people with different rights to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from fastapi.testclient import TestClient
from shared_api import shared_vault_api
from starlette.types import ASGIApp

from chyme.accounts.permissions import Right
from chyme.application.server_vaults import ServerVaults, open_server_vaults
from chyme.application.settings import Settings
from chyme.doors.http import server_api

PASSWORD = "correct horse battery"
ORIGIN = {"Origin": "http://localhost"}


@contextmanager
def two_vaults(folder: Path, settings: Settings | None = None) -> Iterator[ServerVaults]:
    """`photos` and `diary`, each with a file that the other does not have."""
    for name, text in (("photos", "a pelican on the beach"), ("diary", "a secret about pelicans")):
        (folder / name).mkdir()
        (folder / name / f"{name}.txt").write_text(text)
    chosen = replace(settings or Settings(), server_dir=str(folder / "server"))
    with open_server_vaults([folder / "photos", folder / "diary"], chosen) as house:
        for app in house.vaults.values():
            app.scan_and_settle()
        yield house


def add_people(house: ServerVaults) -> None:
    """Ada may do everything; Bob may read photos, and nothing else."""
    house.authenticator.accounts.add("Ada", PASSWORD, Right.WRITE)
    house.authenticator.accounts.add("Bob", PASSWORD)
    house.authenticator.accounts.grant("Bob", (house.identities["photos"], "photos"), Right.READ)


def stranger(answers: ASGIApp, base_url: str = "http://localhost", peer: str = "127.0.0.1") -> TestClient:
    """A client that knows the address and is not signed in."""
    return TestClient(answers, base_url, raise_server_exceptions=False, follow_redirects=False, client=(peer, 50000))


def sign_in(http: TestClient, name: str, password: str = PASSWORD) -> TestClient:
    """Sign the client in, and return it."""
    answer = http.post("/login", data={"name": name, "password": password})
    assert answer.status_code == 303, answer.text
    return http


def answers_of(house: ServerVaults, bound: str = "127.0.0.1") -> ASGIApp:
    with patch.object(server_api, "create_vault_api", shared_vault_api):
        return server_api.create_server_app(house, bound)


def token_in(page: str) -> str:
    """The secret that a page shows once."""
    found = re.search(r"chyme_[\w-]{43}", page)
    assert found is not None
    return found[0]
