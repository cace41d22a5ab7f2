"""Rules for applying what people set about a document over what the digesters found."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from types import MappingProxyType

from chyme.errors import UsageError
from chyme.text.spelling_variants import comparison_key
from chyme.understanding.classification.result import TITLE_LENGTH

TITLE, DATE, TAGS = "title", "date", "tags"
FIELDS = (TITLE, DATE, TAGS)
MAX_TAGS = 100  # tags that people may give one document; more would help no one

_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")
_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Description:
    """The fields that describe a document."""

    title: str | None = None
    summary: str | None = None
    date: str | None = None
    language: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TagEdit:
    """A person's change to the tags: all replaced, or some added and some removed."""

    all: tuple[str, ...] | None = None  # None: the digesters' tags count
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def has_changes(self) -> bool:
        return self.all is not None or bool(self.added or self.removed)


@dataclass(frozen=True, slots=True)
class EditRequest:
    """One requested change, of any number of fields."""

    # title, date → text; None: set to empty, whatever a digester finds
    fields: Mapping[str, str | None] = field(default_factory=lambda: MappingProxyType({}))
    tags: Sequence[str] | None = None  # exactly these, whatever a digester proposes
    add: Sequence[str] = ()
    remove: Sequence[str] = ()  # they stay removed even if a digester proposes them again
    clear: Sequence[str] = ()  # fields for which the digesters' value counts again


def apply_edits(found: Description, edits: Mapping[str, object], becomes: Mapping[str, str] = _NOTHING) -> Description:
    """The document as people see it: what a person set wins. Edits of an unknown shape are ignored.

    `becomes` maps tags that were renamed or merged since. A ban does not affect tags given by hand.
    """
    return replace(
        found,
        title=_text_of(edits, TITLE, found.title),
        date=_text_of(edits, DATE, found.date),
        tags=apply_tag_edit(found.tags, tag_edit(edits.get(TAGS)), becomes),
    )


def apply_tag_edit(found: Sequence[str], edit: TagEdit, becomes: Mapping[str, str] = _NOTHING) -> tuple[str, ...]:
    """The tags with an edit applied: the digesters' tags first, in their order; each once."""
    edit = rename_tags_in_edit(edit, becomes)
    if edit.all is not None:
        return edit.all
    removed = {comparison_key(tag) for tag in edit.removed}
    return _unique([*_without(found, removed), *edit.added])


def tag_edit(value: object) -> TagEdit:
    """The edit of the tags from its stored form; an empty one if the value is no such edit."""
    if not isinstance(value, Mapping):
        return TagEdit()
    if isinstance(value.get("set"), list):
        return TagEdit(all=_strings_in(value["set"]))
    return TagEdit(added=_strings_in(value.get("added")), removed=_strings_in(value.get("removed")))


def tag_value(edit: TagEdit) -> dict[str, list[str]]:
    """The stored form of an edit of the tags."""
    if edit.all is not None:
        return {"set": list(edit.all)}
    return {"added": list(edit.added), "removed": list(edit.removed)}


def rename_tags_in_edit(edit: TagEdit, becomes: Mapping[str, str]) -> TagEdit:
    """The edit with the current names of tags that were renamed or merged."""
    return TagEdit(
        None if edit.all is None else current_tag_names(edit.all, becomes),
        current_tag_names(edit.added, becomes),
        current_tag_names(edit.removed, becomes),
    )


def current_tag_names(tags: Iterable[str], becomes: Mapping[str, str]) -> tuple[str, ...]:
    return _unique(becomes.get(tag, tag) for tag in tags)


def with_tags(edit: TagEdit, add: Sequence[str], remove: Sequence[str]) -> TagEdit:
    """The edit with more tags added and removed. Removed tags stay removed, whatever a digester proposes later."""
    removed_keys = {comparison_key(tag) for tag in remove}
    added_keys = {comparison_key(tag) for tag in add}
    if edit.all is not None:
        return TagEdit(all=_unique([*_without(edit.all, removed_keys), *add]))
    added = _unique([*_without(edit.added, removed_keys), *add])
    return TagEdit(added=added, removed=_unique([*_without(edit.removed, added_keys), *remove]))


def parse_title(text: str) -> str:
    """The title that a person typed, on one line."""
    printable = "".join(" " if unicodedata.category(letter)[0] == "C" else letter for letter in text)
    title = " ".join(unicodedata.normalize("NFC", printable).split())
    if not title:
        raise UsageError("a title needs something that can be read")
    if len(title) > TITLE_LENGTH:
        raise UsageError(f"the title has {len(title)} characters; {TITLE_LENGTH} are allowed")
    return title


def parse_date(text: str) -> str:
    """The date that a person typed: 2026, 2026-04 or 2026-04-03."""
    stripped = text.strip()
    parts = _DATE.fullmatch(stripped)
    try:
        if parts is None:
            raise ValueError
        date(int(parts[1]), int(parts[2] or 1), int(parts[3] or 1))
    except ValueError:
        raise UsageError(f"{text[:30]!r} is no date; write 2026-04-03, 2026-04 or 2026") from None
    return stripped


def _text_of(edits: Mapping[str, object], name: str, found: str | None) -> str | None:
    """The text that a person set, which may be None; otherwise the one found."""
    value = edits.get(name, found)
    return value if value is None or isinstance(value, str) else found


def _strings_in(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _without(tags: Iterable[str], keys: set[str]) -> list[str]:
    return [tag for tag in tags if comparison_key(tag) not in keys]


def _unique(tags: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tags))
