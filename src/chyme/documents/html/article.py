"""Extract a page's article: trafilatura says which words belong to it, and the page's own elements keep their form."""

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

MAX_ELEMENTS = 30_000  # trafilatura takes up to a second for each ten thousand
MAX_TEXT = 2_000_000  # characters
SHINGLE_WORDS = 3  # words in a row by which a piece of text is recognised
MIN_SHARED = 0.6  # of a block's shingles, for it to belong to the article
MIN_FOUND = 0.9  # of the article's words that must be found in the page again
MIN_PRECISION = 0.8  # of the words found in the page that must be the article's
CAPTION_WORDS = 5
CELL_WORDS = 100  # of a table's cell
MAX_SIBLINGS = 20  # examined on each side
_WORD = re.compile(r"\w+")
_BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html",
    "legend", "li", "main", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody", "td", "tfoot", "th",
    "thead", "tr", "ul", "dialog", "hgroup", "search", "label",
))  # fmt: skip
_NO_ARTICLE = frozenset(("nav", "aside", "footer", "form"))


def article_text(root: HtmlElement) -> str:
    """The words of the article according to trafilatura, one block per line.

    Empty if it finds none or the page is too large. The tree is not changed.
    """
    import trafilatura

    if any(count > MAX_ELEMENTS for count, _ in enumerate(root.iter())):
        return ""
    if sum(len(text) for text in root.itertext()) > MAX_TEXT:
        return ""
    return trafilatura.extract(deepcopy(root), output_format="txt", include_comments=False, include_tables=True) or ""


def article_markdown(root: HtmlElement) -> str:
    """The article in trafilatura's own markdown, for pages whose elements do not contain the text as it was found."""
    import trafilatura

    markdown = trafilatura.extract(
        deepcopy(root), output_format="markdown", include_comments=False, include_links=True, include_tables=True
    )
    return markdown or ""


def keep_article(root: HtmlElement, text: str) -> None:
    """Remove everything from the tree except the blocks whose words are in `text`: in place."""
    body = root.find("body")
    root = root if body is None else body
    own_words = _own_words(root)
    kept = _ArticleWords(text).matching_blocks(own_words)
    for table in root.iter("table"):
        _keep_whole_table(table, own_words, kept)
    for candidate in root.iter("figcaption", "pre", "dt", "dd"):
        if (
            candidate in own_words
            and (candidate.tag != "figcaption" or _is_real_caption(candidate, own_words))
            and _is_between_kept(candidate, kept)
        ):
            kept.add(candidate)
    for picture in root.iter("img"):
        if picture.get("alt") and _is_between_kept(picture, kept):
            kept.add(picture)
    kept_or_above = set(kept)
    for element in kept:
        for above in element.iterancestors():
            if above in kept_or_above:
                break
            kept_or_above.add(above)
    _prune(root, kept, kept_or_above)


def same_words(found: str, meant: str) -> bool:
    """Whether the words found in the page are the article's: nearly all of them and hardly any others."""
    expected, actual = Counter(_WORD.findall(meant.lower())), Counter(_WORD.findall(found.lower()))
    common = (expected & actual).total()
    return common >= MIN_FOUND * expected.total() and common >= MIN_PRECISION * actual.total()


def _own_words(root: HtmlElement) -> dict[HtmlElement, list[str]]:
    """For each block its words that are in no block within it, in order."""
    from lxml.etree import iterwalk  # type: ignore[import-untyped]

    pieces: dict[HtmlElement, list[str]] = {}
    block: dict[HtmlElement, HtmlElement] = {}
    for event, element in iterwalk(root, events=("start", "end")):
        parent = element.getparent()
        outer_block = block.get(parent, root)
        if event == "start":
            block[element] = element if element.tag in _BLOCKS else outer_block
            if element.text:
                pieces.setdefault(block[element], []).append(element.text)
        elif element.tail and element is not root:
            pieces.setdefault(outer_block, []).append(element.tail)
        if event == "end" and element.tag == "br":
            pieces.setdefault(outer_block, []).append(" ")
    words_by_block = {element: _WORD.findall("".join(texts).lower()) for element, texts in pieces.items()}
    return {element: words for element, words in words_by_block.items() if words}


def _shingles(words: list[str]) -> Iterable[tuple[str, ...]]:
    return zip(*(words[offset:] for offset in range(SHINGLE_WORDS)), strict=False)


class _ArticleWords:
    """The article's words, by which its blocks are recognised."""

    def __init__(self, text: str) -> None:
        self.shingles = set(_shingles(_WORD.findall(text.lower())))
        parts = (part for line in text.splitlines() for part in {line, *line.split("|")})
        self.lines = Counter(" ".join(_WORD.findall(part.lower())) for part in parts)

    def matching_blocks(self, own_words: dict[HtmlElement, list[str]]) -> set[HtmlElement]:
        """The blocks that belong to the article; a repeated one belongs as often as the article has it."""
        kept: set[HtmlElement] = set()
        used: Counter[str] = Counter()
        blocks = list(own_words.items())
        for i, (element, words) in enumerate(blocks):
            line = " ".join(words)
            if len(words) > SHINGLE_WORDS and used[line] >= max(self.lines[line], 1):
                continue
            before = blocks[i - 1][1][-SHINGLE_WORDS:] if i else []
            after = blocks[i + 1][1][:SHINGLE_WORDS] if i + 1 < len(blocks) else []
            if line in self.lines or self._shares_shingles(words) or self._fits_between(before, words, after):
                kept.add(element)
                used[line] += 1
        return kept

    def _shares_shingles(self, words: list[str]) -> bool:
        own = list(_shingles(words))
        return len(words) > SHINGLE_WORDS and sum(shingle in self.shingles for shingle in own) >= MIN_SHARED * len(own)

    def _fits_between(self, before: list[str], words: list[str], after: list[str]) -> bool:
        """Whether a block too short to be recognised alone stands in the article between its neighbours."""
        if len(words) > SHINGLE_WORDS:
            return False
        following, preceding = (words + after)[:SHINGLE_WORDS], (before + words)[-SHINGLE_WORDS:]
        if len(words) == SHINGLE_WORDS:
            following, preceding = (words + after)[1 : SHINGLE_WORDS + 1], (before + words)[-SHINGLE_WORDS - 1 : -1]
        return tuple(following) in self.shingles or tuple(preceding) in self.shingles


def _is_real_caption(caption: HtmlElement, own_words: dict[HtmlElement, list[str]]) -> bool:
    """Whether it says something about a picture, and is not just the photographer's name."""
    figure = caption.getparent()
    return (
        len(own_words[caption]) >= CAPTION_WORDS and figure is not None and next(figure.iter("img"), None) is not None
    )


def _keep_whole_table(table: HtmlElement, own_words: dict[HtmlElement, list[str]], kept: set[HtmlElement]) -> None:
    """A table that is mostly kept is kept whole: cells that look empty hold its columns together.

    A table that contains tables or long texts is not a table but the layout of a page.
    """
    inside = [element for element in table.iter() if element in own_words]
    words = sum(len(own_words[element]) for element in inside)
    if next(table.iterdescendants("table"), None) is not None or any(
        len(own_words[cell]) > CELL_WORDS for cell in inside
    ):
        return
    if 2 * sum(len(own_words[element]) for element in inside if element in kept) > words:
        kept.update(inside)
        kept.update(table.iter("td", "th", "tr"))


def _is_between_kept(element: HtmlElement, kept: set[HtmlElement]) -> bool:
    """Whether kept blocks are both before and after it, within the nearest elements around it."""
    for steps, above in enumerate((element, *element.iterancestors())):
        if steps > 3 or above.tag in _NO_ARTICLE:
            return False
        before = any(sibling in kept for sibling in islice(above.itersiblings(preceding=True), MAX_SIBLINGS))
        after = any(sibling in kept for sibling in islice(above.itersiblings(), MAX_SIBLINGS))
        if before and after:
            return True
    return False


def _prune(root: HtmlElement, kept: set[HtmlElement], kept_or_above: set[HtmlElement]) -> None:
    stack: list[tuple[HtmlElement, bool]] = [(root, root in kept)]
    while stack:
        element, wanted = stack.pop()
        if not wanted:
            element.text = None
        for child in list(element):
            if child.tag in _BLOCKS:
                child_wanted = child in kept
                dropped = child not in kept_or_above
            else:
                child_wanted = wanted
                dropped = not wanted and child not in kept_or_above
            if not wanted:
                child.tail = None
            if dropped:
                drop(child)
            else:
                stack.append((child, child_wanted))
