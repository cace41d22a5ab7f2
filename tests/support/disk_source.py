"""A file on disk as a digester sees it, read in this process."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from free_calls import FreeCalls

from chyme.digester import Calls, Outside
from chyme.files.kind_detection import HEAD_BYTES, identify
from chyme.model import File, Stamp, Upstream


@dataclass(frozen=True)
class DiskSource:
    """The bytes of a file, its outputs so far, and the reported progress (`heard`)."""

    path: Path
    file: File
    scratch: Path
    inputs: Mapping[str, Upstream] = field(default_factory=dict)
    heard: list[float] = field(default_factory=list)
    outside: Outside | None = None
    calls: Calls = field(default_factory=FreeCalls)

    def open(self) -> BinaryIO:
        return self.path.open("rb")

    def output(self, name: str) -> Upstream | None:
        return self.inputs.get(name)

    def progress(self, fraction: float) -> None:
        assert 0 <= fraction <= 1
        self.heard.append(fraction)

    def connect(self, host: str, port: int, polite: bool = False) -> socket.socket:
        assert self.outside is not None, "this digester does not go out"
        return self.outside.connect(host, port, polite)

    def hold(self, host: str, seconds: float) -> None:
        assert self.outside is not None, "this digester does not go out"
        self.outside.hold(host, seconds)


def file_of(path: Path) -> File:
    """The file, with the kind determined from its content."""
    data = path.read_bytes()
    kind, mime = identify(path.name, data[:HEAD_BYTES], len(data), lambda at, length: data[at : at + length])
    return File(1, path.name, path.name, kind, mime, Stamp("1", "1", len(data), 0), "", 1)


def source_of(path: Path, scratch: Path = Path("/nonexistent")) -> DiskSource:
    return DiskSource(path, file_of(path), scratch)
