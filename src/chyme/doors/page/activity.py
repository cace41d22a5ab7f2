"""What is going on: digestion, failures by cause, what is out of date, jobs, and what models cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse

from chyme.application.app import App
from chyme.application.recent_events import describe_events
from chyme.core.clock import now
from chyme.core.store import events
from chyme.doors.page.cost_chart import HEIGHT, WIDTH, cost_bars
from chyme.doors.page.labels import STATES, format_count, format_dollars, format_duration, format_time_left, labels_of
from chyme.doors.page.rendering import page

DAYS = 30
JOBS = 8  # those that are not over come first
SHOWN, LOOKED_AT = 25, 200  # of what happened lately: most files have several events
Part = Literal["now", "states", "failures", "jobs", "outdated", "vanished", "models", "lately"]


def add_routes(api: FastAPI, app: App) -> None:
    """Add these pages to the HTTP application of an opened vault."""
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "now": lambda: {"told": app.progress.report().as_json()},
        "states": lambda: {"counts": app.documents.states(), "states": STATES},
        "failures": lambda: {"groups": app.failures.groups()},
        "jobs": lambda: {"jobs": app.bulk.list_jobs()[:JOBS]},
        "outdated": lambda: {"outdated": app.list_outdated([], [])},
        "vanished": lambda: _vanished(app),
        "models": lambda: _models(app),
        "lately": lambda: {"lately": describe_events(events.latest(app.database.read(), LOOKED_AT), SHOWN)},
    }

    @api.get("/activity")
    def activity(request: Request) -> HTMLResponse:
        """The page; what takes long to count comes by itself."""
        told: dict[str, Any] = {"older": app.documents.outdated()}
        for name, part in parts.items():
            if name != "outdated":
                told |= part()
        return page(request, "activity.html", active="activity", **_words(app), **told)

    @api.get("/ui/activity/{part}")
    def fragment(request: Request, part: Part) -> HTMLResponse:
        """One part of the page, as it is now."""
        return page(request, f"activity_{part}.html", **_words(app), **parts[part]())


def _words(app: App) -> dict[str, Any]:
    return {
        "counted": format_count,
        "long": format_duration,
        "left": format_time_left,
        "dollars": format_dollars,
        "labels": labels_of(app),
    }


def _vanished(app: App) -> dict[str, Any]:
    return {
        "vanished": app.list_vanished(),
        "purge_waits": app.purge_blocker(),
        "purge_days": app.settings.purge_after_days,
    }


def _models(app: App) -> dict[str, Any]:
    return {
        "standings": app.spending.standings(),
        "chart": cost_bars(app.spending.accounts("day", DAYS), now().date(), DAYS),
        "by_digester": app.spending.accounts("digester", DAYS),
        "by_model": app.spending.accounts("model", DAYS),
        "private_patterns": app.private.patterns,
        "days": DAYS,
        "width": WIDTH,
        "height": HEIGHT,
    }
