"""Read a page's source without parsing it: whether it is too complex for a tree, its bare words, how many there are."""

from __future__ import annotations

import re
from html import unescape

_HIDDEN = re.compile(r"<(?:(!--)|(script|style|template|title|noscript|svg)(?=[\s/>]))", re.IGNORECASE)
_UNSPACED = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # kana and Han
_WORD = re.compile(rf"([{_UNSPACED}])|[^\W{_UNSPACED}]+")
_TAGS = re.compile(r"<[^<>]*>")
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


def bare_words(page: str) -> str:
    """The words between the tags, on one line. Passes once over the page, whatever it looks like."""
    return " ".join(unescape(_TAGS.sub(" ", "".join(_visible_parts(page)))).split())


def count_words_and_signs(text: str) -> tuple[int, int]:
    """How many words a text has, and how many signs of scripts that write no spaces between words."""
    is_sign = [match[1] is not None for match in _WORD.finditer(text)]
    return is_sign.count(False), is_sign.count(True)


def _visible_parts(page: str) -> list[str]:
    """The parts between comments, scripts and similar elements; one that never ends hides the rest."""
    lower = page.lower()
    if len(lower) != len(page):  # a few letters change their length
        lower = page
    parts: list[str] = []
    position = 0
    while start := _HIDDEN.search(page, position):
        parts.append(page[position : start.start()])
        mark = "-->" if start[1] else f"</{start[2].lower()}"
        end = lower.find(mark, start.end())
        if end < 0:
            return parts
        position = end + len(mark) if start[1] else end
        parts.append(" ")
    parts.append(page[position:])
    return parts


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
