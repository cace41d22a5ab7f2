"""Describe tables and documents that are mostly tables: what they are called, columns, rows and period."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence

from chyme.understanding.classification.data_descriptions import (
    MAX_CHARS,
    Table,
    chart_series,
    describe_columns,
    describe_rows,
    describe_table,
    has_merged_rows,
    parse_delimited_table,
    parse_markdown_table,
)
from chyme.understanding.summaries.facts import Composed, DocumentFacts
from chyme.understanding.summaries.wording import is_slides, join_names, name_kind, name_subject, quote_name
from chyme.understanding.titles.cleanup import is_junk

_MAX_ROWS = 20_000  # rows in which the first and the last day are looked for
_TIME = re.compile(
    r"^(?:date|day|year|month|week|time|period|datum|tag|jahr|monat|année|mois|fecha|año|mes|data|anno|mese|jaar|maand|ano)\b",
    re.IGNORECASE,
)
_ISO = re.compile(r"^\s*((?:1[5-9]|20)\d\d(?:-\d\d){0,2})(?![\d-])")
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")
_PDF = "application/pdf"
_UNNAMED_SERIES = re.compile(r"\| (?:Series|Category|Datenreihe|Kategorie|Série|Serie|Categoría) ?1 \|")
_DATED_SHARE = 0.8  # of the rows that must have a date


def describe_delimited(text: str, facts: DocumentFacts) -> Composed | None:
    """`A table called “air quality” of 3 columns and 340 rows from 2019 to 2023: date, place, dust.`"""
    table = parse_delimited_table(text)
    if table is None:
        return None
    name = facts.title or table.caption
    called = f" called {quote_name(name)}" if name and not is_junk(name) else ""
    head, _, columns = describe_table(table).removesuffix(".").partition(": ")
    listed = f": {columns}" if columns else ""
    return Composed(f"{head.replace('A table', f'A table{called}', 1)}{find_period(text, table)}{listed}.", 0.8)


def find_period(text: str, table: Table) -> str:
    """` from 2019-01 to 2023-12`, from the first column that is named after a time; empty if there is none."""
    lines = text[:MAX_CHARS].split("\n")[:_MAX_ROWS]
    sign = max(",;\t|", key=lines[0].count)
    start = 2 if table.caption else 1
    try:
        header = next(csv.reader(lines[start - 1 : start], delimiter=sign), [])
        at = next((number for number, name in enumerate(header) if _TIME.match(name.strip())), None)
        if at is None:
            return ""
        cells = [row[at] for row in csv.reader(lines[start:], delimiter=sign) if len(row) > at]
    except csv.Error:
        return ""
    days = [match[1] for cell in cells if (match := _ISO.match(cell))]
    if len(days) < _DATED_SHARE * len(cells) or len({len(day) for day in days}) > 1:
        days = [match[0] for cell in cells if (match := _YEAR.search(cell))]
    if not days or len(days) < _DATED_SHARE * len(cells) or min(days) == max(days):
        return ""
    return f" from {min(days)} to {max(days)}"


def describe_tables(markdown: str, facts: DocumentFacts) -> Composed | None:
    """`A document called “Duties” with a table of 2 columns and 26 rows: Code, Error.` None if it is mostly prose."""
    whole = parse_markdown_table(markdown)
    if whole is None:
        return None
    parts = list(split_tables(markdown))
    tables = [table for part in parts if (table := parse_markdown_table(part))]
    known = f"{name_kind(facts)}{name_subject(facts, facts.kind)}"
    series = _chart_series(parts, facts.mime)
    if series:
        form = "charts" if len(parts) > 1 else "a chart"
        return Composed(f"{known} with {form} of {join_names(series)}.", 0.7)
    largest = max(tables or [whole], key=lambda table: table.rows)
    is_bare = known in ("A document", "A text", "A page")
    if facts.mime == _PDF and (len(tables) > 1 or has_merged_rows(markdown)):  # a table may end with its page
        described = describe_columns(largest, "tables" if len(tables) > 1 else "a table", facts.title or "")
        return Composed(f"{known} with {described}.", 0.7)
    if len(tables) < 2:
        described = describe_table(largest)
        return Composed(described if is_bare else f"{known} with {described[0].lower()}{described[1:]}", 0.7)
    return Composed(f"{known} with {len(tables)} tables; the largest has {describe_rows(largest)}.", 0.7)


def describe_number_tables(markdown: str, facts: DocumentFacts) -> Composed | None:
    """A description of the charts and tables of numbers in a short document, whose rows say nothing in a quotation."""
    parts = [part for part in split_tables(markdown) if chart_series(part)]
    return describe_tables("\n\n".join(parts), facts) if parts else None


def _chart_series(parts: Sequence[str], mime: str) -> list[str]:
    """The series of tables that are charts: on slides by their shape, elsewhere if they have no other names."""
    found = [chart_series(part) for part in parts]
    is_sure = is_slides(mime) or any(map(_UNNAMED_SERIES.search, parts))
    return list(dict.fromkeys(name for names in found for name in names)) if is_sure and all(found) else []


def split_tables(markdown: str) -> Iterable[str]:
    """The tables of a text, each without what stands between them."""
    rows: list[str] = []
    for line in [*markdown.split("\n"), ""]:
        if line.lstrip().startswith("|"):
            rows.append(line)
        elif rows:
            yield "\n".join(rows)
            rows = []
