"""One digester at work on one file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from chyme.digester import Digester
from chyme.model import Digest, File, Lease


@dataclass(frozen=True, slots=True)
class Attempt:
    """One digester at work on one file."""

    lease: Lease
    file: File
    digester: Digester
    outputs: tuple[str, ...]
    run_id: str
    number: int  # which attempt at these outputs it is, counted from 1
    input_hash: str
    inputs: tuple[str, ...]  # the available outputs that it reads
    seconds: float
    started: datetime
    before: dict[str, Digest]  # its rows before it started
