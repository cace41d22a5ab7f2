"""Where weights are kept when no setting says so: beside Python, or in the user's folder for data."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from chyme.models.weights.catalog import CATALOG, default_folder
from chyme.models.weights.folder import path_of


def fallback_folder(environment: Mapping[str, str]) -> str:
    """Empty if the folder beside Python serves, else the path of a folder of the user's.

    Beside Python is right where this user may write, as in an environment of their own, and where an administrator
    has put weights. Decided where settings are read: children have another user and no home.
    """
    beside = default_folder()
    if _is_writable(beside) or any(path_of(weights, beside) for weights in CATALOG.values()):
        return ""
    data = environment.get("XDG_DATA_HOME", "")
    home = Path(data) if os.path.isabs(data) else Path.home() / ".local/share"
    return str(home / "chyme" / "weights")


def _is_writable(folder: Path) -> bool:
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)
