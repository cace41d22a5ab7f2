"""The time line: files by the date of their documents and by kind, all years or one."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import FastAPI, Query, Request
from fastapi.responses import HTMLResponse

from chyme.application.app import App
from chyme.core.clock import now
from chyme.doors.page.charts import stacked_bars, years_between
from chyme.doors.page.rendering import base_of, page

YEARS = 60  # bars
MONTHS = tuple(f"{month:02}" for month in range(1, 13))


def add_routes(api: FastAPI, app: App) -> None:
    @api.get("/timeline")
    def timeline(request: Request, year: Annotated[str, Query(pattern="^([0-9]{4})?$")] = "") -> HTMLResponse:
        """The page."""
        return page(request, "timeline.html", active="timeline", year=year, **_context(app, base_of(request), year))


def _context(app: App, base: str, year: str) -> dict[str, Any]:
    counts = app.file_list.count_by_time(year or None)
    periods = sorted({count.period for count in counts})
    total = Counter[str]()
    by_kind: dict[str, dict[str, float]] = {}
    for count in counts:
        by_kind.setdefault(count.kind, {})[count.period] = count.files
        total[count.kind] += count.files
    kinds = [kind for kind, _ in total.most_common()]
    shown = [f"{year}-{month}" for month in MONTHS] if year else _years(periods)
    period_filter = f" date:{year}" if year else ""
    return {
        "times": stacked_bars(
            "Files by the date of their documents",
            "Month" if year else "Year",
            shown,
            {kind: by_kind[kind] for kind in kinds},
            href=lambda period: f"{base}/?q={quote(f'date:{period}')}",
        ),
        "kinds": stacked_bars(
            "Files by kind",
            "Kind",
            kinds,
            {"Files": {kind: float(total[kind]) for kind in kinds}},
            href=lambda kind: f"{base}/?q={quote(f'type:{kind}{period_filter}')}",
        ),
        "periods": periods,
        "others": sum(count.files for count in counts if not year and count.period not in shown),
    }


def _years(periods: list[str]) -> list[str]:
    """Return the years to show. A date far in the future, which is mostly a mistake, does not push all others out."""
    likely = [period for period in periods if period <= str(now().year + 1)] or periods
    return years_between(likely[0], likely[-1], YEARS) if likely else []
