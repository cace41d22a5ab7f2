"""Find invitations to other pages within an article: cards that are one link, and lines such as `Related: …`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from chyme.text.word_lists import WordList

if TYPE_CHECKING:
    from lxml.html import HtmlElement  # type: ignore[import-untyped]

MAX_SHARE = 0.3  # of the article's words; a page with more invitations is made of them
MIN_WORDS = 4
MAX_LETTERS, MAX_PIECES = 600, 60  # of a teaser; whatever has more is not read to its end
LABEL_WORDS = 5
_WORD = re.compile(r"\w+")
_WRAPPED = ("h1", "h2", "h3", "h4", "h5", "h6", "p", "div", "article", "section", "header")
_LINES = ("p", "li", "div", "h2", "h3", "h4", "h5", "h6", "strong", "b", "em", "blockquote")
_LABELS = WordList(__package__, "teaser_labels")


def teasers_in(root: HtmlElement, text: str) -> list[HtmlElement]:
    """The elements to leave out of the article, whose words are `text`; none if too much of it would be lost."""
    lines = {normal_line(line) for line in text.splitlines()}
    found = [element for element in _candidates(root) if any(line in lines for line in _lines_of(element))]
    words = sum(len(_WORD.findall(_short_text(element))) for element in found)
    return found if words <= MAX_SHARE * len(_WORD.findall(text)) else []


def without_lines(text: str, teasers: list[HtmlElement]) -> str:
    """The article's words without those of its teasers."""
    gone = {line for teaser in teasers for line in _lines_of(teaser)}
    return "\n".join(line for line in text.splitlines() if normal_line(line) not in gone)


def normal_line(line: str) -> str:
    return " ".join(_WORD.findall(line.lower()))


def _candidates(root: HtmlElement) -> Iterator[HtmlElement]:
    for link in root.iter("a"):
        if not _leads_elsewhere(link) or len(_WORD.findall(_short_text(link))) < MIN_WORDS:
            continue
        if any(element.tag in _WRAPPED for element in link.iterdescendants()):
            yield link
            continue
        line = next((above for above in link.iterancestors() if above.tag in ("p", "li", "div")), None)
        if line is not None and _is_labelled(line, link):
            yield line


def _leads_elsewhere(link: HtmlElement) -> bool:
    return not (link.get("href") or "#").startswith("#")


def _is_labelled(line: HtmlElement, link: HtmlElement) -> bool:
    """Whether the line is a label such as `Read more:` and the link."""
    whole, linked = normal_line(_short_text(line)), normal_line(_short_text(link))
    label = whole.removesuffix(linked).strip()
    return whole.endswith(linked) and 0 < len(label.split()) <= LABEL_WORDS and label in _LABELS.phrases()


def _lines_of(element: HtmlElement) -> list[str]:
    """The lines that its blocks may be in the article's text, and all of it as one."""
    blocks = (block for block in element.iterdescendants() if block.tag in _LINES)
    return [line for line in map(normal_line, map(_short_text, (element, *blocks))) if line]


def _short_text(element: HtmlElement) -> str:
    """The text in an element; empty if it is long."""
    pieces = list(islice(element.itertext(), MAX_PIECES + 1))
    if len(pieces) > MAX_PIECES or sum(map(len, pieces)) > MAX_LETTERS:
        return ""
    return "".join(pieces)
