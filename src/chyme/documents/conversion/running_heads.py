"""Find the running heads and page numbers of a document, and remove them where they repeat.

The first occurrence of a head stays: its words are part of the document, but need not be there on every page.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

EDGE_SHARE = 0.12  # of the page's height at its top and bottom
NUMBER_SHARE = 0.09  # likewise, at the bottom, for a number that no other page confirms
EDGE_LINES = 2  # examined at either edge
MIN_PAGES = 3  # with the same head; in a short document half of its pages, at least two
LARGE = 1.3  # times the height of most lines; a head is not set larger than the text
LINE_LENGTH = 200
SAME_PLACE = 0.01  # of the page's height
EDGE_BLOCKS = 4  # lines of markdown in which a head is looked for
_NUMBER = re.compile(r"\d{1,4}")
_PAGE_NUMBER = re.compile(
    r"[-–—|\[(\s]*(?:p(?:age|\.)?|pág(?:ina)?\.?|seite|s\.|blatt|стр\.?)?\s*(\d{1,4})"
    r"(?:\s*(?:/|of|von|de|sur|из)\s*\d{1,4})?[-–—|\])\s.]*",
    re.IGNORECASE,
)
_MARKS = re.compile(r"[#*_>|\\\s-]+")


@dataclass(frozen=True, slots=True)
class EdgeLine:
    """A line at the top or bottom of a page."""

    text: str
    at: float  # its middle, as a share of the page's height
    height: float


def edge_lines(items: Iterable[tuple[str, float, float, float]], page_height: float) -> list[EdgeLine]:
    """The outermost lines of a page, from pieces of text with their left edge, top edge and height."""
    if page_height <= 0:
        return []
    pieces = sorted(items, key=lambda item: item[2] + item[3] / 2)
    lines = _outermost(pieces, page_height) + _outermost(pieces[::-1], page_height)
    return list(dict.fromkeys(lines))


def find_repeated(pages: Mapping[int, Sequence[EdgeLine]], usual_height: float) -> dict[int, list[str]]:
    """For each page the heads that are on an earlier page, and its page numbers."""
    counts: Counter[tuple[str, int]] = Counter()
    for number, lines in pages.items():
        counts.update({key for line in lines for key in _keys(line, number)})
    enough = min(MIN_PAGES, max(2, (len(pages) + 1) // 2))
    seen: set[tuple[str, int]] = set()
    repeated: dict[int, list[str]] = {}
    for number, lines in sorted(pages.items()):
        for line in lines:
            if line.height > LARGE * usual_height or len(line.text) > LINE_LENGTH:
                continue
            keys = [key for key in _keys(line, number) if counts[key] >= enough]
            counted = _PAGE_NUMBER.fullmatch(line.text)
            is_page_number = counted and (keys or (int(counted[1]) == number and line.at > 1 - NUMBER_SHARE))
            if is_page_number or any(key in seen for key in keys):
                repeated.setdefault(number, []).append(line.text)
            seen.update(keys)
    return repeated


def remove_lines(markdown: str, lines: Sequence[str]) -> str:
    """The page without these lines, where they are lines of their own near its beginning or end, or begin or end it."""
    if not lines:
        return markdown
    rows = markdown.split("\n")
    unwanted = Counter(_bare(line) for line in lines)
    filled = [index for index, row in enumerate(rows) if row.strip()]
    for index in dict.fromkeys((*filled[:EDGE_BLOCKS], *filled[:-EDGE_BLOCKS:-1])):
        bare = _bare(rows[index])
        if unwanted[bare] > 0 and not rows[index].startswith("|"):
            unwanted[bare] -= 1
            rows[index] = ""
    text = "\n".join(rows).strip()
    for line in lines:
        if unwanted[_bare(line)] > 0:
            for cut in (text.removeprefix(line), text.removesuffix(line)):
                if cut != text and (not cut or not (cut[0].isalnum() or cut[-1].isalnum()) or " " in (cut[0], cut[-1])):
                    text = cut.strip()
                    break
    return text or markdown  # a page with nothing else keeps them


def _outermost(pieces: Sequence[tuple[str, float, float, float]], page_height: float) -> list[EdgeLine]:
    rows: list[list[tuple[str, float, float, float]]] = []
    middle = -1.0
    for piece in pieces:
        at = (piece[2] + piece[3] / 2) / page_height
        if not (at < EDGE_SHARE or at > 1 - EDGE_SHARE):
            break
        if abs(at - middle) > SAME_PLACE:
            if len(rows) == EDGE_LINES:
                break
            rows.append([])
            middle = at
        rows[-1].append(piece)
    return [
        EdgeLine(
            " ".join(" ".join(piece[0] for piece in sorted(row, key=lambda piece: piece[1])).split()),
            (row[0][2] + row[0][3] / 2) / page_height,
            max(piece[3] for piece in row),
        )
        for row in rows
    ]


def _keys(line: EdgeLine, page: int) -> list[tuple[str, int]]:
    """By what a line is the same on two pages: its place and its text, in which one number may count the pages."""
    place = round(line.at / (2 * SAME_PLACE))
    text = line.text.casefold()
    keys = [(text, place)]
    numbers = list(_NUMBER.finditer(text))[:8]
    for number in dict.fromkeys((*numbers[:1], *numbers[-1:])):
        keys.append((f"{text[: number.start()]}#{int(number[0]) - page}{text[number.end() :]}", place))
    return keys


def _bare(line: str) -> str:
    return _MARKS.sub("", line).casefold()
