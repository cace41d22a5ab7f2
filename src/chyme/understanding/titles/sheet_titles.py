"""Titles of spreadsheets: a cell that stands alone above the table, or the name of a sheet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from chyme.files.name_words import name_to_words
from chyme.text.word_lists import WordList
from chyme.understanding.titles.cleanup import is_company, is_junk
from chyme.understanding.titles.line_roles import is_issuing_body, is_no_title, is_year_or_period
from chyme.understanding.titles.possible_title import Title, complete_kind

_SHEET_NAMES = WordList(__package__, "sheet_names")
_ROW = re.compile(r"^\s*\|(.*)\|\s*$")
_RULE = re.compile(r"^[\s|:+-]+$")
_HEADING = re.compile(r"^#{1,6}\s+(\S.*)$")
_MARKUP = re.compile(r"[*_`\\]+|<[^<>]{0,80}>")
_LETTERS = re.compile(r"[^\W\d_]")
_NO_CELL = re.compile(r"^(?:https?://|www\.|\S+@\S+|[\w ]{1,20}:$)", re.IGNORECASE)
_MAX_ROWS = 40  # rows that are read
_ROWS_ABOVE = 8  # rows above the table
_BESIDE = 15  # characters of a unit or a date beside the title
_WIDE = 4  # columns from which on something may stand beside it
_CELL_LENGTH = 150


def sheet_titles(text: str, where: str) -> Iterator[Title]:
    """The titles in a workbook's markdown, a heading and a table for each sheet."""
    lines = text.split("\n")
    names = [match[1].strip() for line in lines[:4000] if (match := _HEADING.match(line))]
    yield from cell_titles(text, where)
    telling = [name for name in names if not _is_general(name)]
    if telling and telling[0] == names[0]:
        plain = name_to_words(telling[0])
        # One of several sheets says less than a file name that a person chose.
        yield Title(plain, 0.5 if len(names) == 1 else 0.33, where, telling[0])


def _is_general(name: str) -> bool:
    plain = name_to_words(name).casefold().strip(" .:")
    return is_junk(name) or plain.rstrip(" 0123456789") in _SHEET_NAMES.phrases() or len(_LETTERS.findall(plain)) < 4


def _first_rows(lines: Sequence[str]) -> list[list[str]]:
    """The cells of the first table, without empty rows."""
    rows: list[list[str]] = []
    for line in lines:
        match = _ROW.match(line)
        if match is None:
            if rows and (_HEADING.match(line) or len(rows) >= _MAX_ROWS):
                break
            continue
        if _RULE.match(line):
            continue
        cells = [" ".join(_MARKUP.sub("", cell[:600]).split()) for cell in match[1].split("|")]
        if any(cells):
            rows.append(cells)
        if len(rows) >= _MAX_ROWS:
            break
    return rows


def cell_titles(text: str, where: str) -> Iterator[Title]:
    """The cells that stand alone in the first rows of a table, as in forms and workbooks."""
    rows = _first_rows(text.split("\n"))
    alone: list[str] = []
    for row in rows[:_ROWS_ABOVE]:
        filled = list(dict.fromkeys(cell for cell in row if cell))
        is_title = len(row) > 1 and (
            len(filled) == 1
            or (len(row) >= _WIDE and len(filled) == 2 and len(filled[1]) <= _BESIDE and row[0] and not row[1])
        )
        if not is_title:
            break
        alone.append(filled[0])
    if not alone or len(alone) == len(rows):
        return
    named = [
        number
        for number, cell in enumerate(alone)
        if len(_LETTERS.findall(cell)) >= 4
        and len(cell) <= _CELL_LENGTH
        and not _NO_CELL.match(cell)
        and not is_no_title(cell)
        and not is_year_or_period(cell)
        and not is_junk(cell)
    ]
    titles = [
        number for number in named if not is_issuing_body(alone[number]) and not is_company(alone[number])
    ] or named
    for rank, number in enumerate(titles[:2]):
        text = complete_kind(alone[number], alone[max(0, number - 1) : number], alone[number + 1 : number + 3])
        yield Title(text, 0.7 - 0.1 * rank, where, alone[number])
