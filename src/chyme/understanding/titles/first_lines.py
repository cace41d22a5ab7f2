"""The first lines of a text, with and without markup."""

from __future__ import annotations

import functools

from chyme.text.markdown_blocks import blocks_of
from chyme.understanding.titles.line_roles import is_date_line

BEGINNING = 20_000  # characters in which a title is searched
LETTERHEAD = 1_500  # characters of a letterhead
_MAX_LINES = 80  # lines searched for a title


def first_line(text: str) -> str:
    """The first line of a text without markup."""
    return next((plain for line in first_lines(text[:LETTERHEAD]) if (plain := strip_markdown(line))), "")


def first_lines(text: str) -> list[str]:
    """The first non-empty lines, with one empty line for each gap between them."""
    lines: list[str] = []
    for raw in text[:BEGINNING].split("\n"):
        line = raw.strip()[:600]
        if line or (lines and lines[-1]):
            lines.append(line)
        if len(lines) >= _MAX_LINES:
            break
    return lines


def plain_line(line: str) -> str:
    """A line without markup; the number of a day is not that of a list."""
    return line if is_date_line(line) else strip_markdown(line)


@functools.lru_cache(2 * _MAX_LINES)
def strip_markdown(line: str) -> str:
    """The text of one line without its markup."""
    blocks = blocks_of(line)
    return blocks[0].text if blocks else ""
