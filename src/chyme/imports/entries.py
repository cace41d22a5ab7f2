"""What an export holds, whatever program wrote it: entries with a content and what was known about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import BinaryIO

SOURCES = ("paperless", "karakeep", "bookmarks", "folder")

# Names of properties. Fields that a person defined in the other program keep their own names.
CORRESPONDENT = "correspondent"
ARCHIVE_NUMBER = "archive number"
DOCUMENT_TYPE = "document type"
STORAGE_PATH = "storage path"
NOTE = "note"
DESCRIPTION = "description"
SAVED = "saved"  # the day on which a link was saved, which is not the date of its page
LISTS = "lists"
PEOPLE = "people"
OTHER_TAGS = "other tags"  # too long or too many words for a tag of chyme
NAMES = (
    CORRESPONDENT,
    ARCHIVE_NUMBER,
    DOCUMENT_TYPE,
    STORAGE_PATH,
    NOTE,
    DESCRIPTION,
    SAVED,
    LISTS,
    PEOPLE,
    OTHER_TAGS,
)

_EMPTY: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Values:
    """What is known about an entry, in the form in which edits are stored."""

    title: str | None = None
    date: str | None = None
    tags: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=lambda: _EMPTY)


@dataclass(frozen=True, slots=True)
class Entry:
    """One document, link or note of an export."""

    source_id: str
    label: str  # how messages call it
    name: str  # the wanted file name
    content: bytes | Callable[[], BinaryIO]
    values: Values
    folder: tuple[str, ...] = ()  # below the folder into which everything goes
    address: str | None = None  # of a link
    modified: float | None = None  # when the content was last changed


@dataclass(frozen=True, slots=True)
class Problem:
    """An entry that cannot be imported. `left_out`: on purpose, which is no failure."""

    label: str
    reason: str
    left_out: bool = False

    def __str__(self) -> str:
        return f"{self.label[:200]}: {self.reason}"
