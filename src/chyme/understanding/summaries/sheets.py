"""Describe a spreadsheet by its sheets and the columns of the largest one."""

from __future__ import annotations

import re

from chyme.files.machine_names import is_machine_made
from chyme.understanding.classification.data_descriptions import Table, describe_rows, parse_markdown_table
from chyme.understanding.summaries.facts import Composed
from chyme.understanding.summaries.tables import split_tables
from chyme.understanding.summaries.wording import join_names, quote_name

_SHEET = re.compile(r"^## +(\S[^\n]{0,100})$", re.MULTILINE)
_UNNAMED_SHEET = re.compile(
    r"^(?:sheet|tabelle|feuil|hoja|foglio|blad|planilha|лист|シート|工作表)\s?\d*(?: \(hidden\))?$", re.IGNORECASE
)


def describe_sheets(markdown: str) -> Composed | None:
    """`A spreadsheet of 2 sheets: Budget, Staff; the largest has 120 rows of Month, Amount.`"""
    parts = _SHEET.split(markdown)
    names = parts[1::2]
    tables = [(name, table) for name, part in zip(names, parts[2::2], strict=True) if (table := _largest_table(part))]
    if len(names) > 1:
        usable = [name for name in names if not _UNNAMED_SHEET.match(name) and not is_machine_made(name)]
        listing = f": {join_names(usable)}" if usable else ""
        largest = max((table for _, table in tables), key=lambda table: table.rows, default=None)
        size = f"; the largest has {describe_rows(largest)}" if largest else ""
        return Composed(f"A spreadsheet of {len(names)} sheets{listing}{size}.", 0.7)
    table = tables[0][1] if tables else _largest_table(markdown)
    if table is None:
        return None
    name = table.caption or (names[0] if names and not _UNNAMED_SHEET.match(names[0]) else "")
    called = f" {quote_name(name)}" if name else ""
    return Composed(f"A spreadsheet{called} with {describe_rows(table)}.", 0.7)


def _largest_table(markdown: str) -> Table | None:
    """The table with the most rows; comments and notes below it do not count."""
    tables = [table for part in split_tables(markdown) if (table := parse_markdown_table(part))]
    return max(tables, key=lambda table: table.rows, default=None)
