"""The route about workers: the machines that take attempts from this vault."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

from chyme.application.app import App


class Run(BaseModel):
    """An attempt that runs on a worker; `seconds` is null while the file is still on its way."""

    run: str
    digester: str
    path: str
    seconds: float | None
    fraction: float


class Worker(BaseModel):
    """One process of a worker; `set_aside` says why it gets no more work."""

    name: str
    instance: str
    host: str
    version: str
    state: str
    places: int
    slowness: float
    running: list[Run]
    done: int
    failed: int
    lost: int
    late: int
    heard_seconds_ago: float
    set_aside: str | None
    makes: list[str]
    misfits: dict[str, str]


class Workers(BaseModel):
    """The workers of a vault. Without the setting workers_url, `enabled` is false and everything else is left out."""

    enabled: bool
    vault: str = ""
    connected: bool = False
    problem: str | None = None
    connections: int = 0
    live: int = 0
    silent: int = 0
    set_aside: int = 0
    running: int = 0
    unfit: int = 0
    summary: str = ""
    waits_for_workers: bool = False
    workers: list[Worker] = []
    waiting: dict[str, int] = {}
    late: int = 0
    fit: list[str] = []


def add_routes(api: FastAPI, app: App) -> None:
    @api.get("/api/workers", response_model=Workers, response_model_exclude_unset=True)
    def workers() -> dict[str, Any]:
        """Workers on other machines: what each does and did, what waits, and why some work fits none of them."""
        report = app.workers_report()
        return {"enabled": False} if report is None else report.as_json()
