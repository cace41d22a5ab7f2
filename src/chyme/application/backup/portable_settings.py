"""Which settings of a backup may come along to another vault: all but those that say where its things lie."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any

LOCAL_SETTINGS = ("state_dir", "server_dir")  # those of the backup would lead to what belongs to another vault
_LEFT_OUT = "# left out by 'chyme restore': "


def merge_settings(backed_up: str, here: Mapping[str, Any]) -> str:
    """A settings.toml as it was backed up, but for what stays as it is here. ValueError when it is no TOML."""
    try:
        found = tomllib.loads(backed_up)
    except RecursionError as error:
        raise ValueError("is nested too deep") from error
    own = {name: here[name] for name in LOCAL_SETTINGS if name in here}
    wanted = {name: value for name, value in found.items() if name not in LOCAL_SETTINGS} | own
    if found == wanted:
        return backed_up
    text = "".join(f"{line}\n" for line in [*map(_written, own, own.values()), *map(_kept, backed_up.split("\n"))])
    return text if _says(text, wanted) else _anew(wanted)


def _kept(line: str) -> str:
    """The line, behind a `#` when it says nothing but what stays."""
    try:
        told = tomllib.loads(line)
    except (ValueError, RecursionError):
        return line
    return _LEFT_OUT + line.strip() if told.keys() & {*LOCAL_SETTINGS} else line


def _says(text: str, wanted: Mapping[str, Any]) -> bool:
    """What is spread over several lines cannot be left out line by line."""
    try:
        return tomllib.loads(text) == wanted
    except (ValueError, RecursionError):
        return False


def _anew(values: Mapping[str, Any]) -> str:
    """Without the comments. What is neither text nor number nor yes or no is no setting."""
    lines = [_written(name, value) for name, value in values.items() if isinstance(value, str | int | float)]
    return "".join(f"{line}\n" for line in lines)


def _written(name: str, value: str | float) -> str:
    key = name if name.isascii() and name.isidentifier() else _quoted(name)
    return f"{key} = {_quoted(value) if isinstance(value, str) else str(value).lower()}"


def _quoted(text: str) -> str:
    """TOML quotes as JSON does, but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
