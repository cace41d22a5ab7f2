"""Read those pages of a PDF that are pictures, and tell which were read and which were not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from chyme.documents.conversion.scan_rendering import CannotDraw, draw
from chyme.documents.conversion.scan_results import Scan, ScanReader
from chyme.errors import EngineUnavailable
from chyme.imaging.ocr.engine_interface import unread_note
from chyme.text.number_ranges import format_ranges

if TYPE_CHECKING:
    import pypdfium2  # type: ignore[import-untyped]


@dataclass(slots=True)
class ScannedPages:
    """What became of the pages that have no usable text layer."""

    read: dict[int, Scan] = field(default_factory=dict)
    not_drawn: dict[int, str] = field(default_factory=dict)  # and why
    left: list[int] = field(default_factory=list)  # because there is no reader
    reason: str = ""  # why there is none
    wanted: int = 0
    most: int = 0

    @property
    def unread_note(self) -> str | None:
        """What there is to tell of writing that the reader does not know."""
        lines = sum(len(scan.lines) for scan in self.read.values())
        letters = next((scan.letters for scan in self.read.values()), "")
        return unread_note(lines, sum(scan.unread for scan in self.read.values()), letters)

    def notes(self, used: Collection[int]) -> Iterable[str]:
        """What people should know of these pages; `used` are those whose text came from the picture."""
        if used:
            yield f"{_pages(used)} {_one(used, 'was', 'were')} read from {_one(used, 'its picture', 'their pictures')}"
        empty = [number for number, scan in self.read.items() if not scan.text]
        if empty:
            yield f"no words were found in {_one(empty, 'the picture', 'the pictures')} on {_pages(empty)}"
        for reason in dict.fromkeys(self.not_drawn.values()):
            these = [number for number, why in self.not_drawn.items() if why == reason]
            yield f"{_pages(these)} {_one(these, 'has', 'have')} no text layer and cannot be drawn: {reason}"
        if self.left:
            reason = f" and cannot be read: {self.reason}" if self.reason else ""
            yield f"{_pages(self.left)} {_one(self.left, 'has', 'have')} no text layer{reason}"
        elif self.wanted > self.most:
            yield f"first {self.most:,} of {self.wanted:,} scanned pages read (limit ocr_pages)"
        if self.unread_note:
            yield self.unread_note


def read_scanned(
    document: pypdfium2.PdfDocument,
    pages: Collection[int],
    most: int,
    reader: ScanReader | None,
    progress: Callable[[float], None],
) -> ScannedPages:
    """Read the first `most` of these pages, one after the other, as far as that goes."""
    numbers = sorted(pages)
    if reader is None:
        return ScannedPages(left=numbers)
    found = ScannedPages(wanted=len(numbers), most=most)
    for done, number in enumerate(numbers[:most]):
        progress(done / min(most, len(numbers)))
        try:
            found.read[number] = reader(number, partial(draw, document, number))
        except CannotDraw as error:
            found.not_drawn[number] = str(error)
        except EngineUnavailable as error:
            found.left, found.reason = numbers[done:], str(error)
            break
    return found


def _pages(numbers: Collection[int]) -> str:
    return f"{_one(numbers, 'page', 'pages')} {format_ranges(sorted(numbers))}"


def _one(numbers: Collection[int], single: str, several: str) -> str:
    return single if len(numbers) == 1 else several
