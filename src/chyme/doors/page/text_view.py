"""A text as a page shows it: a bounded part of it, as markdown, as a table or as it is."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from markupsafe import Markup

from chyme.doors.page.markdown_html import render_markdown
from chyme.doors.page.place_parameters import PlaceParameters

MARKDOWN = (".md", ".markdown", ".mdown", ".mkd")
TABLES = {".csv": ",", ".tsv": "\t"}
PART = 100_000  # characters of a text that are shown at first: rendering a hostile one takes a second and a half
WHOLE = 2_000_000  # characters that are shown when asked for, as they are
BEFORE = 4_000  # characters shown before the place that was found, when that is far into a long text
LONGEST_LINE = 20_000  # a longer one is no prose, and is not read as markdown
MOST_ROWS, MOST_CELLS = 2_000, 50
ALL_CELLS = MOST_ROWS * MOST_CELLS  # of a table that is shown when asked for, however many rows they make
ROWS_BEFORE = 100  # rows shown before the one that was found, when that is far into a long table


@dataclass(frozen=True, slots=True)
class TextView:
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


def text_part(text: str, form: str, place: PlaceParameters, mine: bool) -> TextView:
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
    told = TextView("plain", begins_at=begin, length=len(text), cut=cut)
    if form == "markdown" and not place.whole and _prose(shown):
        html = render_markdown(shown, first, last) if last else render_markdown(shown)
        return replace(told, form=form, html=Markup(html))
    if form in TABLES.values():
        return _table(replace(told, form="table"), text[:PART], shown, form, (first, last), place.whole)
    return replace(told, before=shown[:first], found=shown[first:last], after=shown[last:])


def _prose(text: str) -> bool:
    return len(max(text.split("\n"), key=len)) <= LONGEST_LINE


def _table(told: TextView, head: str, shown: str, delimiter: str, found: tuple[int, int], whole: bool) -> TextView:
    """As many rows as a page holds, the first ones or those around what was `found`, below the first row of all."""
    first, last = found
    marked = [n for n, (begin, end, _) in enumerate(_rows(shown, delimiter)) if begin < last and first < end]
    skipped = max(marked[0] - ROWS_BEFORE, 0) if marked and marked[-1] >= MOST_ROWS else 0
    rows: list[tuple[bool, list[str]]] = []
    begins_at, cut, count = told.begins_at, told.cut, 0
    for begin, end, cells in islice(_rows(shown, delimiter), skipped, None):
        if not rows:
            begins_at += begin
            if begins_at:
                rows = [(False, cells) for _, _, cells in islice(_rows(head, delimiter), 1)]
        count += max(len(cells), 1)
        if count > ALL_CELLS or (len(rows) >= MOST_ROWS and not whole):
            cut = True
            break
        rows.append((begin < last and first < end, cells))
    return replace(told, rows=rows, begins_at=begins_at, cut=cut)


def _rows(text: str, delimiter: str) -> Iterator[tuple[int, int, list[str]]]:
    """The rows of a table, as far as it is one: at which characters each begins and ends, and its cells."""
    source = io.StringIO(text, newline="")
    begin = 0
    try:
        for row in csv.reader(source, delimiter=delimiter):
            yield begin, source.tell(), row[:MOST_CELLS]
            begin = source.tell()
    except csv.Error:  # a cell beyond all bounds
        yield begin, len(text), ["…"]
