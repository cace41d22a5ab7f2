"""The answers of the tools as JSON, and citations of places in files. The docstrings are read by assistants."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from pydantic import BaseModel, Field

from chyme.application.file_texts import Text
from chyme.core.bounding_boxes import describe_region
from chyme.files.part_labels import label_page
from chyme.model import Box, Place
from chyme.speech.transcripts.json_format import format_speaker_label
from chyme.text.display import format_time


class Hit(BaseModel):
    """One file that answers the question."""

    path: str
    title: str
    kind: str
    snippet: str = Field(description="Quoted from the file.")
    why: list[str] = Field(
        description="`words`, `name`, `meaning`, `tag: …` for a near tag; `filter` for filters alone."
    )
    citation: Citation
    date: str | None = None
    tags: list[str] = []
    more: list[Citation] = Field(default=[], description="Further places in the same file.")


class Hits(BaseModel):
    """The best answers first."""

    hits: list[Hit]
    total: int
    total_is_exact: bool
    corrected: dict[str, str] = Field(default={}, description="Words that stand nowhere, and what is shown instead.")
    notes: list[str] = Field(default=[], description="What to know about this answer.")
    dropped: list[str] = Field(default=[], description="Conditions no file meets; the hits were found without them.")


class Passage(BaseModel):
    """A passage that may answer the question."""

    number: int
    title: str
    text: str = Field(description="Quoted from the file.")
    citation: Citation


class Passages(BaseModel):
    """The passages that may answer a question, best first."""

    question: str
    passages: list[Passage]
    notes: list[str] = Field(default=[], description="What to know about this answer.")


class Piece(BaseModel):
    """A piece of a file's text with its place."""

    text: str = Field(description="Quoted from the file.")
    source: str = Field(description="`file` for the file's own text, else what made it, such as `image-ocr`.")
    citation: Citation


class Reading(BaseModel):
    """A part of what a file says, in order."""

    path: str
    title: str
    state: str
    pieces: list[Piece]
    offset: int
    next_offset: int | None = Field(description="Ask again with this offset for what follows; null at the end.")
    characters: int = Field(description="How long the whole text is, or that of the page asked for.")
    notes: list[str] = []


class Listed(BaseModel):
    """A file as a list shows it."""

    path: str
    title: str
    kind: str
    size: int
    state: str
    link: str
    summary: str | None = None
    date: str | None = None
    language: str | None = None
    pages: int | None = None
    tags: list[str] = []
    added_at: str


class Listing(BaseModel):
    """A page of files."""

    files: list[Listed]
    total: int
    total_is_exact: bool
    next_cursor: str | None = Field(description="Ask again with this cursor for the next page; null at the end.")


class Citation(BaseModel):
    """A place in a file."""

    path: str = Field(description="The file, as the other tools take it.")
    where: str = Field(description="The place in words, such as `page 3`, `at 12:04, Ada speaking`; may be empty.")
    link: str = Field(description="Opens the file at that place in chyme's page.")
    page: int | None = None
    heading: str | None = None
    seconds: float | None = Field(default=None, description="Seconds into the recording or video.")
    until: float | None = None
    speaker: str | None = None
    box: tuple[float, float, float, float] | None = Field(
        default=None, description="Left, top, right and bottom in the picture, from 0 to 1."
    )


def cite(base: str, path: str, place: Place | Text | None, speaker: str | None) -> Citation:
    """Return the citation of a place; `speaker` is the name of the person who speaks there."""
    if place is None:
        return Citation(path=path, where="", link=link(base, path))
    speaker_name = speaker or (format_speaker_label(place.speaker) if place.speaker else None)
    return Citation(
        path=path,
        where=describe_place(path, place.page, place.seconds, speaker_name, place.box, place.heading),
        link=link(base, path, place.page, place.seconds, place.box),
        page=place.page,
        heading=place.heading,
        seconds=place.seconds,
        until=place.until,
        speaker=speaker_name,
        box=place.box,
    )


def describe_place(
    path: str,
    page: int | None,
    seconds: float | None,
    speaker: str | None,
    box: Box | None = None,
    heading: str | None = None,
) -> str:
    """Describe a place in words."""
    label = label_page(path, page) if page is not None else ""
    parts = [label] if label else []
    if seconds is not None:
        parts.append(f"at {format_time(seconds)}")
    if speaker:
        parts.append(f"{speaker} speaking")
    if box is not None:
        parts.append(f"in the picture: {describe_region(box)}")
    if heading:
        parts.append(f"under “{heading}”")
    return ", ".join(parts)


def link(base: str, path: str, page: int | None = None, seconds: float | None = None, box: Box | None = None) -> str:
    """Return the address at which a browser shows the file at that place. `base` is empty without an HTTP server."""
    parameters: dict[str, object] = {}
    if page is not None:
        parameters["page"] = page
    if seconds is not None:
        parameters["t"] = round(seconds, 2)
    if box is not None:
        parameters["box"] = ",".join(f"{edge:.4f}" for edge in box)
    return f"{base}/file/{quote(path, errors='replace')}" + (f"?{urlencode(parameters)}" if parameters else "")
