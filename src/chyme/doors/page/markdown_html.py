"""Markdown as HTML that nothing can hide in: no raw HTML, no pictures, links to the web and to mail alone.

All of it is Python: markdown comes from strangers, and this runs in the serving process. Whoever calls it bounds the
text; a hostile one takes some 15 s for each megabyte.
"""

from __future__ import annotations

from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

DEEPEST = 20  # quotes in lists in quotes
_LEADS_OUT = ("http://", "https://", "mailto:")
_LOWEST = 6
_BELOW = 2  # the page has headings of its own above these
_FOUND = frozenset({"paragraph_open", "heading_open", "fence", "code_block", "tr_open"})
_ALIGNED = {"text-align:right": "right", "text-align:center": "centre"}


def render_markdown(markdown: str, start: int | None = None, end: int | None = None) -> str:
    """The HTML. Blocks in which characters `start` to `end` stand have the class `found`, the first one as its id."""
    lines = None
    if start is not None and end is not None:
        lines = (markdown.count("\n", 0, start), markdown.count("\n", 0, max(end - 1, start)) + 1)
    return str(_parser.render(markdown, {"found": lines}))


def _calm(state: StateCore) -> None:
    """Links, pictures, headings and tables as this page has them."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + _BELOW, _LOWEST)}"
        elif token.type in ("th_open", "td_open"):
            aligned = _ALIGNED.get(str(token.attrs.pop("style", "")))
            if aligned:
                token.attrSet("class", aligned)
        elif token.type == "fence":
            token.info = ""  # else it becomes part of a class
        if token.children:
            _links(token.children)


def _links(tokens: Sequence[Token]) -> None:
    open_links: list[str] = []
    for token in tokens:
        if token.type == "link_open":
            out = str(token.attrs.get("href", "")).lower().startswith(_LEADS_OUT)
            open_links.append("a" if out else "span")
            href = token.attrs.get("href", "")
            token.tag = open_links[-1]
            token.attrs = {"href": href, "rel": "noopener noreferrer nofollow", "target": "_blank"} if out else {}
        elif token.type == "link_close" and open_links:
            token.tag = open_links.pop()
        elif token.type == "image":
            token.type, token.tag, token.nesting = "text", "", 0
            token.content = _words(token.children or ())
            token.children = None


def _words(tokens: Sequence[Token]) -> str:
    return "".join(token.content for token in tokens)


def _find(state: StateCore) -> None:
    """Mark the blocks that were asked for."""
    lines = state.env.get("found")
    if lines is None:
        return
    first = True
    for at, token in enumerate(state.tokens):
        shown = token
        if token.type == "paragraph_open" and token.hidden:  # of a tight list: the item is what is seen
            shown = state.tokens[at - 1]
        wanted = token.type in _FOUND and token.map and token.map[0] < lines[1] and token.map[1] > lines[0]
        if wanted:
            shown.attrJoin("class", "found")
            if first:
                shown.attrSet("id", "found")
            first = False


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:
        """Judged in `_links`, which leaves the words of a refused link and no markup."""
        return True


def _made() -> MarkdownIt:
    parser = _Parser("commonmark", {"html": False, "maxNesting": DEEPEST}).enable(["table", "strikethrough"])
    parser.core.ruler.push("calm", _calm)
    parser.core.ruler.push("find", _find)
    return parser


_parser = _made()
