"""The routes about settings and installed programs. They are read only: setting a program would allow running any."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from pydantic import BaseModel, Field

from chyme.application.app import App
from chyme.application.doctor import Engine, doctor
from chyme.application.settings_view import SettingsView, view_settings, without_secrets_of
from chyme.core.files.vault_folder import STATE

Value = str | int | float | bool


class Setting(BaseModel):
    """One setting; `value` is null where it is secret."""

    name: str
    topic: str
    description: str = Field(serialization_alias="told")
    value: Value | None
    default: Value
    source: str
    secret: bool
    given: bool
    after_restart: Value | None
    line: str


class AllSettings(BaseModel):
    """Every setting, by topic, and what is wrong with settings.toml now."""

    file: str
    problem: str | None
    settings: list[Setting]


class Installed(BaseModel):
    """A program or model that chyme works with."""

    capability: str
    engine: str
    ok: bool
    how: str


class Doctor(BaseModel):
    """What is installed, what is missing, and how to get it."""

    engines: list[Installed]


def add_routes(api: FastAPI, app: App) -> None:
    @api.get("/api/settings", response_model=AllSettings)
    def settings(request: Request) -> dict[str, Any]:
        """Every setting, its value and where that comes from; secrets are never shown."""
        require_write_access(request)
        return asdict(settings_of(app))

    @api.get("/api/doctor", response_model=Doctor)
    def installed(request: Request) -> dict[str, Any]:
        """What is installed, what is missing, and how to get it. Checks programs, and may take a second."""
        require_write_access(request)
        return {"engines": [vars(engine) for engine in run_doctor(app)]}


def require_write_access(request: Request) -> None:
    """Settings reveal folders, programs and addresses of this machine: read access is not enough."""
    if not getattr(request.state, "may_write", True):
        raise HTTPException(403, "settings are only shown to those who may change this vault; ask its owner")


def settings_of(app: App) -> SettingsView:
    """Return the settings of a running vault."""
    return view_settings(app.settings, app.vault.root / STATE, os.environ)


def run_doctor(app: App) -> list[Engine]:
    """Return what `chyme doctor` reports, without any secret of the settings."""
    return [
        Engine(engine.capability, _without_secrets(app, engine.engine), engine.ok, _without_secrets(app, engine.how))
        for engine in doctor(app.vault.root, app.settings)
    ]


def _without_secrets(app: App, text: str) -> str:
    return without_secrets_of(app.settings, text)
