"""An empty vault, and a client of its HTTP API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from fastapi.testclient import TestClient
from shared_api import release, shared_vault_api

from chyme.accounts import passwords
from chyme.application.app import App, open_app


@pytest.fixture(autouse=True)
def quick_passwords(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hashing a password takes 64 MB and a core, by design; tests/accounts and tests/end_to_end really do that."""
    monkeypatch.setattr(passwords, "_hasher", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    passwords._dummy_hash.cache_clear()
    yield
    passwords._dummy_hash.cache_clear()


@pytest.fixture(autouse=True)
def leave_routes_to_others() -> Iterator[None]:
    yield
    release()


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with open_app(tmp_path) as opened:
        yield opened


@pytest.fixture
def http(app: App) -> Iterator[TestClient]:
    with TestClient(shared_vault_api(app), base_url="http://localhost") as client:
        yield client
