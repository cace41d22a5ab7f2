"""Selects the settings of a backup that may move to another vault: all except where the vault stores its data."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any

LOCAL_SETTINGS = ("state_dir", "server_dir")  # those of the backup would point to data of another vault
_LEFT_OUT = "# left out by 'chyme restore': "


def merge_settings(backed_up: str, here: Mapping[str, Any]) -> str:
    """Return the backed up settings.toml with the local settings of this vault. ValueError if it is not TOML."""
    try:
        settings = tomllib.loads(backed_up)
    except RecursionError as error:
        raise ValueError("is nested too deep") from error
    local = {name: here[name] for name in LOCAL_SETTINGS if name in here}
    wanted = {name: value for name, value in settings.items() if name not in LOCAL_SETTINGS} | local
    if settings == wanted:
        return backed_up
    text = "".join(
        f"{line}\n" for line in [*map(_format, local, local.values()), *map(_without_local, backed_up.split("\n"))]
    )
    return text if _parses_to(text, wanted) else _rewrite(wanted)


def _without_local(line: str) -> str:
    """Return the line, commented out if it is a local setting."""
    try:
        settings = tomllib.loads(line)
    except (ValueError, RecursionError):
        return line
    return _LEFT_OUT + line.strip() if settings.keys() & {*LOCAL_SETTINGS} else line


def _parses_to(text: str, wanted: Mapping[str, Any]) -> bool:
    """Whether the text has the wanted settings; one that spans several lines cannot be commented out line by line."""
    try:
        return tomllib.loads(text) == wanted
    except (ValueError, RecursionError):
        return False


def _rewrite(values: Mapping[str, Any]) -> str:
    """Return the settings without comments. Only texts, numbers and booleans are settings."""
    lines = [_format(name, value) for name, value in values.items() if isinstance(value, str | int | float)]
    return "".join(f"{line}\n" for line in lines)


def _format(name: str, value: str | float) -> str:
    key = name if name.isascii() and name.isidentifier() else _quote(name)
    return f"{key} = {_quote(value) if isinstance(value, str) else str(value).lower()}"


def _quote(text: str) -> str:
    """Quote text for TOML, which differs from JSON in one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
