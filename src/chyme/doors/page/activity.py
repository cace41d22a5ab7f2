"""The activity page: digestion, workers, failures by cause, outdated digests, jobs, and what models cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Literal

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse

from chyme.application.app import App
from chyme.application.spending import CallTotals
from chyme.core.clock import now
from chyme.doors.page.charts import SERIES, Chart, stacked_bars
from chyme.doors.page.labels import STATES, labels_of
from chyme.doors.page.rendering import format_dollars, page

DAYS = 30
JOBS = 8  # unfinished jobs come first
SHOWN, LOOKED_AT = 25, 200  # lines, and events they are made from: most files have several events
WORKERS = 100  # rows of the table; `chyme workers` lists all
Part = Literal[
    "throughput",
    "now",
    "workers",
    "states",
    "failures",
    "jobs",
    "outdated",
    "vanished",
    "models",
    "mail",
    "lately",
]
WIDTH, HEIGHT, GAP = 600.0, 96.0, 4.0
MIN_HEIGHT = 2.0  # the bar of a day with calls is never invisible


def add_routes(api: FastAPI, app: App) -> None:
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "now": lambda: {"progress": app.progress.report().as_json()},
        "workers": lambda: _workers_context(app),
        "throughput": lambda: _throughput_context(app),
        "states": lambda: {"counts": app.documents.states(), "states": STATES},
        "failures": lambda: {"groups": app.failures.groups()},
        "jobs": lambda: {"jobs": app.bulk.list_jobs()[:JOBS]},
        "outdated": lambda: {"outdated": app.list_outdated([], [])},
        "vanished": lambda: _vanished_context(app),
        "models": lambda: _models_context(app),
        "mail": lambda: {"mailbox": app.mailbox.status() if app.mailbox.settings.enabled else None},
        "lately": lambda: {"lately": app.recent_events(LOOKED_AT, SHOWN)},
    }

    @api.get("/activity")
    def activity(request: Request) -> HTMLResponse:
        """The page. What takes long to count is loaded by the page afterwards."""
        context: dict[str, Any] = {"older": app.documents.outdated()}
        for name, part in parts.items():
            if name not in ("outdated", "throughput"):
                context |= part()
        return page(request, "activity.html", active="activity", labels=labels_of(app), **context)

    @api.get("/ui/activity/{part}")
    def fragment(request: Request, part: Part) -> HTMLResponse:
        """One part of the page, in its current state."""
        return page(request, f"activity_{part}.html", labels=labels_of(app), **parts[part]())


def _vanished_context(app: App) -> dict[str, Any]:
    return {
        "vanished": app.list_vanished(),
        "purge_waits": app.purge_blocker(),
        "purge_days": app.settings.purge_after_days,
    }


def _workers_context(app: App) -> dict[str, Any]:
    """The workers, those that need a person first; nothing where none are set up."""
    report = app.workers_report()
    if report is None:
        return {"workers": None}
    rows = sorted(report.workers, key=lambda worker: worker.set_aside is None)  # otherwise by name, so that none jumps
    return {"workers": report, "worker_rows": rows[:WORKERS], "workers_left_out": max(0, len(rows) - WORKERS)}


def _throughput_context(app: App) -> dict[str, Any]:
    """What ended in each hour of the last day, those outputs first that ended most often; and what they cost."""
    hours = [f"{now() - timedelta(hours=ago):%Y-%m-%dT%H}" for ago in range(23, -1, -1)]
    counts = app.throughput()
    ended: Counter[str] = Counter()
    by_output: dict[str, dict[str, float]] = {}
    for count in counts:
        ended[count.output] += count.completed + count.failed
        by_output.setdefault(count.output, {})[count.hour] = float(count.completed + count.failed)
    outputs = [output for output, _ in ended.most_common()]
    labels = labels_of(app)
    series = {labels.get(output, output): by_output[output] for output in outputs[: SERIES - 1]}
    rest: Counter[str] = Counter()
    for output in outputs[SERIES - 1 :]:
        for hour, amount in by_output[output].items():
            rest[hour] += int(amount)
    if rest:
        series["Others"] = {hour: float(amount) for hour, amount in rest.items()}
    failed = Counter[str]()
    for count in counts:
        failed[count.output] += count.failed
    costs = {totals.name: totals for totals in app.spending.call_totals("digester", 1)}
    return {
        "hours": stacked_bars("Digests that ended in each hour of the last day", "Hour (UTC)", hours, series),
        "ended": [(output, ended[output], failed[output], costs.pop(output, None)) for output in outputs],
        "other_costs": list(costs.values()),
    }


def _daily_chart(app: App) -> Chart:
    """Spending by day and provider; calls where no price is known."""
    totals = app.spending.daily_totals(DAYS)
    priced = any(entry.cost for entry in totals)
    series: dict[str, dict[str, float]] = {}
    for entry in totals:
        series.setdefault(entry.provider, {})[entry.day] = (entry.cost or 0.0) if priced else float(entry.calls)
    days = [(now().date() - timedelta(days=ago)).isoformat() for ago in range(DAYS - 1, -1, -1)]
    if priced:
        return stacked_bars("Dollars by day and provider", "Day", days, series, show=format_dollars)
    return stacked_bars("Calls by day and provider", "Day", days, series)


def _models_context(app: App) -> dict[str, Any]:
    return {
        "standings": app.spending.provider_statuses(),
        "workers_may_read": app.workers_report() is not None,
        "chart": cost_bars(app.spending.call_totals("day", DAYS), now().date(), DAYS),
        "daily": _daily_chart(app),
        "by_digester": app.spending.call_totals("digester", DAYS),
        "by_model": app.spending.call_totals("model", DAYS),
        "private_patterns": app.private.patterns,
        "days": DAYS,
        "width": WIDTH,
        "height": HEIGHT,
    }


@dataclass(frozen=True, slots=True)
class Bar:
    """One day. x, y, width and height are within WIDTH × HEIGHT."""

    day: str
    account: CallTotals | None
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Bars:
    """All days, oldest first; what their height stands for, and the amount of the highest bar."""

    of: str  # dollars, or calls where no price is known
    highest: float
    bars: tuple[Bar, ...]


def cost_bars(accounts: Sequence[CallTotals], today: date, days: int) -> Bars:
    """Return bars for the last days, including days without a call."""
    by_day = {totals.name: totals for totals in accounts}
    priced = any(totals.cost for totals in accounts)
    amounts = {name: (totals.cost or 0.0) if priced else float(totals.calls) for name, totals in by_day.items()}
    highest = max(amounts.values(), default=0.0)
    step = WIDTH / days
    bars = []
    for number in range(days):
        day = (today - timedelta(days=days - 1 - number)).isoformat()
        amount = amounts.get(day, 0.0)
        height = max(MIN_HEIGHT, HEIGHT * amount / highest) if amount else 0.0
        geometry = round(number * step + GAP / 2, 1), round(HEIGHT - height, 1), round(step - GAP, 1), round(height, 1)
        bars.append(Bar(day, by_day.get(day), *geometry))
    return Bars("dollars" if priced else "calls", highest, tuple(bars))
