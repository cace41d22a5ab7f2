"""Decide whether a page can be parsed into a tree in bounded time and memory, before any parser sees it."""

from __future__ import annotations

import re

MAX_TAGS = 300_000  # beyond that a tree takes more memory than its text is worth
MAX_ATTRIBUTES = 1_000  # of one tag: libxml2 compares each with all others
LONG_TAG = 4_096  # characters; a shorter tag cannot have too many attributes

_START = re.compile(r"<(?:!--|[A-Za-z])")
# Groups are not possessive: Python before 3.11.5, which Debian has, then matches wrongly. Nothing after them can fail.
_ATTRIBUTE = r"[^\s>=/][^\s>=/]*+(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>\"'][^\s>]*+)?)?"
_ATTRIBUTE_PATTERN = re.compile(_ATTRIBUTE)
_TAG = re.compile(rf"<([A-Za-z][^\s>/]*+)(?:[\s/=]++|{_ATTRIBUTE})*>?")
_RAW_TAGS = ("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes")  # have no tags inside
_RAW_ENDS = {name: re.compile(rf"</{name}[\s/>]", re.IGNORECASE) for name in _RAW_TAGS}


def is_too_complex(page: str) -> bool:
    """Whether the page has too many tags, or one with too many attributes. Passes once over the page."""
    if page.count("<") > MAX_TAGS:
        return True
    position = 0
    while start := _START.search(page, position):
        if start[0] == "<!--":
            position = page.find("-->", start.start() + 2)
            if position < 0:
                return False
            continue
        tag = _TAG.match(page, start.start())
        if tag is None:
            position = start.end()
            continue
        position = tag.end()
        if len(tag[0]) > LONG_TAG and sum(1 for _ in _ATTRIBUTE_PATTERN.finditer(tag[0])) > MAX_ATTRIBUTES:
            return True
        if end := _RAW_ENDS.get(tag[1].lower()):
            closed = end.search(page, position)
            if not closed:
                return False
            position = closed.start() + 2
    return False
