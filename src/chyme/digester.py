"""The contract between chyme and everything that digests a file."""

from __future__ import annotations

import contextlib
import hashlib
import socket
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, ClassVar, Protocol

from chyme.errors import DigestError, UsageError
from chyme.model import CallEnd, File, Lane, Output, Question, Reply, Ticket, Upstream

PREPARING = ":prepare"  # behind a digester's name: the name of its preparation
WITHOUT = ":without"  # behind a digester's name: the name of what it does without its model


class Outside(Protocol):
    """The world of addresses that come from content, behind the guard."""

    def connect(self, host: str, port: int, polite: bool = False) -> socket.socket:
        """A connection to an address that comes from content, where the guard lets it through; it is the caller's.

        Only digesters that say `goes_out` are given any. `polite` connections to one host are a while apart, and wait.
        Raises AddressRefused, NetworkFailed, TimedOut, or RateLimited while the host has asked for a pause.
        """

    def hold(self, host: str, seconds: float) -> None:
        """Note that the host asked for a pause: polite connections to it fail for so long, at no cost."""


class Calls(Protocol):
    """The counter in front of every model: it knows budgets, pauses and what was answered before. Calls may block."""

    def begin(self, question: Question) -> Ticket | Reply:
        """Leave to call, or the reply to this very question, which was paid for before.

        Raises BudgetSpent when the day's budget is spent or calls are paused, EngineUnavailable for a file that must
        not leave this machine, and what the provider failed with last while it is left alone (`tried` is False).
        """

    def end(self, ticket: Ticket, end: CallEnd) -> None:
        """How the call ended; it is on disk when this returns."""

    def answered(self, provider: str) -> None:
        """The provider answers as it should: whatever waited for it may go on."""

    def failed(self, provider: str, error: DigestError, outage: bool) -> None:
        """The provider failed. `outage`: it is its own fault, not that of this question."""


class StaysHome:
    """For sources of digesters that never go out."""

    @property
    def calls(self) -> Calls:
        raise UsageError("nobody here asks a model, and somebody wants to")

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

    @property
    def calls(self) -> Calls:
        """Through whom models are asked; only for attempts that wait on HTTP."""

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
    optional_reads: ClassVar[frozenset[str]] = frozenset()  # those of `reads` not waited for while a model makes them
    reads_artifacts: ClassVar[bool] = True  # False: it looks at texts alone, so pictures need not travel to it
    version: ClassVar[int] = 1  # raise it: older digests are out of date
    family: ClassVar[str] = "parsers"  # which group of child processes runs it
    quick: ClassVar[bool] = False  # takes milliseconds for a small file: several such files share a thread
    lane: Lane = Lane.ORDINARY  # what takes minutes, or waits for others, has places of its own
    waits: ClassVar[bool] = False  # only waits on HTTP: runs in a thread, not in a child
    reusable: ClassVar[bool] = True  # False when it looks at vault-wide state
    counts: ClassVar[bool] = True  # False: never changes a document's status
    uses_name: ClassVar[bool] = False  # True: the file's name is part of its input
    keeps: ClassVar[bool] = False  # True: a repeated attempt finds its scratch folder as the last one left it
    goes_out: ClassVar[bool] = False  # True: its child may ask the guard for connections, and has no other network
    captures: ClassVar[bool] = False  # True: what it made may not be had again; it outlives attempts that fail
    prepares: ClassVar[bool] = False  # True: before an attempt that waits on HTTP, `prepare` runs in a child
    falls_back: ClassVar[bool] = False  # True: when its model cannot, `without_model` does it in a child
    gathers: ClassVar[bool] = False  # True: small files go through `digest_many` together, which is faster

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

    @property
    def embedder(self) -> str | None:
        """The model whose vectors of passages it hands on; None for a digester that has none."""
        return None

    @abstractmethod
    def can_digest(self, file: File) -> bool:
        """Whether this kind of file ever has these outputs. By the file alone."""

    def waits_for(self, file: File) -> bool:
        """Whether this file's attempt only waits on HTTP. Otherwise it runs in a child, which has no network."""
        return self.waits

    def prepare(self, source: Source) -> None:
        """Whatever needs a parser, before an attempt that waits on HTTP; it leaves what it made in `scratch`."""
        raise NotImplementedError

    def turn(self, file: File) -> AbstractContextManager[object]:
        """What an attempt that waits on HTTP must have before its time begins to run: its turn at a model that has
        only one. Waiting for it costs the attempt nothing."""
        return contextlib.nullcontext()

    def asks(self, file: File) -> str | None:
        """Whose model an attempt at this file asks (how its settings begin: llm, vision …); None for nobody's."""
        return None

    def without_model(self, source: Source) -> list[Output]:
        """All declared outputs, made here. Runs in a child, after a failed attempt to ask a model, or instead of one.

        `scratch` is as `prepare` left it.
        """
        raise NotImplementedError

    def time_limit(self, source: Source) -> float:
        """Seconds one attempt may take."""
        return 600.0

    @abstractmethod
    def digest(self, source: Source) -> list[Output]:
        """All declared outputs, or a DigestError."""

    def digest_many(self, sources: Sequence[Source]) -> list[list[Output] | DigestError]:
        """For each source, in order, all declared outputs or why there are none. Whatever else is raised tells nothing
        about any of them: each is then tried by itself."""
        return [self._outputs_or_error(source) for source in sources]

    def _outputs_or_error(self, source: Source) -> list[Output] | DigestError:
        try:
            return self.digest(source)
        except DigestError as error:
            return error
