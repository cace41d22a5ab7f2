"""Fits the lines of a text into a limit: all of them, or its beginning, middle and end."""

from __future__ import annotations

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
