"""The contract between chyme and everything that digests a file."""

from __future__ import annotations

import contextlib
import hashlib
import socket
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, ClassVar, Protocol

from chyme.errors import DigestError, UsageError
from chyme.model import CallEnd, File, Form, Kind, Lane, Output, Question, Reply, Ticket, Upstream

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
        """A private folder; for digesters with `keeps_scratch` it survives until the digest is settled."""

    @property
    def calls(self) -> Calls:
        """Access to models; only for attempts that wait on HTTP."""

    def open(self) -> BinaryIO:
        """The file's bytes, from the beginning."""

    def output(self, name: str) -> Upstream | None:
        """A completed output listed in `reads` (its content may be None); None when it did not complete."""

    def progress(self, fraction: float) -> None:
        """Report how far this attempt is, from 0 to 1."""


class Title(Enum):
    """Whether an output brings the document's title, which counts until a classifier finds a better one."""

    NONE = "none"
    OWN = "own"
    FALLBACK = "fallback"  # only where no other output brings one


@dataclass(frozen=True, slots=True)
class Makes:
    """What an output is, for everyone who does not know it by name."""

    form: Form = Form.DATA  # of its content
    picture: str | None = None  # the artifact that shows the file
    title: Title = Title.NONE  # whether `Output.title` is the document's title
    corrects: str | None = None  # the output that this is a better version of
    essential_for: frozenset[Kind] = frozenset()  # if it fails for good, files of these kinds count as unreadable


@dataclass(frozen=True, slots=True)
class Inputs:
    """How a digester reads, besides `reads`."""

    optional: frozenset[str] = frozenset()  # subset of `reads` not waited for while a model makes them
    forms: frozenset[Form] = frozenset()  # it also reads every other output of these forms, plug-ins' too
    artifacts: bool = True  # False: it reads only texts, so pictures are not sent to it
    file_name: bool = False  # True: the file's name is part of its input


FAMILIES = frozenset(
    {"text", "words", "parsers", "pictures", "pages", "media", "speech", "web", "embedding", "meaning"}
)


@dataclass(frozen=True, slots=True)
class Runs:
    """How a digester runs."""

    family: str = "text"  # which group of child processes runs it; "text" is the cheapest
    lane: Lane = Lane.ORDINARY  # work that takes minutes or waits for others has its own lanes
    quick: bool = False  # takes milliseconds for a small file: several such files share a thread
    gathers: bool = False  # `digest_many` digests small files together, which is faster
    waits: bool = False  # only waits on HTTP: runs in a thread, not in a child
    prepares: bool = False  # before an attempt that waits on HTTP, `prepare` runs in a child
    goes_out: bool = False  # its child may ask the guard for connections; it has no other network
    keeps_scratch: bool = False  # a repeated attempt finds the scratch folder as the last attempt left it


@dataclass(frozen=True, slots=True)
class Promises:
    """What others may rely on."""

    reusable: bool = True  # False when it depends on vault-wide state
    counts: bool = True  # False: never changes a document's status
    captures: bool = False  # its result may be impossible to get again, so it survives failed attempts
    falls_back: bool = False  # when its model fails, `without_model` runs in a child instead


class Digester(ABC):
    """Turns one file into one or more outputs. Never touches the database, the clock or the settings."""

    name: ClassVar[str]
    label: ClassVar[str]
    description: ClassVar[str]
    version: ClassVar[int] = 1  # increase it to mark older digests as out of date
    makes: ClassVar[Makes | Mapping[str, Makes]] = Makes()  # its one output, or each of several by name
    reads: tuple[str, ...] = ()  # upstream outputs; the only declaration of dependencies
    inputs: Inputs = Inputs()  # what else it reads, and how
    runs: Runs = Runs()
    promises: Promises = Promises()
    outputs: tuple[str, ...] = ()  # the names in `makes`
    traits: Mapping[str, Makes] = MappingProxyType({})  # the same with what each output is

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "makes" in cls.__dict__ or "name" in cls.__dict__:
            made = cls.makes if isinstance(cls.makes, Mapping) else {cls.name: cls.makes}
            cls.outputs, cls.traits = tuple(made), MappingProxyType(dict(made))

    @property
    def max_text(self) -> int | None:
        """How many characters it reads of each upstream output of the form TEXT, which may be very long; None: all."""
        return None

    @property
    def fingerprint(self) -> str:
        """Engine, model and prompt, as far as they affect the result. Must not load the engine."""
        return ""

    @property
    def portable_fingerprint(self) -> str:
        """The same in words that mean the same on every machine: versions and hashes instead of paths and file times.

        Another machine may run this digester only if its words are equal. Empty means that it never may.
        """
        return self.fingerprint or "nothing but its version"

    @cached_property
    def recipe(self) -> str:
        """The hash that shows whether a digest is up to date."""
        identity = f"{self.name}\0{self.version}\0{self.fingerprint}"
        return hashlib.sha256(identity.encode()).hexdigest()[:16]

    @property
    def embedder(self) -> str | None:
        """The model that makes its vectors of passages; None for a digester without vectors."""
        return None

    def preload(self) -> None:
        """Load what every file needs, code and models, before any file is seen.

        Runs once, in the process that children are copied from: they share that memory. It must not start threads.
        """
        return

    @abstractmethod
    def can_digest(self, file: File) -> bool:
        """Whether files of this kind ever get these outputs. Depends on the file alone."""

    def waits_for(self, file: File) -> bool:
        """Whether the attempt at this file only waits on HTTP. Otherwise it runs in a child without network."""
        return self.runs.waits

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
