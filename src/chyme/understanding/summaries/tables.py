"""Describe tables and documents that are mostly tables: what they are called, columns, rows and period."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable

from chyme.understanding.classification.data_descriptions import (
    MAX_CHARS,
    Table,
    describe_rows,
    describe_table,
    parse_delimited_table,
    parse_markdown_table,
)
from chyme.understanding.summaries.facts import Composed, DocumentFacts
from chyme.understanding.summaries.wording import name_kind, name_subject, quote_name
from chyme.understanding.titles.cleanup import is_junk

_MAX_ROWS = 20_000  # rows in which the first and the last day are looked for
_TIME = re.compile(
    r"^(?:date|day|year|month|week|time|period|datum|tag|jahr|monat|année|mois|fecha|año|mes|data|anno|mese|jaar|maand|ano)\b",
    re.IGNORECASE,
)
_ISO = re.compile(r"^\s*((?:1[5-9]|20)\d\d(?:-\d\d){0,2})(?![\d-])")
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")
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
    tables = [table for part in split_tables(markdown) if (table := parse_markdown_table(part))]
    known = f"{name_kind(facts)}{name_subject(facts, facts.kind)}"
    if len(tables) < 2:
        table = tables[0] if tables else whole
        is_bare = known in ("A document", "A text", "A page")
        described = describe_table(table)
        return Composed(described if is_bare else f"{known} with {described[0].lower()}{described[1:]}", 0.7)
    largest = max(tables, key=lambda table: table.rows)
    return Composed(f"{known} with {len(tables)} tables; the largest has {describe_rows(largest)}.", 0.7)


def split_tables(markdown: str) -> Iterable[str]:
    """The tables of a text, each without what stands between them."""
    rows: list[str] = []
    for line in [*markdown.split("\n"), ""]:
        if line.lstrip().startswith("|"):
            rows.append(line)
        elif rows:
            yield "\n".join(rows)
            rows = []
