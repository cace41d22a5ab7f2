"""A picture as seen by digesters that use its preview."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from free_calls import FreeCalls

from chyme.digester import Calls, StaysHome
from chyme.model import File, Kind, Stamp, Upstream

FILE = File(1, "a/pier.jpg", "pier.jpg", Kind.IMAGE, "image/jpeg", Stamp("1", "1", 1000, 0), "00", 1)


@dataclass(frozen=True)
class PictureSource(StaysHome):
    """Outputs made so far, and an original that does not need to be decoded."""

    file: File = FILE
    inputs: Mapping[str, Upstream] = field(default_factory=dict)
    scratch: Path = Path()
    asked: FreeCalls = field(default_factory=FreeCalls)

    @property
    def calls(self) -> Calls:
        return self.asked

    def open(self) -> BinaryIO:
        return io.BytesIO(b"the original")

    def output(self, name: str) -> Upstream | None:
        return self.inputs.get(name)

    def progress(self, fraction: float) -> None:
        assert 0 <= fraction <= 1
