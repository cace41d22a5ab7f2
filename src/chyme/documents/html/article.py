"""The article of a page: trafilatura says which words belong to it, and the page's own elements keep their form."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from copy import deepcopy
from itertools import islice
from typing import TYPE_CHECKING

from chyme.documents.html.tree import drop

if TYPE_CHECKING:
    from lxml.html import HtmlElement  # type: ignore[import-untyped]

MOST_ELEMENTS = 30_000  # trafilatura takes up to a second for each ten thousand
MOST_TEXT = 2_000_000  # characters
SHINGLE = 3  # words in a row by which a stretch of text is known again
LEAST_SHARED = 0.6  # of a block's shingles: it belongs to the article
LEAST_FOUND = 0.9  # of the article's words that must be found in the page again
LEAST_MEANT = 0.8  # of the words found again that must be the article's
CAPTION_WORDS = 5
CELL_WORDS = 100  # of a table's cell
NEAR = 20  # elements looked at on each side
_WORD = re.compile(r"\w+")
_BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html",
    "legend", "li", "main", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody", "td", "tfoot", "th",
    "thead", "tr", "ul", "dialog", "hgroup", "search", "label",
))  # fmt: skip
_NO_ARTICLE = frozenset(("nav", "aside", "footer", "form"))


def article_text(root: HtmlElement) -> str:
    """The words trafilatura takes for the article, one block a line; empty when it finds none or the page is too large.

    The tree stays as it is.
    """
    import trafilatura

    if any(count > MOST_ELEMENTS for count, _ in enumerate(root.iter())):
        return ""
    if sum(len(text) for text in root.itertext()) > MOST_TEXT:
        return ""
    return trafilatura.extract(deepcopy(root), output_format="txt", include_comments=False, include_tables=True) or ""


def article_markdown(root: HtmlElement) -> str:
    """The article in trafilatura's own markdown, for pages whose elements do not hold the text as it was found."""
    import trafilatura

    found = trafilatura.extract(
        deepcopy(root), output_format="markdown", include_comments=False, include_links=True, include_tables=True
    )
    return found or ""


def keep_article(root: HtmlElement, text: str) -> None:
    """Take everything out of the tree but the blocks whose words stand in `text`: in place."""
    body = root.find("body")
    root = root if body is None else body
    own = _own_words(root)
    kept = _Known(text).among(own)
    for table in root.iter("table"):
        _keep_whole(table, own, kept)
    for quiet in root.iter("figcaption", "pre", "dt", "dd"):
        if quiet in own and (quiet.tag != "figcaption" or _caption(quiet, own)) and _between(quiet, kept):
            kept.add(quiet)
    holding = set(kept)
    for element in kept:
        for above in element.iterancestors():
            if above in holding:
                break
            holding.add(above)
    _prune(root, kept, holding)


def same_words(found: str, meant: str) -> bool:
    """Whether the words found again in the page are the article's, nearly all and hardly any other."""
    expected, got = Counter(_WORD.findall(meant.lower())), Counter(_WORD.findall(found.lower()))
    common = (expected & got).total()
    return common >= LEAST_FOUND * expected.total() and common >= LEAST_MEANT * got.total()


def _own_words(root: HtmlElement) -> dict[HtmlElement, list[str]]:
    """For each block the words that stand in it and in no block within it, in order."""
    from lxml.etree import iterwalk  # type: ignore[import-untyped]

    pieces: dict[HtmlElement, list[str]] = {}
    block: dict[HtmlElement, HtmlElement] = {}
    for event, element in iterwalk(root, events=("start", "end")):
        parent = element.getparent()
        around = block.get(parent, root)
        if event == "start":
            block[element] = element if element.tag in _BLOCKS else around
            if element.text:
                pieces.setdefault(block[element], []).append(element.text)
        elif element.tail and element is not root:
            pieces.setdefault(around, []).append(element.tail)
        if event == "end" and element.tag == "br":
            pieces.setdefault(around, []).append(" ")
    found = {element: _WORD.findall("".join(texts).lower()) for element, texts in pieces.items()}
    return {element: words for element, words in found.items() if words}


def _shingles(words: list[str]) -> Iterable[tuple[str, ...]]:
    return zip(*(words[offset:] for offset in range(SHINGLE)), strict=False)


class _Known:
    """The article's words, by which its blocks are known again."""

    def __init__(self, text: str) -> None:
        self.shingles = set(_shingles(_WORD.findall(text.lower())))
        parts = (part for line in text.splitlines() for part in {line, *line.split("|")})
        self.lines = Counter(" ".join(_WORD.findall(part.lower())) for part in parts)

    def among(self, own: dict[HtmlElement, list[str]]) -> set[HtmlElement]:
        """The blocks that belong to the article; one that the page repeats belongs as often as the article has it."""
        kept: set[HtmlElement] = set()
        times: Counter[str] = Counter()
        blocks = list(own.items())
        for at, (element, words) in enumerate(blocks):
            line = " ".join(words)
            if len(words) > SHINGLE and times[line] >= max(self.lines[line], 1):
                continue
            before = blocks[at - 1][1][-SHINGLE:] if at else []
            after = blocks[at + 1][1][:SHINGLE] if at + 1 < len(blocks) else []
            if line in self.lines or self._holds(words) or self._leads(before, words, after):
                kept.add(element)
                times[line] += 1
        return kept

    def _holds(self, words: list[str]) -> bool:
        mine = list(_shingles(words))
        return len(words) > SHINGLE and sum(one in self.shingles for one in mine) >= LEAST_SHARED * len(mine)

    def _leads(self, before: list[str], words: list[str], after: list[str]) -> bool:
        """Whether a block too short to be known by itself stands in the article between the blocks around it."""
        if len(words) > SHINGLE:
            return False
        forward, back = (words + after)[:SHINGLE], (before + words)[-SHINGLE:]
        if len(words) == SHINGLE:
            forward, back = (words + after)[1 : SHINGLE + 1], (before + words)[-SHINGLE - 1 : -1]
        return tuple(forward) in self.shingles or tuple(back) in self.shingles


def _caption(caption: HtmlElement, own: dict[HtmlElement, list[str]]) -> bool:
    """Whether it says something about a picture, and is not the photographer's name."""
    figure = caption.getparent()
    return len(own[caption]) >= CAPTION_WORDS and figure is not None and next(figure.iter("img"), None) is not None


def _keep_whole(table: HtmlElement, own: dict[HtmlElement, list[str]], kept: set[HtmlElement]) -> None:
    """A table of which most is kept is kept whole: its empty looking cells hold its columns together.

    One that holds tables or long texts is none, but the frame of a page.
    """
    inside = [element for element in table.iter() if element in own]
    words = sum(len(own[element]) for element in inside)
    if next(table.iterdescendants("table"), None) is not None or any(len(own[one]) > CELL_WORDS for one in inside):
        return
    if 2 * sum(len(own[element]) for element in inside if element in kept) > words:
        kept.update(inside)
        kept.update(table.iter("td", "th", "tr"))


def _between(element: HtmlElement, kept: set[HtmlElement]) -> bool:
    """Whether kept blocks stand both before and after it, within the next elements around it."""
    for steps, above in enumerate((element, *element.iterancestors())):
        if steps > 3 or above.tag in _NO_ARTICLE:
            return False
        before = any(one in kept for one in islice(above.itersiblings(preceding=True), NEAR))
        after = any(one in kept for one in islice(above.itersiblings(), NEAR))
        if before and after:
            return True
    return False


def _prune(root: HtmlElement, kept: set[HtmlElement], holding: set[HtmlElement]) -> None:
    stack: list[tuple[HtmlElement, bool]] = [(root, root in kept)]
    while stack:
        element, wanted = stack.pop()
        if not wanted:
            element.text = None
        for child in list(element):
            if child.tag in _BLOCKS:
                inside = child in kept
                gone = child not in holding
            else:
                inside = wanted
                gone = not wanted and child not in holding
            if not wanted:
                child.tail = None
            if gone:
                drop(child)
            else:
                stack.append((child, inside))
