"""Our words as values: what travels between the parts of chyme."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import NamedTuple

Box = tuple[float, float, float, float]
THUMBNAIL = "thumbnail.jpg"  # the artifact by which a file is shown in a list


def iso(at: datetime) -> str:
    """A moment as the database keeps it: ISO 8601 in UTC, of one width, so that text compares like time."""
    moment = at if at.tzinfo is UTC else at.astimezone(UTC)
    return moment.isoformat(timespec="microseconds")[:-6] + "Z"


class Kind(StrEnum):
    """What sort of thing a file is. It alone decides which digests the file gets."""

    URL = "url"
    DOCUMENT = "document"
    IMAGE = "image"
    AUDIO = "audio"
    VIDEO = "video"
    TEXT = "text"
    OTHER = "other"


class Lane(IntEnum):
    """Where a digest waits for its turn. Each lane has places of its own, so that none holds up another."""

    ORDINARY = 0
    LONG = 1  # takes minutes
    AWAY = 2  # waits for strangers on the network
    MODEL = 3  # waits for a model
    MEANING = 4  # small files gather there, and go on together


class Status(StrEnum):
    """The state of one digest."""

    TODO = "todo"
    IN_PROGRESS = "in-progress"
    COMPLETED = "completed"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells that a file on disk is still the one we looked at."""

    dev: str
    inode: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class File:
    """One file of the vault. `path` is relative to the vault, with forward slashes."""

    id: int
    path: str
    name: str
    kind: Kind
    mime: str
    stamp: Stamp
    hash: str
    generation: int
    escaped: bool = False  # the name on disk is not UTF-8; `path` holds it percent-escaped
    vanished_at: str | None = None
    created_at: str = ""
    updated_at: str = ""

    @property
    def size(self) -> int:
        return self.stamp.size


@dataclass(frozen=True, slots=True)
class Place:
    """Where a span of an output's text stands in the file: page, heading, seconds and speaker, or box."""

    start: int  # characters into the output's content
    end: int
    page: int | None = None  # counted from 1
    heading: str | None = None
    seconds: float | None = None
    until: float | None = None
    speaker: str | None = None
    box: Box | None = None  # x1, y1, x2, y2 in 0..1


@dataclass(frozen=True, slots=True)
class Passage:
    """A searchable piece of text with its place."""

    source: str  # the output it was cut from, or "file" for the file's own text
    ordinal: int
    text: str
    place: Place
    segmented: str | None = None  # what the index reads, where that differs from the text (CJK)


@dataclass(frozen=True, slots=True)
class Word:
    """One spoken word. `word` has no blanks around it; times are seconds into the file."""

    word: str
    start: float
    end: float
    probability: float


@dataclass(frozen=True, slots=True)
class Segment:
    """What one speaker said in one go."""

    start: float
    end: float
    text: str
    speaker: str | None = None  # a label of this file alone: speaker-1, speaker-2 …
    words: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """Somebody spoke from here to there, whatever was said."""

    start: float
    end: float
    speaker: str


@dataclass(frozen=True, slots=True)
class Transcript:
    """Everything said in one file, in order."""

    language: str | None  # as in `en`
    model: str
    duration: float
    segments: tuple[Segment, ...]
    note: str | None = None  # what could not be done


@dataclass(frozen=True, slots=True)
class Voice:
    """How one speaker of a file sounds."""

    speaker: str
    seconds: float  # how long they spoke
    model: str  # vectors of different models cannot be compared
    vector: tuple[float, ...]  # of length 1


@dataclass(frozen=True, slots=True)
class Artifact:
    """Bytes that belong to an output."""

    filename: str
    data: bytes


@dataclass(frozen=True, slots=True)
class TagVector:
    """What a tag means, as an embedder tells it."""

    tag: str
    model: str  # vectors of different models cannot be compared
    vector: tuple[float, ...]  # of length 1


@dataclass(frozen=True, slots=True)
class Embedded:
    """What passages mean, as an embedder tells it: a vector of length 1 for each, in their order."""

    model: str  # its name with all that changes its vectors: those of different models cannot be compared
    dimension: int
    vectors: bytes  # float32, little-endian, one after the other
    reused: tuple[int, ...] = ()  # passages without one here, because the vault has it from before


@dataclass(frozen=True, slots=True)
class Without:
    """Why something was made without the model that should have made it, and when that may be tried again."""

    provider: str  # how its settings begin: llm, vision
    reason: str
    category: str
    retry_after: float | None = None
    tried: bool = True  # False: the model was not even asked


@dataclass(frozen=True, slots=True)
class Question:
    """One call of a model, before it is made."""

    provider: str  # how its settings begin: llm, vision, speech, embedding
    host: str
    model: str
    hash: str  # of everything that is sent, the key apart: equal questions have equal answers
    own: bool = False  # the model runs in a child of ours: nothing leaves this machine


@dataclass(frozen=True, slots=True)
class Ticket:
    """Leave to make a call."""

    id: int
    wait: float = 0.0  # seconds to wait before it, so that calls do not come too close together


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model's server answered, byte for byte."""

    status: int
    media_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class CallEnd:
    """How a call ended."""

    outcome: str  # answered, refused (an HTTP error), unreachable (it was never sent whole), broken, cancelled
    seconds: float
    reply: Reply | None = None  # only of a call that was answered
    status: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None  # US dollars, where the price is known


@dataclass(frozen=True, slots=True)
class Output:
    """What a digester made. `content` is None when it looked and found nothing."""

    name: str
    content: str | None
    artifacts: tuple[Artifact, ...] = ()
    places: tuple[Place, ...] = ()
    passages: tuple[Passage, ...] = ()  # only the search digesters return these
    words: tuple[str, ...] = ()  # distinct words, for typo correction; search-keyword only
    voices: tuple[Voice, ...] = ()  # to be joined to people; speaker-embedding only
    tag_vectors: tuple[TagVector, ...] = ()  # tags and tag-embeddings only
    without: Without | None = None  # made by local rules, because a model could not
    embedded: Embedded | None = None  # what `passages` mean; search-semantic only


@dataclass(frozen=True, slots=True)
class Upstream:
    """A completed output as the digesters that read it see it."""

    name: str
    content: str | None
    places: tuple[Place, ...] = ()
    artifacts: Mapping[str, bytes] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Limits:
    """What one attempt may use."""

    wall_seconds: float
    cpu_seconds: float
    memory_bytes: int


class Digest(NamedTuple):
    """One row per file and output. A tuple, because a file's rows are read at every step."""

    id: str
    file_id: int
    file_path: str
    digester: str  # the output's name
    status: Status
    error: str | None
    error_category: str | None
    attempts: int
    interruptions: int
    settled: bool
    retry_at: str | None
    recipe: str | None
    input_hash: str | None
    content_hash: str | None
    run_id: str | None
    sqlar_name: str | None
    duration_ms: int | None
    created_at: str
    updated_at: str
    provider: str | None = None  # whose model should have made this, and did not or not yet


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on one file, for a while."""

    file_id: int
    token: str


class Mode(StrEnum):
    """Which digests are made again."""

    RESET = "reset"  # all, as if they had never been made
    RETRY = "retry"  # those that failed, or were made without their model
    OUTDATED = "outdated"  # those that an older recipe made


@dataclass(frozen=True, slots=True)
class Again:
    """Which digests of a file are to be made again."""

    mode: Mode = Mode.RETRY
    only: tuple[str, ...] | None = None  # names of outputs or digesters; None means all
    priority: int = 0  # before everything else: a person waits for it


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as the scan found it, before it has an identity of its own."""

    path: str
    escaped: bool
    kind: Kind
    mime: str
    stamp: Stamp
    hash: str
    link: str | None = None  # of a link file: its address, without password

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]
