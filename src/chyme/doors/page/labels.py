"""Labels and formats of the pages: digesters, counts, durations, prices."""

from __future__ import annotations

from chyme.application.app import App
from chyme.digester import Digester

STATES = {
    "processing": ("Being digested", "grey"),
    "stale": ("Standing still", "amber"),
    "completed": ("Ready", "green"),
    "needs-classification": ("Needs classification", "amber"),
    "failed": ("Failed", "red"),
}


def labels_of(app: App) -> dict[str, str]:
    """Map each digester and each output to its name for people; no two outputs have the same."""
    digesters = {digester.name: digester.label for digester in app.rules.registry}
    outputs = {output: _label(digester, output) for digester in app.rules.registry for output in digester.outputs}
    return {**digesters, **outputs}


def _label(digester: Digester, output: str) -> str:
    if len(digester.outputs) == 1:
        return digester.label
    return f"{digester.label}: {output.removeprefix(digester.name).strip('-') or output}"


def format_count(count: int, what: str, plural: str | None = None) -> str:
    """Format a count with its noun: 1 file, 2,000 files."""
    return f"{count:,} {what if count == 1 else plural or what + 's'}"


def format_duration(seconds: float) -> str:
    """Format a rough duration."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h" if seconds < 36000 else f"{round(seconds / 3600):,} h"


def format_time_left(seconds: float) -> str:
    """Format the remaining time for people who wait; the script of the page formats it alike."""
    if seconds < 50:
        return "under a minute"
    if seconds < 5400:
        return f"about {max(1, round(seconds / 60))} min"
    return f"about {round(seconds / 3600)} h" if seconds < 36 * 3600 else f"about {round(seconds / 86400)} days"


def format_dollars(cost: float | None) -> str:
    """Format a price; small ones with more digits, so that nothing looks free that is not."""
    if cost is None:
        return "price unknown"
    return f"${cost:,.2f}" if cost == 0 or cost >= 0.1 else f"${cost:.4f}"
