"""Lines of a page with the size of their letters: what is printed large is often the title."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chyme.model import Box, Place

MAX_LINES = 120  # lines of a first page
LINE_LENGTH = 300  # characters of one line
_WIDTHS = 2.25  # the height of a line in widths of a letter, on an upright page
_MANY_LETTERS = 5  # a line of more is wider than high, if the page stands upright
_MARK_OF_DOUBT = "[?]"


@dataclass(frozen=True, slots=True)
class SizedLine:
    """A printed line. Size and top are in parts of the page's height, or any other unit that all lines share."""

    text: str
    size: float
    top: float = 0.0
    exact: bool = True  # False: measured on a scan, where letters without ascenders look smaller


def lines_of_scan(content: str, places: Iterable[Place]) -> tuple[SizedLine, ...]:
    """The recognised lines of the first page that has any, in reading order."""
    boxed: list[tuple[str, Box]] = []
    page: int | None = None
    for place in places:
        if place.box is None:
            continue
        if boxed and place.page != page:
            break
        page = place.page
        text = " ".join(content[place.start : place.end].replace(_MARK_OF_DOUBT, "").split())[:LINE_LENGTH]
        if text:
            boxed.append((text, place.box))
        if len(boxed) >= MAX_LINES:
            break
    if sum(box[3] - box[1] > box[2] - box[0] for text, box in boxed if len(text) > _MANY_LETTERS) > len(boxed) / 2:
        return _lines_of_turned_page(boxed)
    return tuple(SizedLine(text, _letter_size(text, box), box[1], exact=False) for text, box in boxed)


def _lines_of_turned_page(boxed: Sequence[tuple[str, Box]]) -> tuple[SizedLine, ...]:
    """The lines of a page that lies on its side: they stand beside one another."""
    lines: list[SizedLine] = []
    top = 0.0
    for text, box in boxed:
        lines.append(SizedLine(text, box[2] - box[0], top, exact=False))
        top += 1.3 * (box[2] - box[0])
    return tuple(lines)


def _letter_size(text: str, box: Box) -> float:
    """The height of the letters: of a line that runs askew, the box is higher than they are."""
    height, width = box[3] - box[1], box[2] - box[0]
    return min(height, _WIDTHS * width / len(text)) if len(text) > 3 else height
