"""Whether a page can be made into a tree in bounded time and memory, told before any parser sees it."""

from __future__ import annotations

import re

MOST_TAGS = 300_000  # beyond them a tree costs more memory than its text is worth
MOST_ATTRIBUTES = 1_000  # of one tag: libxml2 compares each with all the others
LONG_TAG = 4_096  # characters; a shorter one cannot hold too many attributes

_START = re.compile(r"<(?:!--|[A-Za-z])")
# Groups are not possessive: Python before 3.11.5, which Debian has, then matches wrongly. Nothing after them can fail.
_ATTRIBUTE = r"[^\s>=/][^\s>=/]*+(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>\"'][^\s>]*+)?)?"
_ONE = re.compile(_ATTRIBUTE)
_TAG = re.compile(rf"<([A-Za-z][^\s>/]*+)(?:[\s/=]++|{_ATTRIBUTE})*>?")
_RAW = ("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes")  # their content holds no tags
_ENDS = {name: re.compile(rf"</{name}[\s/>]", re.IGNORECASE) for name in _RAW}


def is_too_complex(page: str) -> bool:
    """Whether the page has too many tags, or one with too many attributes. Passes once over the page."""
    if page.count("<") > MOST_TAGS:
        return True
    at = 0
    while start := _START.search(page, at):
        if start[0] == "<!--":
            at = page.find("-->", start.start() + 2)
            if at < 0:
                return False
            continue
        tag = _TAG.match(page, start.start())
        if tag is None:
            at = start.end()
            continue
        at = tag.end()
        if len(tag[0]) > LONG_TAG and sum(1 for _ in _ONE.finditer(tag[0])) > MOST_ATTRIBUTES:
            return True
        if end := _ENDS.get(tag[1].lower()):
            closed = end.search(page, at)
            if not closed:
                return False
            at = closed.start() + 2
    return False
