"""A text as a page shows it: a bounded part of it, as markdown, as a table or as it is."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from chyme.engines.rendered import rendered
from chyme.web.pages.asked import Asked

MARKDOWN = (".md", ".markdown", ".mdown", ".mkd")
TABLES = {".csv": ",", ".tsv": "\t"}
PART = 100_000  # characters of a text that are shown at first: rendering a hostile one takes a second and a half
WHOLE = 2_000_000  # characters that are shown when asked for, as they are
BEFORE = 4_000  # characters shown before the place that was found, when that is far into a long text
LONGEST_LINE = 20_000  # a longer one is no prose, and is not read as markdown
MOST_ROWS, MOST_CELLS = 2_000, 50


@dataclass(frozen=True, slots=True)
class Text:
    """A part of a text, as it is shown."""

    form: str  # markdown, plain or table
    html: Markup | None = None
    before: str = ""
    found: str = ""
    after: str = ""
    rows: Sequence[tuple[bool, Sequence[str]]] = ()  # found, cells
    begins_at: int = 0
    length: int = 0
    cut: bool = False


def text_part(text: str, form: str, place: Asked, mine: bool) -> Text:
    """The part of a text that is shown: its beginning, or the neighbourhood of what was found."""
    start, end = (place.start, place.end) if mine and place.start is not None else (None, None)
    room = WHOLE if place.whole else PART
    begin = 0
    if start is not None and end is not None and end > room:
        begin = text.rfind("\n", 0, max(start - BEFORE, 0)) + 1
    shown = text[begin : begin + room]
    cut = begin + room < len(text)
    first, last = (start - begin, min(end - begin, len(shown))) if start is not None and end is not None else (0, 0)
    if last <= first or first >= len(shown):
        first = last = 0
    told = Text("plain", begins_at=begin, length=len(text), cut=cut)
    if form == "markdown" and not place.whole and _prose(shown):
        html = rendered(shown, first, last) if last else rendered(shown)
        return replace(told, form=form, html=Markup(html))
    if form in TABLES.values():
        return replace(told, form="table", rows=_rows(shown, form, first, last))
    return replace(told, before=shown[:first], found=shown[first:last], after=shown[last:])


def _prose(text: str) -> bool:
    return len(max(text.split("\n"), key=len)) <= LONGEST_LINE


def _rows(text: str, delimiter: str, first: int, last: int) -> list[tuple[bool, list[str]]]:
    """The cells of a table, as far as it is one; rows in which characters `first` to `last` stand are marked."""
    lines = (text.count("\n", 0, first), text.count("\n", 0, last)) if last else (0, -1)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows: list[tuple[bool, list[str]]] = []
    before = 0
    try:
        for row in reader:
            rows.append((before <= lines[1] and reader.line_num > lines[0], row[:MOST_CELLS]))
            before = reader.line_num
            if len(rows) >= MOST_ROWS:
                break
    except csv.Error:  # a cell beyond all bounds
        rows.append((False, ["…"]))
    return rows
