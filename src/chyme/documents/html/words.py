"""Count words in every script, and extract the bare words of a page that no other reader can parse."""

from __future__ import annotations

import re
from html import unescape

_HIDDEN = re.compile(r"<(?:(!--)|(script|style|template|title|noscript|svg)(?=[\s/>]))", re.IGNORECASE)
_UNSPACED = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # kana and Han
_WORD = re.compile(rf"([{_UNSPACED}])|[^\W{_UNSPACED}]+")
_TAGS = re.compile(r"<[^<>]*>")


def bare_words(page: str) -> str:
    """The words between the tags, on one line. Passes once over the page, whatever it looks like."""
    return " ".join(unescape(_TAGS.sub(" ", "".join(_visible_parts(page)))).split())


def count_words_and_signs(text: str) -> tuple[int, int]:
    """How many words a text has, and how many signs of scripts that write no spaces between words."""
    spaced = signs = 0
    for match in _WORD.finditer(text):
        if match[1]:
            signs += 1
        else:
            spaced += 1
    return spaced, signs


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
