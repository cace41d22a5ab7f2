"""Opens vaults for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from coordinating import Bench, Clock

from chyme.core.pipeline.retry_policy import RetryPolicy
from chyme.digester import Digester


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def bench(tmp_path: Path, clock: Clock) -> Iterator[Callable[..., Bench]]:
    """Opens a vault with the given digesters."""
    opened: list[Bench] = []

    def open_bench(*registry: Digester, policy: RetryPolicy | None = None) -> Bench:
        root = tmp_path / "vault"
        root.mkdir(exist_ok=True)
        opened.append(Bench(root, clock, *registry, policy=policy))
        return opened[-1]

    yield open_bench
    for each in opened:
        each.close()
