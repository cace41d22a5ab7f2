"""What the pages call states and digesters."""

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
