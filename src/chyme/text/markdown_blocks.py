"""Splits Markdown into blocks of plain text, each with its type."""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from chyme.text.markdown_lines import clean_line, join_texts

_RECENT = 2  # texts whose blocks are remembered
_MAX_BLOCK = 4000  # characters of one block; a longer paragraph is split
_MENU_SHARE = 0.5  # a block with a larger share of link text is a menu

_FENCE = re.compile(r"(`{3,}|~{3,})")
_HEADING = re.compile(r"#{1,6}(?:\s+|$)")
_RULE = re.compile(r"(?:[-*_=]\s?){3,}")
_ITEM = re.compile(r"(?:[-*+•]|\d{1,3}[.)])\s+")
_QUOTE = re.compile(r"(?:>\s?)+")
_DEFINITION = re.compile(r"\[[^\[\]]{1,200}\]:\s")
_ROW_EDGE = re.compile(r"[|:\-+=\s]+")

# Every repeat is bounded, so that a page of brackets costs no more than a page of letters.
_TARGET = r"\([^()\s]{0,2000}(?:\([^()\s]{0,200}\)[^()\s]{0,500})?(?:\s[^()]{0,300})?\)"
_PICTURE = re.compile(rf"!\[[^\[\]]{{0,500}}\](?:{_TARGET}|\[[^\[\]]{{0,100}}\])")
_LINK = re.compile(rf"\[([^\[\]]{{0,500}})\](?:{_TARGET}|\[[^\[\]]{{0,100}}\])")
_BARE_URL = re.compile(r"<?https?://[^\s<>]{1,2000}>?")
_TAG = re.compile(r"</?[A-Za-z!][^<>]{0,500}>")
_FOOTNOTE = re.compile(r"\[\^?\d{1,3}\]|\[\^[^\[\]\s]{1,30}\]")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_PROTECTED = re.compile("[\ue021-\ue07e]")
_STRONG = re.compile(r"\*{2,3}|__|~~|`{1,3}")
_EMPHASIS = re.compile(r"(?<![\w*])[*_](?=\S)|(?<=\S)[*_](?![\w*])")
_DATA_LENGTH = 120
_DATA = re.compile(rf"[A-Za-z0-9+/=_%.:;,&?#~-]{{{_DATA_LENGTH},}}")  # data in place of a picture
_REPEATED_STOPS = re.compile(r"([.!?…]{3})[.!?…]+")


class BlockType(Enum):
    """The type of a block."""

    HEADING = auto()
    PARAGRAPH = auto()
    ITEM = auto()
    ASIDE = auto()  # a table row or a line of code
    MENU = auto()  # links and little else


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of text on one line, without markup."""

    sort: BlockType
    text: str


def blocks_of(markdown: str) -> list[Block]:
    """The blocks in order; none is empty."""
    return list(_read_again(markdown))


@functools.lru_cache(_RECENT)
def _read_again(markdown: str) -> tuple[Block, ...]:
    """The blocks of a text, which is read for its language, its title and its subjects one after the other."""
    return tuple(block for block in _read_blocks(markdown.split("\n")) if block.text)


def _read_blocks(lines: Sequence[str]) -> Iterator[Block]:
    fence = ""
    sort = BlockType.PARAGRAPH
    pending: list[str] = []

    def flush() -> Iterator[Block]:
        nonlocal sort
        yield from _split_block(sort, join_texts(pending))
        pending.clear()
        sort = BlockType.PARAGRAPH

    for line in lines:
        stripped = _QUOTE.sub("", line.strip(), count=1) if line.lstrip()[:1] == ">" else line.strip()
        mark = _FENCE.match(stripped)
        if fence:
            fence = "" if mark and stripped == mark[0] and stripped.startswith(fence) else fence
            yield Block(BlockType.ASIDE, "" if mark else clean_line(stripped[:_MAX_BLOCK]))
        elif mark:
            yield from flush()
            fence = mark[0]
        elif not stripped or _DEFINITION.match(stripped):
            yield from flush()
        elif _HEADING.match(stripped):
            yield from flush()
            yield from _split_block(BlockType.HEADING, _HEADING.sub("", stripped, count=1).rstrip("# "))
        elif _RULE.fullmatch(stripped[:200]):
            if len(pending) == 1 and stripped[0] in "=-" and sort is BlockType.PARAGRAPH:
                sort = BlockType.HEADING  # underlined
            yield from flush()
        elif stripped[0] == "|" or stripped.count(" | ") > 1:
            yield from flush()
            cells = "" if _ROW_EDGE.fullmatch(stripped[:_MAX_BLOCK]) else stripped.strip("|").replace("|", " ")
            yield from (Block(BlockType.ASIDE, block.text) for block in _split_block(BlockType.ASIDE, cells))
        elif _ITEM.match(stripped):
            yield from flush()
            sort = BlockType.ITEM
            pending.append(_ITEM.sub("", stripped, count=1))
        elif not pending and line.startswith(("    ", "\t")):
            yield Block(BlockType.ASIDE, clean_line(stripped[:_MAX_BLOCK]))
        else:
            pending.append(stripped)
    yield from flush()


def _split_block(sort: BlockType, text: str) -> Iterator[Block]:
    start = 0
    while start < len(text):
        stop = min(start + _MAX_BLOCK, len(text))
        if stop < len(text):
            blank = text.rfind(" ", start + _MAX_BLOCK // 2, stop)
            stop = blank if blank > 0 else stop
        plain, linked = _strip_markup(text[start:stop])
        yield Block(
            BlockType.MENU if plain and linked > _MENU_SHARE * len(plain) and sort is not BlockType.HEADING else sort,
            plain,
        )
        start = stop


def _strip_markup(text: str) -> tuple[str, int]:
    """The text as a reader sees it, and how many of its characters are in links."""
    linked = 0

    def label(link: re.Match[str]) -> str:
        nonlocal linked
        linked += len(link[1])
        return link[1]

    # A plain search is much faster than an expression, and most texts have none of these marks.
    if "\\" in text:
        text = _ESCAPED.sub(lambda match: chr(0xE000 + ord(match[1])), text)
    if "](" in text or "][" in text:
        text = _LINK.sub(label, _PICTURE.sub("", text))
    if "://" in text:
        text = _BARE_URL.sub(" ", text)
    if "<" in text:
        text = _TAG.sub(" ", text)
    if any(len(word) >= _DATA_LENGTH for word in text.split()):
        text = _DATA.sub(" ", text)
    if "[" in text:
        text = _FOOTNOTE.sub("", text)
    if any(mark in text for mark in "*_~`"):
        text = _EMPHASIS.sub("", _STRONG.sub("", text))
    if not text.isascii():
        text = _PROTECTED.sub(lambda match: chr(ord(match[0]) - 0xE000), text)
    return clean_line(_REPEATED_STOPS.sub(r"\1", html.unescape(text))), linked
