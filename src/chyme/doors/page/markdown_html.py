"""Markdown as safe HTML: no raw HTML, no pictures, only links to the web and to mail.

All of it is pure Python: markdown comes from untrusted files, and this runs in the serving process. Callers must limit
the text: a hostile one takes some 15 s for each megabyte.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

DEEPEST = 20  # levels of nested quotes and lists
_ALLOWED_SCHEMES = ("http://", "https://", "mailto:")
_LOWEST_LEVEL = 6
_LEVEL_OFFSET = 2  # levels: the page has its own headings above these
_MARKABLE = frozenset({"paragraph_open", "heading_open", "fence", "code_block", "tr_open"})
_RUNNING_TEXT = re.compile(r"^<!-- (header|footer): (.*) -->$")  # how the text of a document tells these
_ALIGN_CLASSES = {"text-align:right": "right", "text-align:center": "centre"}


def render_markdown(markdown: str, start: int | None = None, end: int | None = None) -> str:
    """Return the HTML. Blocks with characters `start` to `end` get the class `found`, the first also that id."""
    lines = None
    if start is not None and end is not None:
        lines = (markdown.count("\n", 0, start), markdown.count("\n", 0, max(end - 1, start)) + 1)
    return str(_parser.render(markdown, {"found": lines}))


def _adapt_tokens(state: StateCore) -> None:
    """Adapt links, pictures, headings and tables to the page."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + _LEVEL_OFFSET, _LOWEST_LEVEL)}"
        elif token.type in ("th_open", "td_open"):
            aligned = _ALIGN_CLASSES.get(str(token.attrs.pop("style", "")))
            if aligned:
                token.attrSet("class", aligned)
        elif token.type == "fence":
            token.info = ""  # otherwise it becomes part of a class
        if token.children:
            token.children[0].content = _RUNNING_TEXT.sub(r"\1: \2", token.children[0].content)
            _adapt_links(token.children)


def _adapt_links(tokens: Sequence[Token]) -> None:
    open_links: list[str] = []
    for token in tokens:
        if token.type == "link_open":
            is_external = str(token.attrs.get("href", "")).lower().startswith(_ALLOWED_SCHEMES)
            open_links.append("a" if is_external else "span")
            href = token.attrs.get("href", "")
            token.tag = open_links[-1]
            token.attrs = (
                {"href": href, "rel": "noopener noreferrer nofollow", "target": "_blank"} if is_external else {}
            )
        elif token.type == "link_close" and open_links:
            token.tag = open_links.pop()
        elif token.type == "image":
            token.type, token.tag, token.nesting = "text", "", 0
            token.content = _plain_text(token.children or ())
            token.children = None


def _plain_text(tokens: Sequence[Token]) -> str:
    return "".join(token.content for token in tokens)


def _mark_found(state: StateCore) -> None:
    """Mark the blocks that were asked for."""
    lines = state.env.get("found")
    if lines is None:
        return
    first = True
    for index, token in enumerate(state.tokens):
        target = token
        if token.type == "paragraph_open" and token.hidden:  # of a tight list: only the item is rendered
            target = state.tokens[index - 1]
        is_found = token.type in _MARKABLE and token.map and token.map[0] < lines[1] and token.map[1] > lines[0]
        if is_found:
            target.attrJoin("class", "found")
            if first:
                target.attrSet("id", "found")
            first = False


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:
        """Accept every link here: `_adapt_links` checks them and keeps the text of a refused one without its markup."""
        return True


def _create_parser() -> MarkdownIt:
    parser = _Parser("commonmark", {"html": False, "maxNesting": DEEPEST}).enable(["table", "strikethrough"])
    parser.core.ruler.push("calm", _adapt_tokens)
    parser.core.ruler.push("find", _mark_found)
    return parser


_parser = _create_parser()
