"""The settings page: settings, the vault on disk, and what is installed. It is read only."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse

from chyme.application.app import App
from chyme.application.settings_view import SettingView
from chyme.doors.http.routes.settings import require_write_access, run_doctor, settings_of
from chyme.doors.page.rendering import page

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
        return page(request, "settings.html", active="settings", known=view, topics=topics)

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
