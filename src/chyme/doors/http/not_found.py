"""The 404 error for files that are requested by path."""

from __future__ import annotations

from chyme.application.app import App
from chyme.errors import UsageError


class NotFound(UsageError):
    """There is no such file."""


def require_file(app: App, path: str) -> None:
    """Raise NotFound when there is no such file; a file that was just put there is taken in first."""
    if not app.open_vault.has_file(path):
        raise NotFound(f"{path}: is not a file of this vault; one that was put there just now is taken in soon")
