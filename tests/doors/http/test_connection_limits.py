"""How many connections a server may hold, by its settings and the descriptors it has."""

from __future__ import annotations

import pytest

from chyme.doors.http.connections import limit_connections


@pytest.mark.parametrize(
    ("descriptors", "vaults", "total", "per_address", "expected"),
    [
        (20_000, 1, 0, 0, (1000, 500)),
        (1024, 1, 0, 0, (384, 192)),
        (1024, 3, 0, 0, (256, 128)),
        (64, 1, 0, 0, (16, 8)),
        (20_000, 1, 4000, 0, (4000, 2000)),
        (1024, 1, 4000, 0, (384, 192)),
        (20_000, 1, 0, 5, (1000, 5)),
        (20_000, 1, 100, 5000, (100, 100)),
    ],
)
def test_connections_stay_below_the_descriptors_and_one_address_below_all(
    descriptors: int, vaults: int, total: int, per_address: int, expected: tuple[int, int]
) -> None:
    limits = limit_connections(descriptors, vaults, total, per_address, 10.0, 60.0)
    assert (limits.total, limits.per_address) == expected
