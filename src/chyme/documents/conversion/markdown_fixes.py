"""Use markdown's own marks for what anydoc writes as plain text: pictures, tick boxes and numbered lists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from html import unescape
from typing import TYPE_CHECKING

from chyme.documents.conversion.zip_packages import Package

if TYPE_CHECKING:
    from anydoc import Block, Document

# No repeat runs over its own beginning, so that a million beginnings cost no more than a million letters.
_DESCRIBED = re.compile(rb"<wp:docPr\s[^<>]*?\bdescr=\"([^\"]+)\"")
_SHOWN = re.compile(r"!\[([^\[\]]*)\]\(")
_FIRST_BOX = re.compile(r"^( *)(?=[☐☑☒])", re.MULTILINE)
_TICKED = re.compile(r"[☑☒][ \t\xa0]*")
_OPEN = re.compile(r"☐[ \t\xa0]*")
_LABELLED = re.compile(r"^ *- (?P<label>\d{1,9}|[a-z]{1,9}|[A-Z]{1,9})\\?(?P<end>[.)]) (?P<text>.*)$", re.MULTILINE)
_NUMBERED = re.compile(r" *(\d{1,9})[.)] ")
_BULLETS = re.compile(r" *((?:- )+)")
_BULLET = -1
_ADDRESS = re.compile(r"\]\([^()]*\)")
_WORD = re.compile(r"[^\W_]+")
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}
_SAME = 8  # as many words tell most items from others


def mark_pictures(markdown: str, package: Package) -> str:
    """A Word document's descriptions of pictures as `![description]()`: its writer mostly never saw them."""
    waiting = Counter(_descriptions(package.read("word/document.xml") or b""))
    if not waiting:
        return markdown
    waiting.subtract(_plain(shown[1]) for shown in _SHOWN.finditer(markdown))
    lines = markdown.split("\n")
    for at, line in enumerate(lines):
        told = _plain(line)
        if told and waiting[told] > 0:
            waiting[told] -= 1
            lines[at] = line.replace(line.strip(), f"![{line.strip()}]()")
    return "\n".join(lines)


def _descriptions(source: bytes) -> Iterator[str]:
    for drawing in source.split(b"</w:drawing>")[:-1]:
        drawn = drawing[drawing.rfind(b"<w:drawing") :]
        told = _DESCRIBED.search(drawn) if b"<pic:pic" in drawn else None  # shapes have descriptions, too
        if told:
            yield _plain(unescape(told[1].decode("utf-8", "replace")))


def _plain(text: str) -> str:
    return " ".join(text.replace("\\", "").split())


def mark_boxes(markdown: str) -> str:
    """Tick boxes as markdown writes them: `- [x]` where they begin a line, `[x]` elsewhere."""
    return _OPEN.sub("[ ] ", _TICKED.sub("[x] ", _FIRST_BOX.sub(r"\1- ", markdown)))


def has_labels(markdown: str) -> bool:
    """Whether bullets may carry the numbers of a list that counts by letters, Roman numbers or brackets."""
    return _LABELLED.search(markdown) is not None


def mark_numbers(markdown: str, document: Document) -> str:
    """Lists that count `I.`, `a)` or `1)` as numbered lists, where markdown counts alike; all levels nest properly."""
    families: dict[str, dict[str, None]] = {}  # equal words may stand in lists that count differently
    for blocks in (document.blocks, *(note.blocks for note in document.notes)):
        for beginning, family in _counted(blocks):
            families.setdefault(beginning, {})[family] = None
    lines: list[str] = []
    inside: list[tuple[int, int]] = []  # where the text of each open item began, and how far it moved
    last: dict[int, int] = {}  # the number that stands last at each indent
    for line in markdown.split("\n"):
        if not line.strip():
            lines.append(line)
            continue
        indent = len(line) - len(line.lstrip(" "))
        while inside and indent < inside[-1][0]:
            inside.pop()
        moved = indent + (inside[-1][1] if inside else 0)
        last = {at: number for at, number in last.items() if at <= moved}
        item = _LABELLED.match(line)
        number = _count(item["label"], families.get(_key(item["text"]), ())) if item else 0
        mark, rest = "", line[indent:]
        if item and number and last.get(moved, number - 1) == number - 1:
            mark, rest = f"{number}{item['end']} ", item["text"]
        if item:
            inside.append((item.start("text"), moved + len(mark or "- ") - item.start("text")))
        lines.append(" " * moved + mark + rest)
        last.pop(moved, None)
        last.update(_standing(lines[-1]))
    return "\n".join(lines)


def _standing(line: str) -> dict[int, int]:
    """The number of an item by its indent; what follows a bullet is no number, lest one list become two."""
    item = _NUMBERED.match(line)
    if item:
        return {item.start(1): int(item[1])}
    bullets = _BULLETS.match(line)
    return dict.fromkeys(range(bullets.start(1), bullets.end(1), 2), _BULLET) if bullets else {}


def _counted(blocks: Iterable[Block]) -> Iterator[tuple[str, str]]:
    """How each item of a list begins, and by what its list counts."""
    for block in blocks:
        if block.blocks:
            yield from _counted(block.blocks)
        if block.list is None:
            continue
        family = block.list.marker
        for item in block.list.items:
            inner = item.blocks
            if inner and inner[0].content:
                yield _key("".join(_texts(inner[0]))), family
            yield from _counted(inner)


def _texts(block: Block) -> Iterator[str]:
    for inline in block.content or []:
        if inline.content:
            yield from (inner.text or " " for inner in inline.content)
        else:
            yield inline.text or " "


def _key(text: str) -> str:
    return " ".join(_WORD.findall(_ADDRESS.sub("] ", text))[:_SAME])


def _count(label: str, families: Iterable[str]) -> int:
    """What a label counts by the first family it fits; 0 when it fits none."""
    return next(filter(None, (_number(label, family) for family in families)), 0)


def _number(label: str, family: str) -> int:
    """What a label counts; 0 when it is none of its family."""
    letters = label.lower()
    if family == "decimal":
        return int(label) if label.isdigit() else 0
    if family.endswith("roman") and set(letters) <= set(_ROMAN):
        values = [_ROMAN[letter] for letter in letters]
        return sum(-one if one < two else one for one, two in zip(values, [*values[1:], 0], strict=True))
    if family.endswith("alpha") and letters.isalpha() and len(set(letters)) == 1:
        return 26 * (len(letters) - 1) + ord(letters[0]) - ord("a") + 1
    return 0
