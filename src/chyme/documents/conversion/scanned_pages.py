"""Read the pages of a PDF that are pictures, record which were read, and store finished pages for another attempt."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chyme.documents.conversion.scan_rendering import CannotDraw, draw
from chyme.errors import EngineUnavailable
from chyme.imaging.ocr.engines import unread_note
from chyme.model import Place
from chyme.text.display import format_ranges

if TYPE_CHECKING:
    import pypdfium2  # type: ignore[import-untyped]
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


@dataclass(slots=True)
class ScannedPages:
    """The result for the pages without a usable text layer."""

    read: dict[int, Scan] = field(default_factory=dict)
    not_drawn: dict[int, str] = field(default_factory=dict)  # with the reason
    left: list[int] = field(default_factory=list)  # because there is no reader
    reason: str = ""  # why there is no reader
    wanted: int = 0
    max_pages: int = 0

    @property
    def unread_note(self) -> str | None:
        """The note about writing that the OCR engine does not know."""
        lines = sum(len(scan.lines) for scan in self.read.values())
        letters = next((scan.letters for scan in self.read.values()), "")
        return unread_note(lines, sum(scan.unread for scan in self.read.values()), letters)

    def notes(self, used: Collection[int]) -> Iterable[str]:
        """Notes about these pages for people; `used` are those whose text came from the picture."""
        if used:
            yield (
                f"{_pages(used)} {_plural(used, 'was', 'were')} read from "
                f"{_plural(used, 'its picture', 'their pictures')}"
            )
        empty = [number for number, scan in self.read.items() if not scan.text]
        if empty:
            yield f"no words were found in {_plural(empty, 'the picture', 'the pictures')} on {_pages(empty)}"
        for reason in dict.fromkeys(self.not_drawn.values()):
            numbers = [number for number, page_reason in self.not_drawn.items() if page_reason == reason]
            yield f"{_pages(numbers)} {_plural(numbers, 'has', 'have')} no text layer and cannot be drawn: {reason}"
        if self.left:
            reason = f" and cannot be read: {self.reason}" if self.reason else ""
            yield f"{_pages(self.left)} {_plural(self.left, 'has', 'have')} no text layer{reason}"
        elif self.wanted > self.max_pages:
            yield f"first {self.max_pages:,} of {self.wanted:,} scanned pages read (limit ocr_pages)"
        if self.unread_note:
            yield self.unread_note


def read_scanned(
    document: pypdfium2.PdfDocument,
    pages: Collection[int],
    max_pages: int,
    reader: ScanReader | None,
    progress: Callable[[float], None],
) -> ScannedPages:
    """Read the first `max_pages` of these pages, one after the other, as far as possible."""
    numbers = sorted(pages)
    if reader is None:
        return ScannedPages(left=numbers)
    result = ScannedPages(wanted=len(numbers), max_pages=max_pages)
    for done, number in enumerate(numbers[:max_pages]):
        progress(done / min(max_pages, len(numbers)))
        try:
            result.read[number] = reader(number, partial(draw, document, number))
        except CannotDraw as error:
            result.not_drawn[number] = str(error)
        except EngineUnavailable as error:
            result.left, result.reason = numbers[done:], str(error)
            break
    return result


def _pages(numbers: Collection[int]) -> str:
    return f"{_plural(numbers, 'page', 'pages')} {format_ranges(sorted(numbers))}"


def _plural(numbers: Collection[int], single: str, several: str) -> str:
    return single if len(numbers) == 1 else several


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
