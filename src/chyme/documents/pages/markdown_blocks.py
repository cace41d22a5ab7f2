"""Split markdown into the blocks of a page. Tolerant: everything unknown is a paragraph."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

PAGE_CHARS = 12_000  # more than fits on any first page
MAX_SPANS = 4_000
_HEADING = re.compile(r"^ {0,3}(#{1,6})\s+(.*?)\s*#*$")
_ITEM = re.compile(r"^(\s*)([-*+•]|\d{1,9}[.)])\s+(.*)$")
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)")
_RULE = re.compile(r"^ {0,3}([-*_])(?:\s*\1){2,}\s*$")
_DASHES = re.compile(r"^\s*\|?(?:\s*:?-+:?\s*\|)*\s*:?-+:?\s*\|?\s*$")
_CELL = re.compile(r"(?<!\\)\|")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,200}>|<!--.*?-->")
_AUTOLINK = re.compile(r"<((?:https?://|mailto:)[^\s<>]+)>")
_PICTURE = re.compile(r"!\[([^\]\n]{0,300})\]\([^)\n]{0,2000}\)")
_LINK = re.compile(r"\[([^\]\n]{0,500})\]\([^)\n]{0,2000}\)")
_INLINE = re.compile(
    r"(?<!\\)(\*\*\*|\*\*|__|`+)(?=\S)(.+?)(?<=\S)\1|(?<![\\\w*])\*(?=[^\s*])([^*]+?)(?<=\S)\*(?![\w*])"
)
_STRIKETHROUGH = re.compile(r"~~(?=\S)(.+?)(?<=\S)~~")
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|<>~$&])")

Kind = Literal["heading", "text", "item", "quote", "code", "table", "rule"]


@dataclass(frozen=True, slots=True)
class Span:
    """Words in one style."""

    text: str
    bold: bool = False
    mono: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """One block: spans for text, rows of cells for tables, lines for code."""

    kind: Kind
    spans: tuple[Span, ...] = ()
    level: int = 0
    marker: str = ""
    rows: tuple[tuple[str, ...], ...] = ()
    header: bool = False


def blocks_of(markdown: str) -> Iterator[Block]:
    """The blocks at the beginning of the text, as far as one page can show them."""
    lines = markdown[:PAGE_CHARS].expandtabs(4).splitlines()
    i = 0
    while i < len(lines):
        line = lines[i]
        if not line.strip():
            i += 1
        elif fence := _FENCE.match(line):
            end = next((n for n in range(i + 1, len(lines)) if lines[n].strip().startswith(fence[1])), len(lines))
            yield Block("code", tuple(Span(text, mono=True) for text in lines[i + 1 : end]))
            i = end + 1
        elif heading := _HEADING.match(line):
            yield Block("heading", spans_of(heading[2]), level=len(heading[1]))
            i += 1
        elif _RULE.match(line):
            yield Block("rule")
            i += 1
        elif line.lstrip().startswith("|"):
            end = next((n for n in range(i, len(lines)) if not lines[n].lstrip().startswith("|")), len(lines))
            yield _table(lines[i:end])
            i = end
        elif line.lstrip().startswith(">"):
            end = next((n for n in range(i, len(lines)) if not lines[n].lstrip().startswith(">")), len(lines))
            yield from _quote(lines[i:end])
            i = end
        elif item := _ITEM.match(line):
            end = _end_of_text(lines, i + 1)
            text = "\n".join([item[3], *map(str.strip, lines[i + 1 : end])])
            marker = item[2] if item[2][0].isdigit() else "•"
            yield Block("item", spans_of(text), level=min(4, len(item[1]) // 2), marker=marker)
            i = end
        else:
            end = _end_of_text(lines, i + 1)
            yield Block("text", spans_of("\n".join(map(str.strip, lines[i:end]))))
            i = end


def _end_of_text(lines: list[str], first: int) -> int:
    def begins_block(line: str) -> bool:
        stripped = line.lstrip()
        syntax = _HEADING.match(line) or _ITEM.match(line) or _FENCE.match(line) or _RULE.match(line)
        return not stripped or stripped[0] in "|>" or syntax is not None

    return next((number for number in range(first, len(lines)) if begins_block(lines[number])), len(lines))


def _quote(lines: list[str]) -> Iterator[Block]:
    text = "\n".join(line.strip().lstrip("> ") for line in lines)
    for part in re.split(r"\n\s*\n", text):
        if part.strip():
            yield Block("quote", spans_of(part))


def _table(lines: list[str]) -> Block:
    header = len(lines) > 1 and _DASHES.match(lines[1]) is not None
    row_lines = [line for line in lines if not _DASHES.match(line)]
    rows = []
    for line in row_lines:
        cells = _CELL.split(line.strip().strip("|"))
        rows.append(tuple(" ".join("".join(span.text for span in spans_of(cell)).split()) for cell in cells))
    return Block("table", rows=tuple(rows), header=header)


def spans_of(text: str) -> tuple[Span, ...]:
    """The text without its markup; bold and code keep their style."""
    text = _AUTOLINK.sub(r"\1", _LINK.sub(r"\1", _PICTURE.sub(_replace_picture, text)))
    text = _STRIKETHROUGH.sub(r"\1", _TAG.sub("", _BREAK.sub("\n", text)))
    spans: list[Span] = []
    position = 0
    for mark in _INLINE.finditer(text):
        if len(spans) >= MAX_SPANS:
            break
        spans += _plain_spans(text[position : mark.start()])
        if mark[1] is None:
            spans += _plain_spans(mark[3])
        elif mark[1].startswith("`"):
            spans.append(Span(mark[2], mono=True))
        else:
            spans += _plain_spans(mark[2].strip("*_"), bold=True)
        position = mark.end()
    spans += _plain_spans(text[position:])
    return tuple(spans)


def _replace_picture(match: re.Match[str]) -> str:
    description = match[1].strip()
    return f"[{description}]" if description else ""


def _plain_spans(text: str, bold: bool = False) -> list[Span]:
    words = html.unescape(_ESCAPE.sub(r"\1", text))
    return [Span(words, bold)] if words else []
