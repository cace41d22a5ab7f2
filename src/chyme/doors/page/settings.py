"""Settings, the vault on disk, and what is installed. All of it is only told."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse

from chyme.application.app import App
from chyme.application.disk_usage import vault_facts
from chyme.application.settings_view import ShownSetting
from chyme.doors.http.routes.settings import examined, only_who_may_write, settings_of
from chyme.doors.page.labels import counted
from chyme.doors.page.rendering import page

_COMMAND = re.compile(
    r"chyme weights [\w-]+|pip install [\w.-]+|apt-get install [\w.-]+|make llm|sysctl [\w.]+=\w+|chyme doctor"
)


def add_routes(api: FastAPI, app: App) -> None:
    """Add these pages to the HTTP face of an opened vault."""

    @api.get("/settings")
    def settings(request: Request) -> HTMLResponse:
        """The page; who may only read sees how it looks and what is in the trash, and nothing of this machine."""
        known = settings_of(app) if getattr(request.state, "may_write", True) else None
        topics = _by_topic(known.settings) if known else []
        return page(request, "settings.html", active="settings", known=known, topics=topics, counted=counted)

    @api.get("/ui/settings/vault")
    def vault(request: Request) -> HTMLResponse:
        """The vault on disk."""
        only_who_may_write(request)
        return page(request, "settings_vault.html", facts=vault_facts(app), counted=counted)

    @api.get("/ui/settings/doctor")
    def doctor(request: Request) -> HTMLResponse:
        """What is installed, what is missing, and how to get it."""
        only_who_may_write(request)
        found = sorted(examined(app), key=lambda engine: (engine.ok, not engine.how))  # what can be done comes first
        engines = [(engine, _COMMAND.findall(engine.how)) for engine in found]
        return page(request, "settings_doctor.html", engines=engines, counted=counted)


def _by_topic(settings: Sequence[ShownSetting]) -> list[tuple[str, list[ShownSetting]]]:
    """First, once more, those that are other than they were made."""
    changed = [one for one in settings if one.given or one.after_restart is not None]
    topics = [(topic, list(some)) for topic, some in groupby(settings, lambda one: one.topic)]
    return [("Changed", changed), *topics] if changed else topics
