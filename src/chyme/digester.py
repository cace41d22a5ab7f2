"""The contract between chyme and everything that digests a file."""

from __future__ import annotations

import hashlib
import socket
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, ClassVar, Protocol

from chyme.errors import UsageError
from chyme.model import File, Lane, Output, Upstream

PREPARING = ":prepare"  # behind a digester's name: the name of its preparation


class Outside(Protocol):
    """The world of addresses that come from content, behind the guard."""

    def connect(self, host: str, port: int, polite: bool = False) -> socket.socket:
        """A connection to an address that comes from content, where the guard lets it through; it is the caller's.

        Only digesters that say `goes_out` are given any. `polite` connections to one host are a while apart, and wait.
        Raises AddressRefused, NetworkFailed, TimedOut, or RateLimited while the host has asked for a pause.
        """

    def hold(self, host: str, seconds: float) -> None:
        """Note that the host asked for a pause: polite connections to it fail for so long, at no cost."""


class StaysHome:
    """For sources of digesters that never go out."""

    def connect(self, host: str, port: int, polite: bool = False) -> socket.socket:
        raise UsageError(f"nobody here goes out, and somebody asked for {host}:{port}")

    def hold(self, host: str, seconds: float) -> None:
        raise UsageError(f"nobody here goes out, and somebody wants to wait for {host}")


class Source(Outside, Protocol):
    """One file as a digester sees it: plain values, its bytes, and the outputs it declared in `reads`."""

    @property
    def file(self) -> File: ...

    @property
    def scratch(self) -> Path:
        """A private folder, kept until the verdict for digesters that say `keeps`."""

    def open(self) -> BinaryIO:
        """The file's bytes, from the beginning."""

    def output(self, name: str) -> Upstream | None:
        """A completed output named in `reads`, whose content may be None; None when it did not complete."""

    def progress(self, fraction: float) -> None:
        """Tell whoever watches how far this attempt is, from 0 to 1."""


class Digester(ABC):
    """Turns one file into one or more outputs. Never touches database, clock or settings."""

    name: ClassVar[str]
    label: ClassVar[str]
    description: ClassVar[str]
    outputs: ClassVar[tuple[str, ...]] = ()  # defaults to (name,)
    reads: ClassVar[tuple[str, ...]] = ()  # upstream outputs; the only declaration of dependency
    reads_artifacts: ClassVar[bool] = True  # False: it looks at texts alone, so pictures need not travel to it
    version: ClassVar[int] = 1  # raise it: older digests are out of date
    family: ClassVar[str] = "parsers"  # which group of child processes runs it
    quick: ClassVar[bool] = False  # takes milliseconds for a small file: several such files share a thread
    lane: ClassVar[Lane] = Lane.ORDINARY  # what takes minutes, or waits for strangers, has places of its own
    waits: ClassVar[bool] = False  # only waits on HTTP: runs in a thread, not in a child
    reusable: ClassVar[bool] = True  # False when it looks at vault-wide state
    counts: ClassVar[bool] = True  # False: never changes a document's status
    uses_name: ClassVar[bool] = False  # True: the file's name is part of its input
    keeps: ClassVar[bool] = False  # True: a repeated attempt finds its scratch folder as the last one left it
    goes_out: ClassVar[bool] = False  # True: its child may ask the guard for connections, and has no other network
    captures: ClassVar[bool] = False  # True: what it made may not be had again; it outlives attempts that fail
    prepares: ClassVar[bool] = False  # True: before an attempt that waits on HTTP, `prepare` runs in a child

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "outputs" not in cls.__dict__ and "name" in cls.__dict__:
            cls.outputs = (cls.name,)

    @property
    def reads_at_most(self) -> Mapping[str, int]:
        """How many characters it looks at, for upstream outputs that are plain text and may be very long."""
        return {}

    @property
    def fingerprint(self) -> str:
        """Engine, model and prompt, as far as they change what comes out. Must not load the engine."""
        return ""

    @cached_property
    def recipe(self) -> str:
        """The hash by which a digest is known to be up to date."""
        told = f"{self.name}\0{self.version}\0{self.fingerprint}"
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    @abstractmethod
    def can_digest(self, file: File) -> bool:
        """Whether this kind of file ever has these outputs. By the file alone."""

    def waits_for(self, file: File) -> bool:
        """Whether this file's attempt only waits on HTTP. Otherwise it runs in a child, which has no network."""
        return self.waits

    def prepare(self, source: Source) -> None:
        """Whatever needs a parser, before an attempt that waits on HTTP; it leaves what it made in `scratch`."""
        raise NotImplementedError

    def time_limit(self, source: Source) -> float:
        """Seconds one attempt may take."""
        return 600.0

    @abstractmethod
    def digest(self, source: Source) -> list[Output]:
        """All declared outputs, or a DigestError."""
