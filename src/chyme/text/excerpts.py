"""Excerpts of a text: its beginning, middle and end for a model, its first lines for a card in a list."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_SHARES = (0.4, 0.3, 0.3)  # of the limit: beginning, middle, end


@dataclass(frozen=True, slots=True)
class Excerpts:
    """The lines that fit, and their share of the whole text."""

    text: str
    share: float  # from 0 to 1

    @property
    def note(self) -> str:
        """What was left out, to follow "written by the model"; empty if nothing was."""
        return "" if self.share == 1.0 else f" from its beginning, middle and end, {max(self.share, 0.01):.0%} of it"


def take_excerpts(lines: Sequence[str], characters: int, gap: str) -> Excerpts:
    """The lines if they fit, otherwise three stretches of them, with `gap` where lines are left out."""
    sizes = [len(line) + 1 for line in lines]
    total = sum(sizes)
    if total <= characters:
        return Excerpts("\n".join(lines), 1.0)
    first, middle, last = (int(characters * share) for share in _SHARES)
    head = _count_fitting(sizes, 0, len(lines), first)
    tail = len(lines) - _count_fitting(sizes[::-1], 0, len(lines) - head, last)
    start = _middle_start(sizes, head, tail, middle)
    stop = start + _count_fitting(sizes, start, tail, middle)
    stretches = [range(head), range(start, stop), range(tail, len(lines))]
    excerpt: list[str] = []
    for stretch in stretches:
        if excerpt and stretch:
            excerpt.append(gap)
        excerpt += [lines[i] for i in stretch]
    taken = sum(sizes[i] for stretch in stretches for i in stretch)
    return Excerpts("\n".join(excerpt), taken / total)


def _count_fitting(sizes: Sequence[int], start: int, stop: int, characters: int) -> int:
    """How many lines from `start` on fit; at least one if there is one, as a line may be longer than the limit."""
    count = taken = 0
    while start + count < stop and (taken + sizes[start + count] <= characters or count == 0):
        taken += sizes[start + count]
        count += 1
    return count


def _middle_start(sizes: Sequence[int], start: int, stop: int, characters: int) -> int:
    """Where a stretch of this length starts so that it is in the middle of the rest."""
    skip = (sum(sizes[start:stop]) - characters) // 2
    position = start
    while position < stop - 1 and skip > sizes[position]:
        skip -= sizes[position]
        position += 1
    return position


LENGTH = 400  # characters
LINES = 10
CHARACTERS_READ = 2000  # characters of the text that are read
_FRONT_MATTER = re.compile(r"---[ \t]*\n(?:[^\n]*\n){0,60}?---[ \t]*(?:\n|$)")
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]+|[ \t]+#+[ \t]*$", re.MULTILINE)
_QUOTE = re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE)
_ITEM = re.compile(r"^([ \t]*)[-*+][ \t]+(?:\[([ xX])\][ \t]+)?", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*$\n?", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\s]{0,500}\)")
_STRONG = re.compile(r"\*{1,3}(?=\S)([^*\n]{1,300}?)(?<=\S)\*{1,3}|`([^`\n]{1,300})`")
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+")
_BULLETS = {None: "•", " ": "☐", "x": "☑", "X": "☑"}


def first_lines(text: str, markdown: bool) -> str:
    """At most LINES lines and LENGTH characters of a note, without blank lines and Markdown's markup."""
    head = _INVISIBLE.sub("", text[:CHARACTERS_READ].replace("\r\n", "\n").replace("\r", "\n"))
    if markdown:
        head = _remove_markup(_FRONT_MATTER.sub("", head, count=1) if head.startswith("---") else head)
    lines = [line.rstrip().expandtabs(4) for line in head.split("\n") if line.strip()]
    shown = "\n".join(lines[:LINES])
    return shown if len(shown) <= LENGTH else shown[: LENGTH - 1].rstrip() + "…"


def _remove_markup(text: str) -> str:
    text = _QUOTE.sub("", _HEADING.sub("", _FENCE.sub("", text)))
    text = _ITEM.sub(lambda item: f"{item[1]}{_BULLETS[item[2]]} ", text)
    return _STRONG.sub(lambda match: match[1] or match[2], _LINK.sub(r"\1", text))
