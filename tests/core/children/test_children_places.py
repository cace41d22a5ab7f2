"""Which tasks may run now, and which idle children make room for them."""

from __future__ import annotations

from collections import Counter

import pytest

from chyme.core.children.places import ALIKE, MAX_IDLE_BYTES, Family, IdleChild, Places, choose_surplus

GIGABYTE = 1 << 30
FAMILIES = {
    "documents": Family(2, GIGABYTE),
    "pictures": Family(2, GIGABYTE),
    "text": Family(2, GIGABYTE, quick=True),
    "web": Family(4, GIGABYTE, waits=True),
}


@pytest.mark.parametrize(
    ("family", "running", "expected"),
    [
        ("documents", {}, True),
        ("documents", {"pictures": 1}, True),
        ("documents", {"pictures": 2}, False),  # every core computes
        ("documents", {"documents": 1, "text": 1}, False),
        ("text", {"pictures": 2}, True),  # quick work has a place of its own
        ("text", {"pictures": 1, "text": 1}, False),
        ("text", {"pictures": 2, "text": 1}, False),
        ("web", {"pictures": 2, "text": 1}, True),  # waiting needs no core
        ("web", {"web": 4}, False),
        ("documents", {"web": 4}, True),
    ],
)
def test_as_many_tasks_compute_as_there_are_cores(family: str, running: dict[str, int], expected: bool) -> None:
    assert Places(FAMILIES, cores=2).has_room(family, Counter(running)) is expected


def test_without_a_number_of_cores_only_the_families_limit_their_tasks() -> None:
    places = Places(FAMILIES)

    assert places.has_room("documents", Counter(pictures=2, documents=1))
    assert not places.has_room("documents", Counter(documents=2))
    assert places.max_living is None


def test_children_that_wait_are_not_counted_against_the_cores() -> None:
    assert Places(FAMILIES, cores=2).max_living == 2 + 1


WAITS, COMPUTES = IdleChild(10, counts=False), IdleChild(10)
LARGE, LARGER = IdleChild(MAX_IDLE_BYTES // 2), IdleChild(MAX_IDLE_BYTES // 2 + ALIKE)
OFFICE = IdleChild(ALIKE, program=True)


@pytest.mark.parametrize(
    ("idle", "living", "max_living", "used", "budget", "expected"),
    [
        ([COMPUTES, COMPUTES], 3, None, 100, None, []),
        ([COMPUTES, COMPUTES], 3, 4, 100, None, []),
        ([COMPUTES, COMPUTES], 4, 4, 100, None, [0]),  # room for one more
        ([WAITS, COMPUTES], 4, 4, 100, None, [1]),  # one that waits takes no room
        ([WAITS, WAITS], 4, 4, 100, None, []),
        ([COMPUTES, COMPUTES], 3, None, 100, 95, [0]),
        ([WAITS, COMPUTES], 3, None, 100, 95, [0]),  # but memory
        ([COMPUTES, COMPUTES], 3, None, 100, 85, [0, 1]),
        ([COMPUTES, COMPUTES], 3, None, 100, 50, [0, 1]),  # all of them, and it is still too much
        ([LARGE, COMPUTES], 4, 4, 100, None, [1]),  # the smaller one is sooner loaded again
        ([OFFICE, LARGE], 4, 4, 100, None, [1]),  # a program starts more slowly than a model loads
        ([OFFICE], 4, 4, 100, None, [0]),
        ([COMPUTES, LARGE, LARGER], 3, None, 100, None, [1]),  # idle ones hold too much, small ones not to blame
        ([LARGER, LARGER, LARGER], 3, None, 100, None, [0, 1]),
        ([], 3, 3, 100, 50, []),
    ],
)
def test_idle_children_end_until_there_is_room(
    idle: list[IdleChild], living: int, max_living: int | None, used: int, budget: int | None, expected: list[int]
) -> None:
    assert choose_surplus(idle, living, max_living, used, budget) == expected
