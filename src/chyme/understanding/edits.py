"""What persons set about documents: title, date and tags. It wins over every digester, and can be undone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from sqlite3 import Connection
from typing import Any

from chyme.core.pipeline.recorders import RefreshNames
from chyme.core.store import documents, files
from chyme.core.store.sqlite.database import Database
from chyme.errors import UsageError
from chyme.model import File, iso
from chyme.understanding.description import compute_description, describe
from chyme.understanding.edit_rules import (
    DATE,
    FIELDS,
    MAX_TAGS,
    TAGS,
    TITLE,
    Description,
    EditRequest,
    TagEdit,
    apply_tag_edit,
    current_tag_names,
    parse_date,
    parse_title,
    rename_tags_in_edit,
    tag_edit,
    tag_value,
    with_tags,
)
from chyme.understanding.tables import edits, tags
from chyme.understanding.tags.lookup import current_names
from chyme.understanding.tags.names import comparison_key, parse_typed_tag

_GIVEN = {TITLE: parse_title, DATE: parse_date}


class NothingToChange(UsageError):
    """There is nothing to change. A person is told; a program that asks twice got what it wanted."""


@dataclass(frozen=True, slots=True)
class DocumentEdits:
    """A document as people see it, what a person set of that, and what the machine says."""

    path: str
    document: Description
    edits: Mapping[str, object]
    found: Description


@dataclass(frozen=True, slots=True)
class EditResult:
    """What was changed, in words, and how the document is now."""

    what: str
    shown: DocumentEdits


class Edits:
    """Each change is one transaction: the edit, the document, its words in the index, and how to take it back."""

    def __init__(self, database: Database, clock: Callable[[], datetime], refresh_names: RefreshNames) -> None:
        self._database = database
        self._clock = clock
        self._refresh_names = refresh_names

    def get(self, path: str) -> DocumentEdits:
        """What the document is called and about, and who says so."""
        with self._database.snapshot() as db:
            return _shown(db, _find(db, path))

    def set_title(self, path: str, title: str | None) -> EditResult:
        """None: it has none, whatever a digester thinks."""
        return self.change(path, EditRequest({TITLE: title}))

    def set_date(self, path: str, day: str | None) -> EditResult:
        """2026, 2026-04 or 2026-04-03. None: it has none."""
        return self.change(path, EditRequest({DATE: day}))

    def add_tags(self, path: str, names: Sequence[str]) -> EditResult:
        return self.change(path, EditRequest(add=names))

    def remove_tags(self, path: str, names: Sequence[str]) -> EditResult:
        """They stay away, even if a digester proposes them again."""
        return self.change(path, EditRequest(remove=names))

    def set_tags(self, path: str, names: Sequence[str]) -> EditResult:
        """These and no others, whatever a digester proposes."""
        return self.change(path, EditRequest(tags=names))

    def clear(self, path: str, field: str) -> EditResult:
        """From now on the machine's word counts again."""
        return self.change(path, EditRequest(clear=(field,)))

    def change(self, path: str, wanted: EditRequest) -> EditResult:
        """All of it or nothing, and undone in one go."""
        now = iso(self._clock())
        values = _values(wanted)

        def write(db: Connection) -> EditResult:
            file, becomes = _find(db, path), current_names(tags.rules(db))
            meant = _in_new_words(wanted, becomes)
            before = edits.of_file(db, file.id)
            after = {field: value for field, value in before.items() if field not in wanted.clear} | values
            tag_change = _tag_change(db, file, rename_tags_in_edit(tag_edit(after.pop(TAGS, None)), becomes), meant)
            if tag_change.has_changes:
                after[TAGS] = tag_value(tag_change)
            if not _put(db, file, before, after, now):
                raise NothingToChange(f"{file.path}: {_already(wanted)}")
            what = f"{file.path}: {_what(meant)}"
            edits.record_change(db, file.id, what, _before(before, after), now)
            describe(db, file.id, now, self._refresh_names)
            return EditResult(what, _shown(db, file))

        return self._database.write(write)

    def undo(self, path: str | None = None) -> EditResult:
        """Take the last change back: of this file, or of any. Once more: the one before it."""
        now = iso(self._clock())

        def take_back(db: Connection) -> EditResult:
            chosen = None if path is None else _find(db, path)
            change = edits.last_change(db, chosen.id if chosen else None)
            file = files.by_id(db, change.file_id) if change else None
            if change is None or file is None:
                raise UsageError("nothing was set that could be undone" if path is None else f"{path}: nothing to undo")
            present = edits.of_file(db, file.id)
            after = dict(present)
            for field, earlier in change.before.items():
                after.pop(field, None)
                if earlier is not None:
                    after[field] = earlier["value"]
            if TAGS in after:
                after[TAGS] = tag_value(rename_tags_in_edit(tag_edit(after[TAGS]), current_names(tags.rules(db))))
            _put(db, file, present, after, now)
            edits.forget_change(db, change.id)
            describe(db, file.id, now, self._refresh_names)
            return EditResult(change.what, _shown(db, file))

        return self._database.write(take_back)


def as_json(shown: DocumentEdits) -> dict[str, Any]:
    """The shape that the command line and HTTP promise."""
    return {
        "path": shown.path,
        "document": asdict(shown.document) | {"tags": list(shown.document.tags)},
        "edits": dict(shown.edits),
        "found": asdict(shown.found) | {"tags": list(shown.found.tags)},
    }


def _find(db: Connection, path: str) -> File:
    file = files.by_path(db, path)
    if file is None:
        raise UsageError(f"{path}: is not a file of this vault; 'chyme digest' takes in what is new")
    return file


def _shown(db: Connection, file: File) -> DocumentEdits:
    row = documents.of_file(db, file.id)
    seen = Description(row.title, row.summary, row.date, row.language, row.tags) if row else Description()
    return DocumentEdits(file.path, seen, edits.of_file(db, file.id), compute_description(db, file.id))


def _values(wanted: EditRequest) -> dict[str, object]:
    """Title and date as they are kept; a sentence for what makes no sense."""
    for field in (*wanted.clear, *wanted.fields):
        if field not in FIELDS:
            raise UsageError(f"{field!r} cannot be set; there are {', '.join(FIELDS)}")
    changed = {*wanted.fields, *((TAGS,) if wanted.tags is not None or wanted.add or wanted.remove else ())}
    if both := changed.intersection(wanted.clear):
        raise UsageError(f"the {both.pop()} cannot be set and cleared at once")
    if not changed and not wanted.clear:
        raise UsageError("nothing to change was said")
    return {field: None if text is None else _GIVEN[field](text) for field, text in wanted.fields.items()}


def _in_new_words(wanted: EditRequest, becomes: Mapping[str, str]) -> EditRequest:
    """Tags that were renamed or merged do not come back by their old names. One that is banned may be given by hand."""

    def told(names: Iterable[str]) -> tuple[str, ...]:
        return current_tag_names(map(parse_typed_tag, names), becomes)

    chosen = None if wanted.tags is None else told(wanted.tags)
    return replace(wanted, tags=chosen, add=told(wanted.add), remove=told(wanted.remove))


def _tag_change(db: Connection, file: File, before: TagEdit, wanted: EditRequest) -> TagEdit:
    """What a person says of the tags, with this change."""
    edit = before if wanted.tags is None else TagEdit(all=tuple(wanted.tags))
    both = {comparison_key(tag) for tag in wanted.add}.intersection(map(comparison_key, wanted.remove))
    if both:
        raise UsageError(f"“{both.pop()}” cannot be added and taken away at once")
    there = {comparison_key(tag) for tag in apply_tag_edit(compute_description(db, file.id).tags, edit)}
    for tag in wanted.remove:
        if comparison_key(tag) not in there:
            raise UsageError(f"{file.path}: has no tag “{tag}”; 'chyme edit' shows those it has")
    after = with_tags(edit, wanted.add, wanted.remove)
    if len(after.all or after.added) > MAX_TAGS:
        raise UsageError(f"{file.path}: would have more than {MAX_TAGS} tags")
    return after


def restore_edits(
    db: Connection, file: File, values: Mapping[str, object], now: str, refresh_names: RefreshNames
) -> None:
    """What a person set about a file, salvaged from a damaged database, counts again."""
    _put(db, file, edits.of_file(db, file.id), {**edits.of_file(db, file.id), **values}, now)
    describe(db, file.id, now, refresh_names)


def _put(db: Connection, file: File, before: Mapping[str, object], after: Mapping[str, object], now: str) -> bool:
    """Write what is other than before. Whether anything is."""
    changed = [field for field in FIELDS if _of(before, field) != _of(after, field)]
    for field in changed:
        if field in after:
            edits.put(db, file.id, field, after[field], now)
        else:
            edits.remove(db, file.id, field)
    _keep_tags(db, tag_edit(before.get(TAGS)), tag_edit(after.get(TAGS)), now)
    return bool(changed)


def _keep_tags(db: Connection, before: TagEdit, after: TagEdit, now: str) -> None:
    """A tag that a person gave is one of the vault's, to be given again; one that nobody gave is none."""
    used = {*(after.all or ()), *after.added}
    for tag in used:
        tags.ensure(db, tag, now)
    if left := {*(before.all or ()), *before.added} - used:
        tags.delete_unused(db, [tags.ensure(db, tag, now) for tag in left])


def _what(wanted: EditRequest) -> str:
    """The change in words."""
    told = [
        f"took the {field} away" if text is None else f"set the {field} to “{_GIVEN[field](text)}”"
        for field, text in wanted.fields.items()
    ]
    if wanted.tags is not None:
        told.append(f"set the tags to {_listed(wanted.tags)}")
    if wanted.add:
        told.append(f"tagged {_listed(wanted.add)}")
    if wanted.remove:
        told.append(f"untagged {_listed(wanted.remove)}")
    return ", ".join([*told, *(f"cleared the {field}" for field in wanted.clear)])


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"“{name}”" for name in names) or "none"


def _before(before: Mapping[str, object], after: Mapping[str, object]) -> dict[str, object]:
    changed = [field for field in FIELDS if _of(before, field) != _of(after, field)]
    return {field: _of(before, field) for field in changed}


def _of(values: Mapping[str, object], field: str) -> dict[str, object] | None:
    return {"value": values[field]} if field in values else None


def _already(wanted: EditRequest) -> str:
    if wanted.clear and not wanted.fields:
        return "nobody has set that; what is shown is what was found in the file"
    return "is already so"
