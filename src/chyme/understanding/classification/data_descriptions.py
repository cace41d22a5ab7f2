"""Describe tables, data and source code in one plain sentence, since they contain no sentence themselves."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

MAX_CHARS = 400_000  # characters that are read to find the structure
_MAX_NAMES = 6  # columns, fields or parts that are listed by name
_NAME_LENGTH = 40
_MAX_CELL = 50  # average characters of a cell above which it is no table but a page layout
_ROW = re.compile(r"^[ \t]*\|.*\|[ \t]*$", re.MULTILINE)
_RULE = re.compile(r"^[\s|:+-]+$")
_NUMBER = re.compile(r"^[\s\d.,:%$€£¥/+()-]*$")
_SEVERAL_NUMBERS = re.compile(r"\| *-?\d[\d.,]{2,20} +-?\d[\d.,]{0,20}(?: +[\d.,-]{1,20}){0,9} *\|")
_YEAR = re.compile(r"^(?:19|20)\d\d$")
_WORD = re.compile(r"[^\W\d_]{3}")
_VALUES = re.compile(r"=|\d[.,]\d.{0,40}\d[.,]\d")  # several numbers, or a number with the name of what it is
_MARKUP = re.compile(r"[*`\\]+|__+|<[^<>]{0,80}>")
_CODE = {
    "text/x-python": "Python", "text/javascript": "JavaScript", "text/x-typescript": "TypeScript",
    "text/x-shellscript": "shell", "text/css": "CSS", "text/x-scss": "SCSS", "text/x-c": "C", "text/x-c++": "C++",
    "text/x-csharp": "C#", "text/x-java": "Java", "text/x-kotlin": "Kotlin", "text/x-go": "Go", "text/x-rust": "Rust",
    "text/x-ruby": "Ruby", "text/x-php": "PHP", "text/x-perl": "Perl", "text/x-lua": "Lua", "text/x-r": "R",
    "text/x-swift": "Swift", "text/x-vue": "Vue", "text/x-jinja": "Jinja", "text/x-jsp": "JSP",
    "application/sql": "SQL",
}  # fmt: skip
_DATA = {
    "application/json": "JSON", "application/jsonl": "JSON lines", "application/geo+json": "GeoJSON",
    "application/xml": "XML", "application/yaml": "YAML", "application/toml": "TOML", "text/x-bibtex": "BibTeX",
    "text/x-diff": "a patch", "application/gpx+xml": "GPX",
    "application/vnd.google-earth.kml+xml": "KML", "application/rss+xml": "RSS", "application/atom+xml": "Atom",
}  # fmt: skip
# Documents of many entries, each under a heading: what they are, and what an entry is called.
_ENTRIES = {
    "text/calendar": ("A calendar", "entry", "entries"),
    "text/vcard": ("An address book", "contact", "contacts"),
}
_ENTRY, _ONLY_ENTRY = (re.compile(rf"^{marks} +([^\n]{{1,200}})", re.MULTILINE) for marks in ("##", "#"))
# What a module says of itself in its first comment.
_PURPOSE = re.compile(
    r"(?:\s|#![^\n]{0,200}\n|#[^\n]{0,200}coding[^\n]{0,100}\n|'use strict';?|<\?php)*"
    r"(?:[rR]?\"\"\"\s*([^\"\n]{8,200}?)(?:\"|\n)|/\*[*!\s]*([^*\n]{8,200}?)(?:\*|\n)|(?://|#|--)[/!]?\s*([^\n]{8,200}?)\n)"
)
_LICENCE = re.compile(r"copyright|licen[sc]e|spdx|all rights reserved", re.IGNORECASE)
TAB_SEPARATED = "text/tab-separated-values"
TABLES = frozenset({"text/csv", TAB_SEPARATED})
_PARTS = re.compile(
    r"^(?:export\s+|public\s+|async\s+|static\s+|pub\s+)*(?:def|class|function|func|fn|struct|interface|enum|trait"
    r"|CREATE TABLE(?: IF NOT EXISTS)?)\s+[\"`]?([A-Za-z]\w{1,60})",
    re.MULTILINE,
)
_FIELDS = re.compile(r"^([A-Za-z_][\w .-]{0,60}?)\s*[:=]", re.MULTILINE)
_ELEMENT = re.compile(r"<([A-Za-z][\w.:-]{0,60})")


@dataclass(frozen=True, slots=True)
class Table:
    """A table's size, and its column names if it has any."""

    columns: int
    rows: int
    names: tuple[str, ...]
    caption: str = ""  # from a first row with only one filled cell
    words: tuple[str, ...] = ()  # the first cells that are words, if the columns have no names


def is_code(mime: str) -> bool:
    return mime in _CODE


def is_data(mime: str) -> bool:
    """Whether a text of this type has no running text to summarise."""
    return mime in _CODE or mime in _DATA or mime in TABLES


def is_tabbed(text: str) -> bool:
    """Whether a plain text is a table with tabs between its cells."""
    counts = [line.count("\t") for line in text[:20_000].split("\n")[:6] if line.strip()]
    return len(counts) > 2 and counts[0] > 1 and counts.count(counts[0]) >= len(counts) - 1


def describe_data(text: str, mime: str) -> str | None:
    """A description of a data file; None if it is no data, or not in the form its type promises."""
    if mime in TABLES:
        table = parse_delimited_table(text)
        return describe_table(table) if table else None
    if mime in _CODE:
        lines = text.count("\n") + 1
        purpose = _PURPOSE.match(text)
        said = next(filter(None, purpose.groups()), "").strip() if purpose else ""
        if len(said.split()) > 2 and not _LICENCE.search(text[:1_000]):
            said = f": {said.rstrip('.')}"
        else:
            said = _listing(tuple(dict.fromkeys(_PARTS.findall(text[:MAX_CHARS]))))
        return f"{_CODE[mime][:1].upper()}{_CODE[mime][1:]} source code, {_count_of(lines, 'line')}{said}."
    if mime in _ENTRIES:
        what, one, many = _ENTRIES[mime]
        beginning = text[:MAX_CHARS]
        entries = [_clean(entry) for entry in _ENTRY.findall(beginning) or _ONLY_ENTRY.findall(beginning)]
        names = tuple(dict.fromkeys(filter(None, entries)))
        return f"{what} of {_count_of(len(entries), one, many)}{_listing(names)}." if names else None
    if mime not in _DATA:
        return None
    if "json" in mime:
        return _describe_json(text, mime)
    if "xml" in mime:
        elements = list(dict.fromkeys(_ELEMENT.findall(text[:MAX_CHARS])))
        return f"{_DATA[mime]} data{_listing(elements[:_MAX_NAMES])}." if elements else None
    names = tuple(dict.fromkeys(_FIELDS.findall(text[:MAX_CHARS])))
    return f"{_DATA[mime][:1].upper()}{_DATA[mime][1:]} data{_listing(names)}."


def describe_table(table: Table) -> str:
    """`A table of 12 columns and 340 rows: name, price, …`"""
    size = f"{_count_of(table.columns, 'column')} and {_count_of(table.rows, 'row')}"
    return f"A table of {size}{_listing(table.names)}."


def describe_rows(table: Table) -> str:
    """`340 rows of name, price`, or the size alone if the columns have no names."""
    rows = _count_of(table.rows, "row")
    if table.names:
        return f"{rows}{_listing(table.names, ' of ')}"
    return f"{rows} and {_count_of(table.columns, 'column')}{_listing(table.words) or ' of numbers'}"


def describe_columns(table: Table, form: str, title: str = "") -> str:
    """`a table of name, price`, `figures for 2023, 2024`: what a table tells whose rows cannot be counted for sure."""
    names = [name for name in table.names if name.casefold() != title.casefold()]
    if names and all(map(_YEAR.match, names)):
        return f"figures{_listing(names, ' for ')}"
    return f"{form}{_listing(names, ' of ')}"


def chart_series(markdown: str) -> tuple[str, ...]:
    """The names above a table that holds the data of a chart: it has nothing in its corner and only numbers below."""
    rows = [[_clean(cell) for cell in row.strip().strip("|").split("|")] for row in _ROW.findall(markdown)[:60]]
    head, *data = [row for row in rows if not _RULE.match("|".join(row))] or [[]]
    is_chart = data and len(head) > 1 and not head[0] and all(head[1:])
    return tuple(head[1:]) if is_chart and all(_NUMBER.match(cell) for row in data for cell in row[1:]) else ()


def has_merged_rows(markdown: str) -> bool:
    """Whether a cell has several numbers: rows that a converter took for one."""
    return _SEVERAL_NUMBERS.search(markdown[:MAX_CHARS]) is not None


def parse_delimited_table(text: str) -> Table | None:
    """The table in a text with commas, semicolons, tabs or bars between the cells."""
    lines = [line for line in text[:MAX_CHARS].split("\n", 60)[:60] if line.strip()]
    if not lines:
        return None
    counts = {sign: lines[0].count(sign) for sign in ",;\t|"}
    sign = max(counts, key=lambda candidate: counts[candidate])
    cells = [[_clean(cell) for cell in line.split(sign)] if counts[sign] else [_clean(line)] for line in lines[:2]]
    filled = [cell for cell in cells[0] if cell]
    caption = filled[0] if len(filled) == 1 and len(cells[0]) > 1 and len(cells) > 1 else ""
    header = cells[1] if caption else cells[0]
    rows = text.count("\n") + (not text.endswith("\n"))
    named = _are_names(header)
    return Table(len(header), max(rows - named - bool(caption), 0), _column_names(header) if named else (), caption)


def parse_markdown_table(markdown: str) -> Table | None:
    """The first table in markdown with more than one row, if tables are most of the text."""
    rows = _ROW.findall(markdown)
    if sum(map(len, rows)) < 0.5 * len(markdown):
        return None
    cells = [[_clean(cell) for cell in row.strip().strip("|").split("|")] for row in rows[:60] if not _RULE.match(row)]
    filled = [len(cell) for row in cells for cell in row if cell]
    if not filled or sum(filled) > _MAX_CELL * len(filled):
        return None  # running text laid out in columns
    cells = _without_empty_columns(cells)
    first = next((row for row in cells if any(row)), [])
    first_filled = [cell for cell in first if cell]
    title = first_filled[0] if len(first_filled) == 1 and len(first) > 1 and not _NUMBER.match(first_filled[0]) else ""
    header = next((row for row in cells if sum(map(bool, row)) > max(1, len(row) // 2)), None)
    if header is None:
        return None
    columns = sum(map(bool, header))
    named = _are_names([cell for cell in header if cell])
    count = sum(not _RULE.match(row) for row in rows) - named - bool(title)
    names = _column_names(header) if named else ()
    return Table(columns, count, names, title, () if named else _first_words(cells)) if count > 0 else None


def _without_empty_columns(rows: Sequence[list[str]]) -> list[list[str]]:
    filled = sorted({number for row in rows for number, cell in enumerate(row) if cell})
    return [[row[number] for number in filled if number < len(row)] for row in rows]


def _first_words(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The first cells that are words, of a table whose columns have no names."""
    words = [cell for row in rows for cell in row if len(_WORD.findall(cell)) and len(cell) <= _NAME_LENGTH]
    return tuple(dict.fromkeys(word for word in words if not _VALUES.search(word)))[:_MAX_NAMES]


def _describe_json(text: str, mime: str) -> str | None:
    format_name = _DATA[mime]
    try:
        data = json.loads(text if len(text) <= MAX_CHARS else "")
    except (ValueError, RecursionError):
        names = tuple(dict.fromkeys(re.findall(r'"([A-Za-z_][\w .-]{0,40})"\s*:', text[:50_000])))
        return f"{format_name} data{_listing(names)}." if names else None
    if isinstance(data, list):
        names = tuple(data[0]) if data and isinstance(data[0], dict) else ()
        return f"{format_name} data: {_count_of(len(data), 'entry', 'entries')}{_listing(names, ' with ')}."
    return f"{format_name} data{_listing(tuple(data))}." if isinstance(data, dict) and data else None


def _clean(text: str) -> str:
    return " ".join(_MARKUP.sub("", text[:500]).replace("&nbsp;", " ").split()).strip("\"' ")


def _are_names(cells: Sequence[str]) -> bool:
    """Whether a row names columns: it has words and few numbers."""
    filled = [cell for cell in cells if cell]
    if len(filled) > 2 and not _NUMBER.match(filled[0]) and len(set(filled)) == len(filled):
        filled = [cell for cell in filled if not _YEAR.match(cell)]  # a column for each year
    values = sum(bool(_NUMBER.match(cell) or _VALUES.search(cell)) for cell in filled)
    return bool(filled) and values <= 0.25 * len(filled)


def _column_names(cells: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(cell for cell in cells if cell and (not _NUMBER.match(cell) or _YEAR.match(cell))))


def _listing(names: Sequence[str], joint: str = ": ") -> str:
    shown = [name if len(name) <= _NAME_LENGTH else name[: _NAME_LENGTH - 1] + "…" for name in names[:_MAX_NAMES]]
    more = ", …" if len(names) > _MAX_NAMES else ""
    return f"{joint}{', '.join(shown)}{more}" if shown else ""


def _count_of(count: int, singular: str, plural: str = "") -> str:
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"
