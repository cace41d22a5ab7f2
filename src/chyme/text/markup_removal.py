"""Remove the marks of Markdown before an embedder reads a text.

Each pipe, dash and dot is a token: more than half of a spreadsheet's tokens separate its cells and say nothing.
"""

from __future__ import annotations

import re

# Every repeat is bounded or of one character, so that the time grows with the length alone.
_TABLE_RULE = re.compile(r"^[ \t]{0,80}\|?[ \t]{0,80}:?--[-|: \t]*+$", re.MULTILINE)
_TABLE_ROW = re.compile(r"^[ \t]{0,80}\|[^\n]*", re.MULTILINE)
_CELL_BORDER = re.compile(r"(?<!\\)\|")
_HEADING = re.compile(r"^[ \t]{0,3}#{1,6}[ \t]+", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\[\]\n]{0,500})\]\([^()\s]{1,2000}\)")
_EMPHASIS = re.compile(r"\*{2,3}|(?<!\w)_{2,3}(?=\w)|(?<=\w)_{2,3}(?!\w)")
_LEADERS = re.compile(r"([.\-_=~·•*+])\1{3,}|(?:[.·] ){4,}")
_BLANKS = re.compile(r"[ \t]{2,}")


def remove_markup(text: str) -> str:
    """The words of a Markdown text: without the lines of tables, marks of headings and emphasis, addresses of links and
    rows of dots. The text itself if nothing else is in it."""
    # A plain search is much faster than an expression, and most texts have none of these marks.
    plain = _TABLE_RULE.sub("", text) if "--" in text else text
    if "|" in plain:
        plain = _TABLE_ROW.sub(_join_cells, plain)
    if "#" in plain:
        plain = _HEADING.sub("", plain)
    if "](" in plain:
        plain = _LINK.sub(r"\1", plain)
    if "**" in plain or "__" in plain:
        plain = _EMPHASIS.sub("", plain)
    plain = _LEADERS.sub(" ", plain)
    if "  " in plain or "\t" in plain:
        plain = _BLANKS.sub(" ", plain)
    return plain.strip() or text


def _join_cells(row: re.Match[str]) -> str:
    return _CELL_BORDER.sub(" ", row[0]).replace("\\|", "|").strip()
