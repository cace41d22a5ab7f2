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
_PAGE_WORD = r"(?:page|pág(?:ina)?\.?|pagina|seite|blatt|стр\.?)"
_PAGE_NUMBER = re.compile(
    rf"[-–—|\[(\s]*(?:{_PAGE_WORD}|p\.|s\.)?\s*(\d{{1,4}})(?:\s*(?:/|of|von|de|sur|из)\s*\d{{1,4}})?[-–—|\])\s.]*",
    re.IGNORECASE,
)
_NAMED_NUMBER = re.compile(rf"(?<=\b){_PAGE_WORD}\s*(\d{{1,4}})\b", re.IGNORECASE)
_MARKS = re.compile(r"[#*_>|\\\s-]+")


@dataclass(frozen=True, slots=True)
class EdgeLine:
    """A line at the top or bottom of a page."""

    text: str
    at: float  # its middle, as a share of the page's height
    height: float
    number: int | None = None  # the page number in it, which is a piece of its own or named so
    rest: str = ""  # the text without that number


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
    return [_join_pieces(row, page_height) for row in rows]


def _join_pieces(row: Sequence[tuple[str, float, float, float]], page_height: float) -> EdgeLine:
    texts = [" ".join(piece[0].split()) for piece in sorted(row, key=lambda piece: piece[1])]
    number: int | None = None
    rest: list[str] = []
    for text in texts:
        counted = _PAGE_NUMBER.fullmatch(text) or _NAMED_NUMBER.search(text)
        if counted and number is None:
            number = int(counted[1])
            rest.append(f"{text[: counted.start(1)]}#{text[counted.end(1) :]}")
        else:
            rest.append(text)
    middle = (row[0][2] + row[0][3] / 2) / page_height
    return EdgeLine(" ".join(texts), middle, max(piece[3] for piece in row), number, " ".join(rest))


def _keys(line: EdgeLine, page: int) -> list[tuple[str, int]]:
    """By what a line is the same on two pages: its place and its text, in which a page number may count."""
    place = round(line.at / (2 * SAME_PLACE))
    keys = [(line.text.casefold(), place)]
    if line.number is not None:
        keys.append((f"{line.rest.casefold()}{line.number - page}", place))
    return keys


def _bare(line: str) -> str:
    return _MARKS.sub("", line).casefold()
