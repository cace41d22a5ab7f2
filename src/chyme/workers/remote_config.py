"""What a coordinator tells workers, and the limits it sets itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TravellingDigester:
    """What a coordinator knows of a digester that may run elsewhere."""

    ability: str
    outputs: tuple[str, ...]
    lane: int
    keeps_scratch: bool


@dataclass(frozen=True, slots=True)
class RemoteConfig:
    """What a coordinator tells workers, and the limits it sets itself."""

    vault: str  # its name on the fabric
    config: Mapping[str, Any]
    config_id: str
    digesters: Mapping[str, TravellingDigester]
    answer_bytes: int
    run_as: int | None  # the user that children run as, if chyme is root
    remote_places: int
    home_waiting: int  # tasks that may wait for children here
    travels_always: bool = False  # with home_places = 0: nothing that may travel runs here
    version: str = ""
