"""The text read from a scanned page, and how finished pages are stored for another attempt."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chyme.model import Place

if TYPE_CHECKING:
    from PIL import Image


@dataclass(frozen=True, slots=True)
class Scan:
    """The text of a page, the places of its lines in that text and on the page, and how much was not read."""

    text: str = ""
    lines: tuple[Place, ...] = ()  # each with a box
    unread: int = 0
    letters: str = ""  # the letters the OCR engine knows, for messages


ScanReader = Callable[[int, Callable[[], "Image.Image"]], Scan]
"""Reads a page: its number, counted from 1, and how to draw it, which is asked for only when there is need."""


def save_scan(folder: Path, number: int, scan: Scan) -> None:
    """Store a page: under a temporary name first, so that a file is never incomplete."""
    fields = {
        "text": scan.text,
        "lines": [[line.start, line.end, *(line.box or ())] for line in scan.lines],
        "unread": scan.unread,
        "letters": scan.letters,
    }
    target = _path(folder, number)
    temporary = target.with_suffix(".half")
    temporary.write_text(json.dumps(fields, ensure_ascii=False), encoding="utf-8", errors="surrogatepass")
    os.replace(temporary, target)


def load_scan(folder: Path, number: int) -> Scan | None:
    """A page that an earlier attempt has read; None if there is none or it is not complete."""
    try:
        return _parse_scan(json.loads(_path(folder, number).read_text(encoding="utf-8", errors="surrogatepass")))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _path(folder: Path, number: int) -> Path:
    return folder / f"scan-{number:05}.json"


def _parse_scan(fields: dict[str, Any]) -> Scan:
    text, letters, unread = fields["text"], fields["letters"], fields["unread"]
    if not isinstance(text, str) or not isinstance(letters, str) or not isinstance(unread, int):
        raise ValueError("not a page")
    lines: list[Place] = []
    for start, end, left, top, right, bottom in fields["lines"]:
        box = float(left), float(top), float(right), float(bottom)
        if not 0 <= int(start) <= int(end) <= len(text) or not all(0 <= edge <= 1 for edge in box):
            raise ValueError("a line outside the page")
        lines.append(Place(int(start), int(end), box=box))
    return Scan(text, tuple(lines), unread, letters)
