"""The first lines of a note, for its card in a list."""

from __future__ import annotations

import re

LENGTH = 400  # characters
LINES = 10
CHARACTERS_READ = 2000  # characters of the text that are read
_FRONT_MATTER = re.compile(r"---[ \t]*\n(?:[^\n]*\n){0,60}?---[ \t]*(?:\n|$)")
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]+|[ \t]+#+[ \t]*$", re.MULTILINE)
_QUOTE = re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE)
_ITEM = re.compile(r"^([ \t]*)[-*+][ \t]+(?:\[([ xX])\][ \t]+)?", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*$\n?", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\s]{0,500}\)")
_STRONG = re.compile(r"\*{1,3}(?=\S)([^*\n]{1,300}?)(?<=\S)\*{1,3}|`([^`\n]{1,300})`")
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+")


def first_lines(text: str, markdown: bool) -> str:
    """At most LINES lines and LENGTH characters, without blank lines; Markdown loses its markup."""
    head = _INVISIBLE.sub("", text[:CHARACTERS_READ].replace("\r\n", "\n").replace("\r", "\n"))
    if markdown:
        head = _remove_markup(_FRONT_MATTER.sub("", head, count=1) if head.startswith("---") else head)
    lines = [line.rstrip().expandtabs(4) for line in head.split("\n") if line.strip()]
    shown = "\n".join(lines[:LINES])
    return shown if len(shown) <= LENGTH else shown[: LENGTH - 1].rstrip() + "…"


def _remove_markup(text: str) -> str:
    text = _QUOTE.sub("", _HEADING.sub("", _FENCE.sub("", text)))
    text = _ITEM.sub(lambda item: f"{item[1]}{_BULLETS[item[2]]} ", text)
    return _STRONG.sub(lambda match: match[1] or match[2], _LINK.sub(r"\1", text))


_BULLETS = {None: "•", " ": "☐", "x": "☑", "X": "☑"}
