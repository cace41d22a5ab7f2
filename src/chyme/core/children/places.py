"""Which tasks may run in children now: rules on places and memory, without processes or threads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """Tasks that need the same engines, and the limits of the children that run them."""

    count: int  # how many of its tasks run at once
    memory_bytes: int  # the most memory one task may add to a child
    idle_seconds: float = 60.0
    recycle_growth_bytes: int = 256 << 20
    memory_setting: str = "parser_memory_mb"  # the setting that error messages tell people to raise
    may_connect: bool = False  # to other hosts, through the guard
    pool: str = ""  # families of one pool share their children; empty: it has its own
    waits: bool = False  # it mostly waits for other hosts, so it needs no core
    quick: bool = False  # takes milliseconds: one such task may run when every core is busy
    light: bool = False  # needs nothing that is loaded in advance for its pool, so it need not wait for that


@dataclass(frozen=True, slots=True)
class Places:
    """How many tasks may run at once, together and by family."""

    families: Mapping[str, Family]
    cores: int | None = None  # None: no limit but the families' own

    def has_room(self, family: str, running: Counter[str]) -> bool:
        """Whether one more task of this family may start beside the running ones."""
        wanted = self.families[family]
        if running[family] >= wanted.count:
            return False
        if self.cores is None or wanted.waits:
            return True
        computing = sum(count for name, count in running.items() if not self.families[name].waits)
        quick = sum(count for name, count in running.items() if self.families[name].quick)
        return computing < self.cores or (wanted.quick and quick == 0)

    @property
    def max_living(self) -> int | None:
        """How many children that compute may live, idle ones included; more are ended before another starts."""
        return None if self.cores is None else self.cores + 1


MAX_IDLE_BYTES = 224 << 20  # memory of idle children, beyond which some of them end
ALIKE = 32 << 20  # bytes; children whose memory differs by less are as good as each other


@dataclass(frozen=True, slots=True)
class IdleChild:
    """A child without a task."""

    memory: int
    counts: bool = True  # it takes one of the places of children that live
    program: bool = False  # it has started a program, which takes a second to start


def choose_surplus(
    idle: Sequence[IdleChild], living: int, max_living: int | None, used: int, budget: int | None
) -> list[int]:
    """Which idle children to end before another task starts: their positions.

    There must be room for one more child that counts, idle ones may hold only so much memory, and all children
    together must fit their budget. The smallest end first, of two alike the one that was idle longer (`idle` begins
    with it): a large one would have to load its model again. Those that run a program end last.
    """
    ended: list[int] = []
    kept = sum(child.memory for child in idle)
    order = sorted(range(len(idle)), key=lambda position: (idle[position].program, idle[position].memory // ALIKE))
    for position in order:
        child = idle[position]
        crowded = max_living is not None and living >= max_living and child.counts
        too_much = child.memory >= ALIKE and kept > MAX_IDLE_BYTES
        if crowded or too_much or (budget is not None and used > budget):
            ended.append(position)
            used, kept = used - child.memory, kept - child.memory
            living -= child.counts
    return ended
