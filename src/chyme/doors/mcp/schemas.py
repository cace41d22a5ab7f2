"""The answers of the tools, as JSON. The docstrings are descriptions that assistants read."""

from __future__ import annotations

from pydantic import BaseModel, Field

from chyme.doors.mcp.citations import Citation


class Hit(BaseModel):
    """One file that answers the question."""

    path: str
    title: str
    kind: str
    snippet: str = Field(description="Quoted from the file.")
    why: list[str] = Field(description="`words`, `name`, `meaning`; `filter` when only filters were asked.")
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
