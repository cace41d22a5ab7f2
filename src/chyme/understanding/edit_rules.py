"""What persons set about a document, put over what the machine says."""

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
MAX_TAGS = 100  # tags of one document that a person may give: more are no help to anybody

_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")
_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Description:
    """What a document is described by."""

    title: str | None = None
    summary: str | None = None
    date: str | None = None
    language: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TagEdit:
    """What a person did to the tags: replaced them all, or added some and took some away."""

    all: tuple[str, ...] | None = None  # None: what the machine says counts
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def has_changes(self) -> bool:
        return self.all is not None or bool(self.added or self.removed)


@dataclass(frozen=True, slots=True)
class EditRequest:
    """One change somebody wants, of any number of fields."""

    fields: Mapping[str, str | None] = field(
        default_factory=lambda: MappingProxyType({})
    )  # title, date → text; None: there is none
    tags: Sequence[str] | None = None  # these and no others
    add: Sequence[str] = ()
    remove: Sequence[str] = ()
    clear: Sequence[str] = ()  # fields for which the machine's word counts again


def apply_edits(found: Description, edits: Mapping[str, object], becomes: Mapping[str, str] = _NOTHING) -> Description:
    """The document as people see it: what a person set wins. What is not understood is passed over.

    `becomes` tells which tags were renamed or merged since. A ban does not reach what somebody gave by hand.
    """
    return replace(
        found,
        title=_text(edits, TITLE, found.title),
        date=_text(edits, DATE, found.date),
        tags=apply_tag_edit(found.tags, tag_edit(edits.get(TAGS)), becomes),
    )


def apply_tag_edit(found: Sequence[str], edit: TagEdit, becomes: Mapping[str, str] = _NOTHING) -> tuple[str, ...]:
    """The tags with an edit put over them: the machine's first, in its order; each once."""
    edit = rename_tags_in_edit(edit, becomes)
    if edit.all is not None:
        return edit.all
    without = {comparison_key(tag) for tag in edit.removed}
    return _once([*_without(found, without), *edit.added])


def tag_edit(value: object) -> TagEdit:
    """An edit of the tags as the table keeps it; nothing when it is none."""
    if not isinstance(value, Mapping):
        return TagEdit()
    if isinstance(value.get("set"), list):
        return TagEdit(all=_texts(value["set"]))
    return TagEdit(added=_texts(value.get("added")), removed=_texts(value.get("removed")))


def tag_value(edit: TagEdit) -> dict[str, list[str]]:
    """The same, as the table keeps it."""
    if edit.all is not None:
        return {"set": list(edit.all)}
    return {"added": list(edit.added), "removed": list(edit.removed)}


def rename_tags_in_edit(edit: TagEdit, becomes: Mapping[str, str]) -> TagEdit:
    """The edit with tags that were renamed or merged called by their names of today."""
    return TagEdit(
        None if edit.all is None else current_tag_names(edit.all, becomes),
        current_tag_names(edit.added, becomes),
        current_tag_names(edit.removed, becomes),
    )


def current_tag_names(tags: Iterable[str], becomes: Mapping[str, str]) -> tuple[str, ...]:
    return _once(becomes.get(tag, tag) for tag in tags)


def with_tags(edit: TagEdit, add: Sequence[str], remove: Sequence[str]) -> TagEdit:
    """The edit with more tags added and taken away. What is taken away stays away, whatever a digester says later."""
    gone = {comparison_key(tag) for tag in remove}
    new = {comparison_key(tag) for tag in add}
    if edit.all is not None:
        return TagEdit(all=_once([*_without(edit.all, gone), *add]))
    added = _once([*_without(edit.added, gone), *add])
    return TagEdit(added=added, removed=_once([*_without(edit.removed, new), *remove]))


def parse_title(text: str) -> str:
    """A title that a person typed, in one line."""
    shown = "".join(" " if unicodedata.category(letter)[0] == "C" else letter for letter in text)
    title = " ".join(unicodedata.normalize("NFC", shown).split())
    if not title:
        raise UsageError("a title needs something that can be read")
    if len(title) > TITLE_LENGTH:
        raise UsageError(f"the title has {len(title)} characters; {TITLE_LENGTH} are allowed")
    return title


def parse_date(text: str) -> str:
    """A date that a person typed: 2026, 2026-04 or 2026-04-03."""
    typed = text.strip()
    parts = _DATE.fullmatch(typed)
    try:
        if parts is None:
            raise ValueError
        date(int(parts[1]), int(parts[2] or 1), int(parts[3] or 1))
    except ValueError:
        raise UsageError(f"{text[:30]!r} is no date; write 2026-04-03, 2026-04 or 2026") from None
    return typed


def _text(edits: Mapping[str, object], name: str, found: str | None) -> str | None:
    """What a person set, which may be None; else what was found."""
    value = edits.get(name, found)
    return value if value is None or isinstance(value, str) else found


def _texts(value: object) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def _without(tags: Iterable[str], gone: set[str]) -> list[str]:
    return [tag for tag in tags if comparison_key(tag) not in gone]


def _once(tags: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tags))
