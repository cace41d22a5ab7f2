"""An empty vault, and its HTTP face."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from chyme.application.app import App, open_app
from chyme.doors.http.vault_api import create_vault_api


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with open_app(tmp_path) as opened:
        yield opened


@pytest.fixture
def http(app: App) -> Iterator[TestClient]:
    with TestClient(create_vault_api(app), base_url="http://localhost") as client:
        yield client
