"""Use markdown syntax for what anydoc writes as plain text: pictures, tick boxes and numbered lists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from html import unescape
from typing import TYPE_CHECKING

from chyme.documents.conversion.picture_marks import authored
from chyme.documents.conversion.zip_packages import Package

if TYPE_CHECKING:
    from anydoc import Block, Document

# No repetition can match its own beginning, so that a million beginnings cost no more than a million letters.
_DESCRIPTION = re.compile(rb"<wp:docPr\s[^<>]*?\bdescr=\"([^\"]+)\"")
_SHOWN_PICTURE = re.compile(r"!\[([^\[\]]*)\]\(")
_FIRST_BOX = re.compile(r"^( *)(?=[☐☑☒])", re.MULTILINE)
_TICKED_BOX = re.compile(r"[☑☒][ \t\xa0]*")
_OPEN_BOX = re.compile(r"☐[ \t\xa0]*")
_LABELLED_ITEM = re.compile(
    r"^ *- (?P<label>\d{1,9}|[a-z]{1,9}|[A-Z]{1,9})\\?(?P<end>[.)]) (?P<text>.*)$", re.MULTILINE
)
_NUMBERED_ITEM = re.compile(r" *(\d{1,9})[.)] ")
_BULLETS = re.compile(r" *((?:- )+)")
_BULLET = -1
_ADDRESS = re.compile(r"\]\([^()]*\)")
_WORD = re.compile(r"[^\W_]+")
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}
_KEY_WORDS = 8  # so many words tell most items from others


def mark_pictures(markdown: str, package: Package) -> str:
    """Write a Word document's picture descriptions as `![description]()`: its author mostly never saw them."""
    remaining = Counter(_descriptions(package.read("word/document.xml") or b""))
    if not remaining:
        return markdown
    remaining.subtract(_plain(shown[1]) for shown in _SHOWN_PICTURE.finditer(markdown))
    lines = markdown.split("\n")
    for i, line in enumerate(lines):
        text = _plain(line)
        if text and remaining[text] > 0:
            remaining[text] -= 1
            lines[i] = line.replace(line.strip(), f"![{authored(line.strip())}]()")
    return "\n".join(lines)


def _descriptions(source: bytes) -> Iterator[str]:
    for drawing in source.split(b"</w:drawing>")[:-1]:
        drawn = drawing[drawing.rfind(b"<w:drawing") :]
        description = _DESCRIPTION.search(drawn) if b"<pic:pic" in drawn else None  # shapes have descriptions, too
        if description:
            yield _plain(unescape(description[1].decode("utf-8", "replace")))


def _plain(text: str) -> str:
    return " ".join(text.replace("\\", "").split())


def mark_boxes(markdown: str) -> str:
    """Tick boxes in markdown: `- [x]` at the beginning of a line, `[x]` elsewhere."""
    return _OPEN_BOX.sub("[ ] ", _TICKED_BOX.sub("[x] ", _FIRST_BOX.sub(r"\1- ", markdown)))


def has_labels(markdown: str) -> bool:
    """Whether bullets may carry the labels of a list that counts by letters, Roman numerals or brackets."""
    return _LABELLED_ITEM.search(markdown) is not None


def mark_numbers(markdown: str, document: Document) -> str:
    """Lists counted `I.`, `a)` or `1)` as numbered lists, where markdown counts alike; all levels nest properly."""
    families: dict[str, dict[str, None]] = {}  # equal words may be in lists that count differently
    for blocks in (document.blocks, *(note.blocks for note in document.notes)):
        for beginning, family in _list_items(blocks):
            families.setdefault(beginning, {})[family] = None
    lines: list[str] = []
    open_items: list[tuple[int, int]] = []  # where the text of each open item began, and how far it moved
    last_numbers: dict[int, int] = {}  # the last number at each indent
    for line in markdown.split("\n"):
        if not line.strip():
            lines.append(line)
            continue
        indent = len(line) - len(line.lstrip(" "))
        while open_items and indent < open_items[-1][0]:
            open_items.pop()
        new_indent = indent + (open_items[-1][1] if open_items else 0)
        last_numbers = {
            item_indent: number for item_indent, number in last_numbers.items() if item_indent <= new_indent
        }
        item = _LABELLED_ITEM.match(line)
        number = _count(item["label"], families.get(_key(item["text"]), ())) if item else 0
        mark, rest = "", line[indent:]
        if item and number and last_numbers.get(new_indent, number - 1) == number - 1:
            mark, rest = f"{number}{item['end']} ", item["text"]
        if item:
            open_items.append((item.start("text"), new_indent + len(mark or "- ") - item.start("text")))
        lines.append(" " * new_indent + mark + rest)
        last_numbers.pop(new_indent, None)
        last_numbers.update(_numbers_of_line(lines[-1]))
    return "\n".join(lines)


def _numbers_of_line(line: str) -> dict[int, int]:
    """The number of an item by its indent; what follows a bullet is no number, so that one list does not become two."""
    item = _NUMBERED_ITEM.match(line)
    if item:
        return {item.start(1): int(item[1])}
    bullets = _BULLETS.match(line)
    return dict.fromkeys(range(bullets.start(1), bullets.end(1), 2), _BULLET) if bullets else {}


def _list_items(blocks: Iterable[Block]) -> Iterator[tuple[str, str]]:
    """The beginning of each list item, and the numbering style of its list."""
    for block in blocks:
        if block.blocks:
            yield from _list_items(block.blocks)
        if block.list is None:
            continue
        family = block.list.marker
        for item in block.list.items:
            inner = item.blocks
            if inner and inner[0].content:
                yield _key("".join(_texts(inner[0]))), family
            yield from _list_items(inner)


def _texts(block: Block) -> Iterator[str]:
    for inline in block.content or []:
        if inline.content:
            yield from (inner.text or " " for inner in inline.content)
        else:
            yield inline.text or " "


def _key(text: str) -> str:
    return " ".join(_WORD.findall(_ADDRESS.sub("] ", text))[:_KEY_WORDS])


def _count(label: str, families: Iterable[str]) -> int:
    """The number a label stands for in the first style it fits; 0 if it fits none."""
    return next(filter(None, (_number(label, family) for family in families)), 0)


def _number(label: str, family: str) -> int:
    """The number a label stands for; 0 if it does not fit the style."""
    letters = label.lower()
    if family == "decimal":
        return int(label) if label.isdigit() else 0
    if family.endswith("roman") and set(letters) <= set(_ROMAN):
        values = [_ROMAN[letter] for letter in letters]
        return sum(
            -value if value < next_value else value for value, next_value in zip(values, [*values[1:], 0], strict=True)
        )
    if family.endswith("alpha") and letters.isalpha() and len(set(letters)) == 1:
        return 26 * (len(letters) - 1) + ord(letters[0]) - ord("a") + 1
    return 0
