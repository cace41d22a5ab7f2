"""Paid answers, kept in an attempt's folder until the digest is done, so that no question is asked twice."""

from __future__ import annotations

import json
import os
from pathlib import Path

from chyme.core.files.permissions import write_private


class AnswerCache:
    """Small JSON values by key. A value half-written by a killed process is ignored."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, key: str) -> object | None:
        try:
            value: object = json.loads(self._path(key).read_text("utf-8"))
        except (FileNotFoundError, ValueError, RecursionError):
            return None
        return value

    def write(self, key: str, value: object) -> None:
        path = self._path(key)
        temporary = path.with_suffix(".half")
        with write_private(temporary) as stream:
            stream.write(json.dumps(value, ensure_ascii=True).encode())
        os.replace(temporary, path)

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.json"
