"""Tell the letter o from the hollow bullet that word processors draw with it: `o Milk` is an item of a list."""

from __future__ import annotations

import re

MIN_ITEMS = 2
_ITEM = re.compile(r"^( *)(?:- )?o[ \t]+(?=\w)", re.MULTILINE)
_OTHER_BULLET = re.compile(r"^ *(?:- (?!o\s)|[•●▪■◦○‣⁃\uf0b7\uf0a7])", re.MULTILINE)
_FENCED_ITEMS = re.compile(
    r"^```\n((?: *- .*\n)+)```$", re.MULTILINE
)  # the layout reader takes indented lines for code


def mark_hollow_bullets(markdown: str) -> str:
    """A page with its hollow bullets as list items; nothing changes where an o may be a word."""
    items = len(_ITEM.findall(markdown))
    if items < MIN_ITEMS or (items == MIN_ITEMS and not _OTHER_BULLET.search(markdown)):
        return markdown
    return _FENCED_ITEMS.sub(lambda block: block[1].rstrip("\n"), _ITEM.sub(r"\1- ", markdown))
