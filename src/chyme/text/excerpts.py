"""As many lines of a text as there is room for: all of them, or its beginning, middle and end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_SHARES = (0.4, 0.3, 0.3)  # of the room: beginning, middle, end


@dataclass(frozen=True, slots=True)
class Excerpts:
    """The lines that fit, and which part of all of them they are."""

    text: str
    share: float  # from 0 to 1


def take_excerpts(lines: Sequence[str], characters: int, gap: str) -> Excerpts:
    """The lines if they fit, else three stretches of them, with `gap` where others are left out."""
    sizes = [len(line) + 1 for line in lines]
    total = sum(sizes)
    if total <= characters:
        return Excerpts("\n".join(lines), 1.0)
    first, middle, last = (int(characters * share) for share in _SHARES)
    head = _fitting(sizes, 0, len(lines), first)
    tail = len(lines) - _fitting(sizes[::-1], 0, len(lines) - head, last)
    start = _middle(sizes, head, tail, middle)
    stop = start + _fitting(sizes, start, tail, middle)
    kept = [range(head), range(start, stop), range(tail, len(lines))]
    told: list[str] = []
    for stretch in kept:
        if told and stretch:
            told.append(gap)
        told += [lines[at] for at in stretch]
    taken = sum(sizes[at] for stretch in kept for at in stretch)
    return Excerpts("\n".join(told), taken / total)


def _fitting(sizes: Sequence[int], start: int, stop: int, characters: int) -> int:
    """How many lines from `start` on fit; at least one where there is one, as a line may be longer than the budget."""
    count = taken = 0
    while start + count < stop and (taken + sizes[start + count] <= characters or count == 0):
        taken += sizes[start + count]
        count += 1
    return count


def _middle(sizes: Sequence[int], start: int, stop: int, characters: int) -> int:
    """Where a stretch of this length begins that stands in the middle of the rest."""
    skip = (sum(sizes[start:stop]) - characters) // 2
    at = start
    while at < stop - 1 and skip > sizes[at]:
        skip -= sizes[at]
        at += 1
    return at
