"""The contract between chyme and everything that digests a file."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, ClassVar, Protocol

from chyme.model import File, Output, Upstream

PREPARING = ":prepare"  # behind a digester's name: the name of its preparation


class Source(Protocol):
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
    slow: ClassVar[bool] = False  # takes minutes: such files have places of their own, and hold up nobody else
    waits: ClassVar[bool] = False  # only waits on HTTP: runs in a thread, not in a child
    reusable: ClassVar[bool] = True  # False when it looks at vault-wide state
    counts: ClassVar[bool] = True  # False: never changes a document's status
    uses_name: ClassVar[bool] = False  # True: the file's name is part of its input
    keeps: ClassVar[bool] = False  # True: a repeated attempt finds its scratch folder as the last one left it
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
