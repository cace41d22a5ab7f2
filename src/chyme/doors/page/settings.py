"""The settings page: settings and forms that change some of them, the vault on disk, and what is installed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse

from chyme.application.app import App
from chyme.application.digester_config import CHOICES
from chyme.application.settings_view import SettingsView, SettingView
from chyme.doors.http.routes.settings import (
    may_set,
    require_right_to_set,
    require_write_access,
    run_doctor,
    settings_of,
)
from chyme.doors.page.rendering import page
from chyme.errors import UsageError

_MODELS = {
    "Language model": ("llm", "Texts"),
    "Model that sees": ("vision", "Pictures"),
    "Speech and voices": ("speech", "Recordings"),
    "Embeddings": ("embedding", "Passages of texts, and what people search for,"),
}
_COMMAND = re.compile(
    r"chyme weights [\w-]+|pip install (?:'chyme\[\w+\]'|[\w.-]+)|apt-get install [\w.-]+(?: tesseract-[\w.-]+)*|"
    r"make llm|sysctl [\w.]+=\w+|chyme doctor"
)


def add_routes(api: FastAPI, app: App) -> None:
    @api.get("/settings")
    def settings(request: Request) -> HTMLResponse:
        """The page; visitors who may only read see the appearance and the trash, and nothing of this machine."""
        view = settings_of(app) if getattr(request.state, "may_write", True) else None
        topics = _by_topic(view.settings) if view else []
        forms = _forms_context(app, view) if view and may_set(request) else {}
        return page(request, "settings.html", active="settings", known=view, topics=topics, **forms)

    @api.get("/ui/settings/forms")
    def forms(request: Request) -> HTMLResponse:
        """The forms that change settings, and private patterns."""
        require_right_to_set(request)
        view = settings_of(app)
        return page(request, "settings_forms.html", known=view, **_forms_context(app, view))

    @api.get("/ui/settings/vault")
    def vault(request: Request) -> HTMLResponse:
        """The vault on disk."""
        require_write_access(request)
        return page(request, "settings_vault.html", facts=app.disk_usage())

    @api.get("/ui/settings/doctor")
    def doctor(request: Request) -> HTMLResponse:
        """What is installed, what is missing, and how to get it."""
        require_write_access(request)
        # fixable problems come first
        sorted_engines = sorted(run_doctor(app), key=lambda engine: (engine.ok, not engine.how))
        engines = [(engine, _COMMAND.findall(engine.how)) for engine in sorted_engines]
        return page(request, "settings_doctor.html", engines=engines)


def _by_topic(settings: Sequence[SettingView]) -> list[tuple[str, list[SettingView]]]:
    """Group the settings by topic. A first group repeats those that differ from their defaults."""
    changed = [setting for setting in settings if setting.given or setting.after_restart is not None]
    topics = [(topic, list(group)) for topic, group in groupby(settings, lambda setting: setting.topic)]
    return [("Changed", changed), *topics] if changed else topics


@dataclass(frozen=True, slots=True)
class FormGroup:
    """Settings of one topic that may be set from the page."""

    topic: str
    settings: tuple[SettingView, ...]
    model: str = ""  # how the settings of the model begin that can be tried; empty: none
    sends: str = ""  # what that model is sent

    @property
    def state(self) -> str:
        """What is shown beside the topic."""
        changed = sum(setting.given for setting in self.settings)
        return f"{changed} changed" if changed else "as by default"


@dataclass(frozen=True, slots=True)
class PrivateForm:
    """The form for private patterns; locked if the file cannot be changed from here."""

    text: str
    etag: str
    patterns: int
    problem: str | None
    locked: bool = False


def _forms_context(app: App, view: SettingsView) -> dict[str, Any]:
    settable = [setting for setting in view.settings if setting.effect is not None]
    groups = [
        FormGroup(topic, tuple(group), *_MODELS.get(topic, ("", "")))
        for topic, group in groupby(settable, lambda setting: setting.topic)
    ]
    try:
        private = PrivateForm(**asdict(app.private_patterns.read()))
    except UsageError as error:
        private = PrivateForm("", "", app.private.patterns, str(error), locked=True)
    return {"groups": groups, "choices": CHOICES, "private": private}
