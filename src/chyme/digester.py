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

PREPARING = ":prepare"  # suffix of a digester's name that names its preparation
WITHOUT = ":without"  # suffix of a digester's name that names its fallback without a model


class Outside(Protocol):
    """Connections to addresses that come from content, checked by the guard."""

    def connect(self, host: str, port: int, polite: bool = False) -> socket.socket:
        """Return a connection to an address from content if the guard allows it; the caller owns the socket.

        Only digesters with `goes_out` may call this. `polite` connections to the same host are spaced out, so this call
        may wait. Raises AddressRefused, NetworkFailed, TimedOut, or RateLimited while the host has asked for a pause.
        """

    def hold(self, host: str, seconds: float) -> None:
        """Record that the host asked for a pause: for this long, polite connections to it fail and cost no attempt."""


class Calls(Protocol):
    """Gatekeeper in front of every model: it knows budgets, pauses and earlier answers. Calls may block."""

    def begin(self, question: Question) -> Ticket | Reply:
        """Return permission to call, or the stored reply if this exact question was already paid for.

        Raises BudgetSpent when the day's budget is spent or calls are paused, EngineUnavailable for a file that must
        not leave this machine, and the provider's last error while the provider is being left alone (`tried` is False).
        """

    def end(self, ticket: Ticket, end: CallEnd) -> None:
        """Record how the call ended; the record is on disk when this returns."""

    def answered(self, provider: str) -> None:
        """Record that the provider works: everything that waited for it may continue."""

    def failed(self, provider: str, error: DigestError, outage: bool) -> None:
        """Record that the provider failed. `outage`: the provider is at fault, not this question."""


class StaysHome:
    """Base for sources of digesters that use neither network nor models."""

    @property
    def calls(self) -> Calls:
        raise UsageError("this source has no access to models, but was asked for one")

    def connect(self, host: str, port: int, polite: bool = False) -> socket.socket:
        raise UsageError(f"this source has no network access, but was asked to connect to {host}:{port}")

    def hold(self, host: str, seconds: float) -> None:
        raise UsageError(f"this source has no network access, but was asked to wait for {host}")


class Source(Outside, Protocol):
    """One file as a digester sees it: its metadata, its bytes, and the outputs listed in the digester's `reads`."""

    @property
    def file(self) -> File: ...

    @property
    def scratch(self) -> Path:
        """A private folder; for digesters with `keeps` it survives until the digest is settled."""

    @property
    def calls(self) -> Calls:
        """Access to models; only for attempts that wait on HTTP."""

    def open(self) -> BinaryIO:
        """The file's bytes, from the beginning."""

    def output(self, name: str) -> Upstream | None:
        """A completed output listed in `reads` (its content may be None); None when it did not complete."""

    def progress(self, fraction: float) -> None:
        """Report how far this attempt is, from 0 to 1."""


class Digester(ABC):
    """Turns one file into one or more outputs. Never touches the database, the clock or the settings."""

    name: ClassVar[str]
    label: ClassVar[str]
    description: ClassVar[str]
    outputs: ClassVar[tuple[str, ...]] = ()  # defaults to (name,)
    reads: ClassVar[tuple[str, ...]] = ()  # upstream outputs; the only declaration of dependencies
    optional_reads: ClassVar[frozenset[str]] = frozenset()  # subset of `reads` not waited for while a model makes them
    reads_artifacts: ClassVar[bool] = True  # False: it reads only texts, so pictures are not sent to it
    version: ClassVar[int] = 1  # increase it to mark older digests as out of date
    family: ClassVar[str] = "parsers"  # which group of child processes runs it
    quick: ClassVar[bool] = False  # takes milliseconds for a small file: several such files share a thread
    lane: Lane = Lane.ORDINARY  # work that takes minutes or waits for others has its own lanes
    waits: ClassVar[bool] = False  # only waits on HTTP: runs in a thread, not in a child
    reusable: ClassVar[bool] = True  # False when it depends on vault-wide state
    counts: ClassVar[bool] = True  # False: never changes a document's status
    uses_name: ClassVar[bool] = False  # True: the file's name is part of its input
    keeps: ClassVar[bool] = False  # True: a repeated attempt finds the scratch folder as the last attempt left it
    goes_out: ClassVar[bool] = False  # True: its child may ask the guard for connections; it has no other network
    captures: ClassVar[bool] = False  # True: its result may be impossible to get again, so it survives failed attempts
    prepares: ClassVar[bool] = False  # True: before an attempt that waits on HTTP, `prepare` runs in a child
    falls_back: ClassVar[bool] = False  # True: when its model fails, `without_model` runs in a child instead
    gathers: ClassVar[bool] = False  # True: `digest_many` digests small files together, which is faster

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "outputs" not in cls.__dict__ and "name" in cls.__dict__:
            cls.outputs = (cls.name,)

    @property
    def reads_at_most(self) -> Mapping[str, int]:
        """How many characters it reads of upstream outputs that are plain text and may be very long."""
        return {}

    @property
    def fingerprint(self) -> str:
        """Engine, model and prompt, as far as they affect the result. Must not load the engine."""
        return ""

    @cached_property
    def recipe(self) -> str:
        """The hash that shows whether a digest is up to date."""
        identity = f"{self.name}\0{self.version}\0{self.fingerprint}"
        return hashlib.sha256(identity.encode()).hexdigest()[:16]

    @property
    def embedder(self) -> str | None:
        """The model that makes its vectors of passages; None for a digester without vectors."""
        return None

    @abstractmethod
    def can_digest(self, file: File) -> bool:
        """Whether files of this kind ever get these outputs. Depends on the file alone."""

    def waits_for(self, file: File) -> bool:
        """Whether the attempt at this file only waits on HTTP. Otherwise it runs in a child without network."""
        return self.waits

    def prepare(self, source: Source) -> None:
        """Do the work that needs a parser before an attempt that waits on HTTP; results go into `scratch`."""
        raise NotImplementedError

    def turn(self, file: File) -> AbstractContextManager[object]:
        """A context that is entered before the attempt's time limit starts: its turn at a model that handles one
        request at a time. Waiting for it costs the attempt nothing."""
        return contextlib.nullcontext()

    def asks(self, file: File) -> str | None:
        """The provider whose model an attempt at this file calls, as the prefix of its settings (llm, vision …), or
        None."""
        return None

    def without_model(self, source: Source) -> list[Output]:
        """Make all declared outputs locally. Runs in a child, after a failed model call or instead of one.

        `scratch` is as `prepare` left it.
        """
        raise NotImplementedError

    def time_limit(self, source: Source) -> float:
        """Seconds that one attempt may take."""
        return 600.0

    @abstractmethod
    def digest(self, source: Source) -> list[Output]:
        """Return all declared outputs, or raise a DigestError."""

    def digest_many(self, sources: Sequence[Source]) -> list[list[Output] | DigestError]:
        """For each source, in order, all declared outputs or the error. Any other exception says nothing about
        individual sources: each is then tried alone."""
        return [self._outputs_or_error(source) for source in sources]

    def _outputs_or_error(self, source: Source) -> list[Output] | DigestError:
        try:
            return self.digest(source)
        except DigestError as error:
            return error
