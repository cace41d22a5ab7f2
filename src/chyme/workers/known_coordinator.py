"""A coordinator, as a worker knows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from chyme.workers.worker_run import Children


class VaultChildren(Children, Protocol):
    def close(self) -> None: ...


@dataclass
class KnownCoordinator:
    """A coordinator that was heard of."""

    vault: str
    id: str
    heard: float
    wants: bool = False  # it has work, as far as we know
    config_id: str = ""  # of the configuration that our abilities were computed with
    abilities: dict[str, str] = field(default_factory=dict)
    misfits: dict[str, str] = field(default_factory=dict)
    children: VaultChildren | None = None
    introduced: float = 0.0  # when we last introduced ourselves
    foreign: bool = False  # it speaks another version

    @property
    def has_work(self) -> bool:
        """Whether it is worth asking for work, as far as we know."""
        return self.wants and bool(self.abilities) and not self.foreign
