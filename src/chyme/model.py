"""The values that travel between the parts of chyme."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import NamedTuple

Box = tuple[float, float, float, float]
THUMBNAIL = "thumbnail.jpg"  # the artifact that represents a file in lists


def iso(at: datetime) -> str:
    """A timestamp as the database stores it: ISO 8601 in UTC with fixed width, so that text sorts like time."""
    in_utc = at if at.tzinfo is UTC else at.astimezone(UTC)
    return in_utc.isoformat(timespec="microseconds")[:-6] + "Z"


class Kind(StrEnum):
    """What sort of thing a file is. The kind alone decides which digests the file gets."""

    URL = "url"
    DOCUMENT = "document"
    IMAGE = "image"
    AUDIO = "audio"
    VIDEO = "video"
    TEXT = "text"
    OTHER = "other"


class Form(StrEnum):
    """What the content of an output is, so that it can be searched and shown without knowing who made it."""

    TEXT = "text"  # Markdown of the file itself; places say where on a page or in a picture
    TRANSCRIPT = "transcript"  # JSON: `segments` with `start`, `end`, `text`, `speaker`
    SUMMARY = "summary"  # Markdown about the file
    CAPTION = "caption"  # JSON: `text` says what a picture shows
    OBJECTS = "objects"  # JSON: `objects` in a picture, each with `name`, `description`, `box`
    PAGE_FACTS = "page-facts"  # JSON: what a web page says about itself, with its `url`
    PICTURE_FACTS = "picture-facts"  # JSON: what a picture says about itself
    MEDIA_FACTS = "media-facts"  # JSON: what a recording says about itself
    PAGES = "pages"  # JSON: number of `pages`, `width` and `height` of the first
    SCREENSHOT = "screenshot"  # JSON: `width` and `height` of a picture of a web page
    PAGE_COPY = "page-copy"  # JSON: `artifact` is a copy of a web page
    SPEAKERS = "speakers"  # JSON: `speakers` of a recording
    CLASSIFICATION = "classification"  # JSON: title, summary, date, language, tags
    TAGS = "tags"  # JSON: `tags`
    NAME = "name"  # a name for the file
    DATA = "data"  # anything else: shown as it is, not searched


class Lane(IntEnum):
    """The queue of a digest. Each lane has its own worker places, so that no lane blocks another."""

    ORDINARY = 0
    LONG = 1  # takes minutes
    AWAY = 2  # waits for foreign servers on the network
    MODEL = 3  # waits for a model
    MEANING = 4  # small files are collected here and processed together


class Status(StrEnum):
    """The state of one digest."""

    TODO = "todo"
    IN_PROGRESS = "in-progress"
    COMPLETED = "completed"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Stamp:
    """Shows whether a file on disk is still the one that was examined."""

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
    """Where a span of an output's text is in the file: page, heading, seconds and speaker, or box."""

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
    segmented: str | None = None  # the text for the index where it differs (CJK)


@dataclass(frozen=True, slots=True)
class Word:
    """One spoken word. `word` has no spaces around it; times are seconds into the file."""

    word: str
    start: float
    end: float
    probability: float


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of speech by one speaker."""

    start: float
    end: float
    text: str
    speaker: str | None = None  # a label within this file: speaker-1, speaker-2 …
    words: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """A time span in which one speaker talks, without the text."""

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
    """The voice of one speaker in a file."""

    speaker: str
    seconds: float  # how long they spoke
    model: str  # vectors of different models cannot be compared
    vector: tuple[float, ...]  # of length 1


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file that belongs to an output."""

    filename: str
    data: bytes


@dataclass(frozen=True, slots=True)
class TagVector:
    """The meaning of a tag as a vector."""

    tag: str
    model: str  # vectors of different models cannot be compared
    vector: tuple[float, ...]  # of length 1


@dataclass(frozen=True, slots=True)
class Embedded:
    """The meanings of passages: one vector of length 1 for each, in order."""

    model: str  # name and everything that affects its vectors: vectors of different models cannot be compared
    dimension: int
    vectors: bytes  # float32, little-endian, one after the other
    reused: tuple[int, ...] = ()  # passages without a vector here, because the vault already has it


@dataclass(frozen=True, slots=True)
class Without:
    """Why an output was made without its model, and when the model may be tried again."""

    provider: str  # prefix of its settings: llm, vision
    reason: str
    category: str
    retry_after: float | None = None
    tried: bool = True  # False: the model was not called


@dataclass(frozen=True, slots=True)
class Question:
    """One model call, before it is made."""

    provider: str  # prefix of its settings: llm, vision, speech, embedding
    host: str
    model: str
    hash: str  # of everything sent except the API key: equal questions have equal answers
    own: bool = False  # the model runs in our own child process: nothing leaves this machine


@dataclass(frozen=True, slots=True)
class Ticket:
    """Permission to make a call."""

    id: int
    wait: float = 0.0  # seconds to wait before the call, to space calls out


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model's server answered, byte for byte."""

    status: int
    media_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class CallEnd:
    """How a call ended."""

    outcome: str  # answered, refused (an HTTP error), unreachable (not sent completely), broken, cancelled
    seconds: float
    reply: Reply | None = None  # only for answered calls
    status: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None  # US dollars, where the price is known


@dataclass(frozen=True, slots=True)
class Output:
    """The result of a digester. `content` is None when it looked and found nothing."""

    name: str
    content: str | None
    artifacts: tuple[Artifact, ...] = ()
    places: tuple[Place, ...] = ()
    passages: tuple[Passage, ...] = ()  # only the search digesters return these
    words: tuple[str, ...] = ()  # distinct words, for typo correction; search-keyword only
    voices: tuple[Voice, ...] = ()  # to be assigned to people; speaker-embedding only
    tag_vectors: tuple[TagVector, ...] = ()  # tags and tag-embeddings only
    without: Without | None = None  # set when local rules made this because the model failed
    embedded: Embedded | None = None  # the vectors of `passages`; search-semantic only
    title: str | None = None  # the document's title, where the output promises one (`Makes.title`)
    unfinished: bool = False  # it can be used, and the rest is made by another attempt when nothing else is to do


@dataclass(frozen=True, slots=True)
class Upstream:
    """A completed output as seen by the digesters that read it."""

    name: str
    content: str | None
    places: tuple[Place, ...] = ()
    artifacts: Mapping[str, bytes] = field(default_factory=lambda: MappingProxyType({}))
    form: Form = Form.DATA  # what the content is
    corrects: str | None = None  # the output that this is a better version of


@dataclass(frozen=True, slots=True)
class Limits:
    """What one attempt may use."""

    wall_seconds: float
    cpu_seconds: float
    memory_bytes: int


class Digest(NamedTuple):
    """One row per file and output. A named tuple for speed: a file's rows are read at every step."""

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
    provider: str | None = None  # the provider whose model should have made this and has not (yet)
    losses: int = 0  # how often a worker on another machine vanished while it made this
    worker: str | None = None  # the worker that made this; None: this machine


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on one file for a limited time."""

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
    """A file as the scan found it, before it has an identity."""

    path: str
    escaped: bool
    kind: Kind
    mime: str
    stamp: Stamp
    hash: str
    link: str | None = None  # the address in a link file, without password

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]
