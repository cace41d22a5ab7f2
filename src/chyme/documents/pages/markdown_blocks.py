"""Cut markdown into the blocks of a page. Forgiving: what it does not know is a paragraph."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

PAGE_CHARS = 12_000  # more than any first page holds
SPANS = 4_000
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
_STRUCK = re.compile(r"~~(?=\S)(.+?)(?<=\S)~~")
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|<>~$&])")

Kind = Literal["heading", "text", "item", "quote", "code", "table", "rule"]


@dataclass(frozen=True, slots=True)
class Span:
    """Words of one look."""

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
    """The blocks of the text's beginning, as far as one page can show them."""
    lines = markdown[:PAGE_CHARS].expandtabs(4).splitlines()
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
        elif fence := _FENCE.match(line):
            end = next((n for n in range(at + 1, len(lines)) if lines[n].strip().startswith(fence[1])), len(lines))
            yield Block("code", tuple(Span(text, mono=True) for text in lines[at + 1 : end]))
            at = end + 1
        elif heading := _HEADING.match(line):
            yield Block("heading", spans_of(heading[2]), level=len(heading[1]))
            at += 1
        elif _RULE.match(line):
            yield Block("rule")
            at += 1
        elif line.lstrip().startswith("|"):
            end = next((n for n in range(at, len(lines)) if not lines[n].lstrip().startswith("|")), len(lines))
            yield _table(lines[at:end])
            at = end
        elif line.lstrip().startswith(">"):
            end = next((n for n in range(at, len(lines)) if not lines[n].lstrip().startswith(">")), len(lines))
            yield from _quote(lines[at:end])
            at = end
        elif item := _ITEM.match(line):
            end = _end_of_text(lines, at + 1)
            text = "\n".join([item[3], *map(str.strip, lines[at + 1 : end])])
            marker = item[2] if item[2][0].isdigit() else "•"
            yield Block("item", spans_of(text), level=min(4, len(item[1]) // 2), marker=marker)
            at = end
        else:
            end = _end_of_text(lines, at + 1)
            yield Block("text", spans_of("\n".join(map(str.strip, lines[at:end]))))
            at = end


def _end_of_text(lines: list[str], at: int) -> int:
    def begins(line: str) -> bool:
        start = line.lstrip()
        known = _HEADING.match(line) or _ITEM.match(line) or _FENCE.match(line) or _RULE.match(line)
        return not start or start[0] in "|>" or known is not None

    return next((number for number in range(at, len(lines)) if begins(lines[number])), len(lines))


def _quote(lines: list[str]) -> Iterator[Block]:
    text = "\n".join(line.strip().lstrip("> ") for line in lines)
    for part in re.split(r"\n\s*\n", text):
        if part.strip():
            yield Block("quote", spans_of(part))


def _table(lines: list[str]) -> Block:
    header = len(lines) > 1 and _DASHES.match(lines[1]) is not None
    kept = [line for line in lines if not _DASHES.match(line)]
    rows = []
    for line in kept:
        cells = _CELL.split(line.strip().strip("|"))
        rows.append(tuple(" ".join("".join(span.text for span in spans_of(cell)).split()) for cell in cells))
    return Block("table", rows=tuple(rows), header=header)


def spans_of(text: str) -> tuple[Span, ...]:
    """The text without its markup; bold and code keep their look."""
    text = _AUTOLINK.sub(r"\1", _LINK.sub(r"\1", _PICTURE.sub(_picture, text)))
    text = _STRUCK.sub(r"\1", _TAG.sub("", _BREAK.sub("\n", text)))
    spans: list[Span] = []
    at = 0
    for mark in _INLINE.finditer(text):
        if len(spans) >= SPANS:
            break
        spans += _plain(text[at : mark.start()])
        if mark[1] is None:
            spans += _plain(mark[3])
        elif mark[1].startswith("`"):
            spans.append(Span(mark[2], mono=True))
        else:
            spans += _plain(mark[2].strip("*_"), bold=True)
        at = mark.end()
    spans += _plain(text[at:])
    return tuple(spans)


def _picture(found: re.Match[str]) -> str:
    told = found[1].strip()
    return f"[{told}]" if told else ""


def _plain(text: str, bold: bool = False) -> list[Span]:
    words = html.unescape(_ESCAPE.sub(r"\1", text))
    return [Span(words, bold)] if words else []
