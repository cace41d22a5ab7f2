"""The routes about settings and installed programs. What names a program or a folder is only shown: see Effect."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from chyme.accounts.permissions import Visitor
from chyme.application.app import App
from chyme.application.doctor import Engine, doctor
from chyme.application.settings_changes import RefusedSettings, SettingsConflict
from chyme.application.settings_view import SettingsView, view_settings, without_secrets_of
from chyme.core.files.vault_folder import STATE
from chyme.doors.http.problem_details import problem_response
from chyme.doors.http.request_bodies import RequestBody
from chyme.vault.private_files import MAX_BYTES

Value = bool | int | float | str


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
    effect: str | None
    locked: str | None


class AllSettings(BaseModel):
    """Every setting, by topic, and what is wrong with settings.toml now."""

    file: str
    problem: str | None
    etag: str
    settings: list[Setting]


class SettingChanges(RequestBody):
    """What to set; null removes a setting from the file. `etag`: the file that was seen before."""

    values: dict[Annotated[str, Field(max_length=100)], Value | None] = Field(min_length=1, max_length=200)
    etag: str | None = Field(None, max_length=100)


class StoredSettings(BaseModel):
    """Which settings were stored, and when they take effect."""

    at_once: list[str]
    after_restart: list[str]
    etag: str


class Trial(RequestBody):
    """Which model to ask once, and values that are not stored."""

    model: Literal["llm", "vision", "speech", "embedding"]
    values: dict[Annotated[str, Field(max_length=100)], Value | None] = Field(default_factory=dict, max_length=200)


class TriedModel(BaseModel):
    """What came of the trial."""

    ok: bool
    model: str
    seconds: float
    message: str


class PrivateText(BaseModel):
    """The content of .chymeprivate."""

    text: str
    etag: str
    patterns: int
    problem: str | None


class NewPrivateText(RequestBody):
    """New content of .chymeprivate. `etag`: the file that was seen before."""

    text: str = Field(max_length=MAX_BYTES)
    etag: str | None = Field(None, max_length=100)


class ProposedPatterns(RequestBody):
    """Patterns to count files with."""

    text: str = Field(max_length=MAX_BYTES)


class PatternsPreview(BaseModel):
    """How many files these patterns would make private."""

    patterns: int
    files: int
    of: int
    examples: list[str]
    disclosed: int


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

    @api.patch("/api/settings", response_model=StoredSettings)
    def change(request: Request, changes: SettingChanges) -> Any:
        """Check settings and store them in settings.toml. Nothing is stored if anything is refused."""
        require_right_to_set(request)
        try:
            stored = app.settings_editor.store(changes.values, changes.etag)
        except (RefusedSettings, SettingsConflict) as error:
            return _refusal(error)
        return {**asdict(stored), "etag": app.settings_editor.etag()}

    @api.post("/api/settings/try", response_model=TriedModel)
    def try_model(request: Request, trial: Trial) -> Any:
        """Ask a model once with values that are not stored. The call counts in its budget."""
        require_right_to_set(request)
        try:
            settings = app.settings_editor.check(trial.values) if trial.values else app.settings
        except RefusedSettings as error:
            return _refusal(error)
        return asdict(app.model_trial.run(trial.model, settings))

    @api.get("/api/private", response_model=PrivateText)
    def private(request: Request) -> dict[str, Any]:
        """The patterns of files that no model outside may see."""
        require_write_access(request)
        return asdict(app.private_patterns.read())

    @api.put("/api/private", response_model=PrivateText)
    def set_private(request: Request, new: NewPrivateText) -> Any:
        """Replace these patterns. They apply at once."""
        require_right_to_set(request)
        try:
            return asdict(app.private_patterns.store(new.text, new.etag))
        except SettingsConflict as error:
            return _refusal(error)

    @api.post("/api/private/preview", response_model=PatternsPreview)
    def preview(request: Request, proposed: ProposedPatterns) -> dict[str, Any]:
        """Count the files that these patterns would make private."""
        require_write_access(request)
        return asdict(app.private_patterns.preview(proposed.text))

    @api.get("/api/doctor", response_model=Doctor)
    def installed(request: Request) -> dict[str, Any]:
        """What is installed, what is missing, and how to get it. Checks programs, and may take a second."""
        require_write_access(request)
        return {"engines": [vars(engine) for engine in run_doctor(app)]}


def require_write_access(request: Request) -> None:
    """Settings reveal folders, programs and addresses of this machine: read access is not enough."""
    if not getattr(request.state, "may_write", True):
        raise HTTPException(403, "settings are only shown to those who may change this vault; ask its owner")


def require_right_to_set(request: Request) -> None:
    """Settings decide what leaves this machine and what it costs: where there are accounts, only owners set them."""
    require_write_access(request)
    if not may_set(request):
        raise HTTPException(403, "only owners set settings; ask one of them")


def may_set(request: Request) -> bool:
    """Whether the visitor may set settings. A token never does, as it manages no accounts either."""
    visitor: Visitor | None = getattr(request.state, "visitor", None)
    return getattr(request.state, "may_write", True) and (visitor is None or visitor.is_owner)


def _refusal(error: RefusedSettings | SettingsConflict) -> Response:
    if isinstance(error, SettingsConflict):
        return problem_response(409, str(error))
    return problem_response(422, str(error), more={"problems": error.problems})


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
