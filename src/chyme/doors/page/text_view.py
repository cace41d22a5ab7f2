"""A text as a page shows it: a limited part of it, as markdown, as a table or as plain text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from markupsafe import Markup

from chyme.doors.page.markdown_html import render_markdown
from chyme.doors.page.view_parameters import PlaceParameters

MARKDOWN = (".md", ".markdown", ".mdown", ".mkd")
TABLES = {".csv": ",", ".tsv": "\t"}
PART = 100_000  # characters of a text that are shown at first: rendering a hostile one takes 1.5 s
WHOLE = 2_000_000  # characters that are shown on request, as plain text
BEFORE = 4_000  # characters shown before the found place, when that is far into a long text
LONGEST_LINE = 20_000  # a longer one is no prose, and is not rendered as markdown
MOST_ROWS, MOST_CELLS = 2_000, 50
ALL_CELLS = MOST_ROWS * MOST_CELLS  # of a table that is shown on request, whatever the number of rows
ROWS_BEFORE = 100  # rows shown before the found one, when that is far into a long table


@dataclass(frozen=True, slots=True)
class TextView:
    """The shown part of a text."""

    form: str  # markdown, plain or table
    html: Markup | None = None
    before: str = ""
    found: str = ""
    after: str = ""
    rows: Sequence[tuple[bool, Sequence[str]]] = ()  # found, cells
    begins_at: int = 0
    length: int = 0
    cut: bool = False


def text_part(text: str, form: str, place: PlaceParameters, has_place: bool) -> TextView:
    """Return the shown part of a text: its beginning, or the surroundings of the found place.

    `has_place`: the place refers to this text.
    """
    start, end = (place.start, place.end) if has_place and place.start is not None else (None, None)
    limit = WHOLE if place.whole else PART
    begin = 0
    if start is not None and end is not None and end > limit:
        begin = text.rfind("\n", 0, max(start - BEFORE, 0)) + 1
    part = text[begin : begin + limit]
    cut = begin + limit < len(text)
    first, last = (start - begin, min(end - begin, len(part))) if start is not None and end is not None else (0, 0)
    if last <= first or first >= len(part):
        first = last = 0
    view = TextView("plain", begins_at=begin, length=len(text), cut=cut)
    if form == "markdown" and not place.whole and _is_prose(part):
        html = render_markdown(part, first, last) if last else render_markdown(part)
        return replace(view, form=form, html=Markup(html))
    if form in TABLES.values():
        return _table_view(replace(view, form="table"), text[:PART], part, form, (first, last), place.whole)
    return replace(view, before=part[:first], found=part[first:last], after=part[last:])


def _is_prose(text: str) -> bool:
    return len(max(text.split("\n"), key=len)) <= LONGEST_LINE


def _table_view(view: TextView, head: str, part: str, delimiter: str, found: tuple[int, int], whole: bool) -> TextView:
    """Add as many rows as a page holds, the first ones or those around `found`, below the header row."""
    first, last = found
    marked = [n for n, (begin, end, _) in enumerate(_rows(part, delimiter)) if begin < last and first < end]
    skipped = max(marked[0] - ROWS_BEFORE, 0) if marked and marked[-1] >= MOST_ROWS else 0
    rows: list[tuple[bool, list[str]]] = []
    begins_at, cut, count = view.begins_at, view.cut, 0
    for begin, end, cells in islice(_rows(part, delimiter), skipped, None):
        if not rows:
            begins_at += begin
            if begins_at:
                rows = [(False, cells) for _, _, cells in islice(_rows(head, delimiter), 1)]
        count += max(len(cells), 1)
        if count > ALL_CELLS or (len(rows) >= MOST_ROWS and not whole):
            cut = True
            break
        rows.append((begin < last and first < end, cells))
    return replace(view, rows=rows, begins_at=begins_at, cut=cut)


def _rows(text: str, delimiter: str) -> Iterator[tuple[int, int, list[str]]]:
    """Yield the rows of a table: the characters at which each begins and ends, and its cells."""
    source = io.StringIO(text, newline="")
    begin = 0
    try:
        for row in csv.reader(source, delimiter=delimiter):
            yield begin, source.tell(), row[:MOST_CELLS]
            begin = source.tell()
    except csv.Error:  # a cell above the size limit
        yield begin, len(text), ["…"]
