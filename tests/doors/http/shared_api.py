"""The HTTP application of a vault, built once and not for every test: its hundred routes take a tenth of a second."""

from __future__ import annotations

from typing import Any, cast

from fastapi import FastAPI

from chyme.application.app import App
from chyme.doors.http.vault_api import create_vault_api


class CurrentApp:
    """Stands for the application of the running test."""

    def __init__(self, app: App) -> None:
        self.current: App | None = app

    def __getattr__(self, name: str) -> Any:
        return getattr(self.current, name)


_built: list[tuple[CurrentApp, FastAPI]] = []


def shared_vault_api(app: App) -> FastAPI:
    """What `create_vault_api` makes, until `release` is called."""
    for stand_in, api in _built:
        if stand_in.current is None or stand_in.current is app:
            stand_in.current = app
            return api
    stand_in = CurrentApp(app)
    _built.append((stand_in, create_vault_api(cast("App", stand_in))))
    return _built[-1][1]


def release() -> None:
    """Let the next test use what was built."""
    for stand_in, _ in _built:
        stand_in.current = None
