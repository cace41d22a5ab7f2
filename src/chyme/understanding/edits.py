"""Edits that people make to documents: title, date and tags. They win over every digester and can be undone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from sqlite3 import Connection
from typing import Any

from chyme.core.pipeline.recorders import RefreshNames
from chyme.core.store import files
from chyme.core.store.sqlite.database import Database
from chyme.errors import UsageError
from chyme.model import File, iso
from chyme.text.spelling_variants import comparison_key
from chyme.understanding.description import compute_description, describe, shown_description
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
from chyme.understanding.tables import edits, properties, tags
from chyme.understanding.tags.names import current_names, parse_typed_tag

_PARSERS = {TITLE: parse_title, DATE: parse_date}


class NothingToChange(UsageError):
    """There is nothing to change. People see this message; a program that asks twice already got what it wanted."""


@dataclass(frozen=True, slots=True)
class DocumentEdits:
    """A document as people see it, what people set of that, and what the digesters found."""

    path: str
    document: Description
    edits: Mapping[str, object]
    found: Description
    properties: Mapping[str, str]  # what an import brought along besides: correspondent, archive number, notes …


@dataclass(frozen=True, slots=True)
class EditResult:
    """What was changed, in words, and the document as it is now."""

    what: str
    shown: DocumentEdits


class Edits:
    """Each change is one transaction: the edit, the document, its words in the index, and the data to undo it."""

    def __init__(self, database: Database, clock: Callable[[], datetime], refresh_names: RefreshNames) -> None:
        self._database = database
        self._clock = clock
        self._refresh_names = refresh_names

    def get(self, path: str) -> DocumentEdits:
        """The document's title, date and tags, what people set of them, and what was found."""
        with self._database.snapshot() as db:
            return _load_edits(db, files.find(db, path))

    def change(self, path: str, request: EditRequest) -> EditResult:
        """Make the whole change or none of it; it is undone as one."""
        now = iso(self._clock())
        values = _parse_fields(request)

        def write(db: Connection) -> EditResult:
            file, becomes = files.find(db, path), current_names(tags.rules(db))
            current_request = _with_current_names(request, becomes)
            before = edits.of_file(db, file.id)
            after = {field: value for field, value in before.items() if field not in request.clear} | values
            tag_change = _tag_change(
                db, file, rename_tags_in_edit(tag_edit(after.pop(TAGS, None)), becomes), current_request
            )
            if tag_change.has_changes:
                after[TAGS] = tag_value(tag_change)
            previous = _write(db, file, before, after, now)
            if not previous:
                raise NothingToChange(f"{file.path}: {_no_change_reason(request)}")
            what = f"{file.path}: {_describe(current_request)}"
            edits.record_change(db, file.id, what, previous, now)
            describe(db, file.id, now, self._refresh_names)
            return EditResult(what, _load_edits(db, file))

        return self._database.write(write)

    def undo(self, path: str | None = None) -> EditResult:
        """Undo the last change of this file, or of any file. Calling it again undoes the one before."""
        now = iso(self._clock())

        def revert(db: Connection) -> EditResult:
            chosen = None if path is None else files.find(db, path)
            change = edits.last_change(db, chosen.id if chosen else None)
            file = files.by_id(db, change.file_id) if change else None
            if change is None or file is None:
                raise UsageError("nothing was set that could be undone" if path is None else f"{path}: nothing to undo")
            present = edits.of_file(db, file.id)
            after = dict(present)
            for field, previous in change.before.items():
                after.pop(field, None)
                if previous is not None:
                    after[field] = previous["value"]
            if TAGS in after:
                after[TAGS] = tag_value(rename_tags_in_edit(tag_edit(after[TAGS]), current_names(tags.rules(db))))
            _write(db, file, present, after, now)
            edits.forget_change(db, change.id)
            describe(db, file.id, now, self._refresh_names)
            return EditResult(change.what, _load_edits(db, file))

        return self._database.write(revert)


def as_json(shown: DocumentEdits) -> dict[str, Any]:
    """The JSON form that the command line and HTTP promise."""
    return {
        "path": shown.path,
        "document": asdict(shown.document) | {"tags": list(shown.document.tags)},
        "edits": dict(shown.edits),
        "found": asdict(shown.found) | {"tags": list(shown.found.tags)},
        "properties": dict(shown.properties),
    }


def _load_edits(db: Connection, file: File) -> DocumentEdits:
    shown = shown_description(db, file.id) or Description()
    found = compute_description(db, file.id)
    return DocumentEdits(file.path, shown, edits.of_file(db, file.id), found, properties.of_file(db, file.id))


def _parse_fields(request: EditRequest) -> dict[str, object]:
    """Title and date in their stored form. Raises UsageError when the request makes no sense."""
    for field in (*request.clear, *request.fields):
        if field not in FIELDS:
            raise UsageError(f"{field!r} cannot be set; there are {', '.join(FIELDS)}")
    changed = {*request.fields, *((TAGS,) if request.tags is not None or request.add or request.remove else ())}
    if both := changed.intersection(request.clear):
        raise UsageError(f"the {both.pop()} cannot be set and cleared at once")
    if not changed and not request.clear:
        raise UsageError("there is nothing to change")
    return {field: None if text is None else _PARSERS[field](text) for field, text in request.fields.items()}


def _with_current_names(request: EditRequest, becomes: Mapping[str, str]) -> EditRequest:
    """Use the current names of renamed or merged tags, so that old names do not return. Banned ones may be given."""

    def current(names: Iterable[str]) -> tuple[str, ...]:
        return current_tag_names(map(parse_typed_tag, names), becomes)

    new_tags = None if request.tags is None else current(request.tags)
    return replace(request, tags=new_tags, add=current(request.add), remove=current(request.remove))


def _tag_change(db: Connection, file: File, before: TagEdit, request: EditRequest) -> TagEdit:
    """The edit of the tags including this change."""
    edit = before if request.tags is None else TagEdit(all=tuple(request.tags))
    both = {comparison_key(tag) for tag in request.add}.intersection(map(comparison_key, request.remove))
    if both:
        raise UsageError(f"“{both.pop()}” cannot be added and taken away at once")
    present = {comparison_key(tag) for tag in apply_tag_edit(compute_description(db, file.id).tags, edit)}
    for tag in request.remove:
        if comparison_key(tag) not in present:
            raise UsageError(f"{file.path}: has no tag “{tag}”; 'chyme edit' shows those it has")
    after = with_tags(edit, request.add, request.remove)
    if len(after.all or after.added) > MAX_TAGS:
        raise UsageError(f"{file.path}: would have more than {MAX_TAGS} tags")
    return after


def restore_edits(
    db: Connection, file: File, values: Mapping[str, object], now: str, refresh_names: RefreshNames
) -> None:
    """Restore what people set about a file, salvaged from a damaged database."""
    _write(db, file, edits.of_file(db, file.id), {**edits.of_file(db, file.id), **values}, now)
    describe(db, file.id, now, refresh_names)


def _write(
    db: Connection, file: File, before: Mapping[str, object], after: Mapping[str, object], now: str
) -> dict[str, object]:
    """Write the fields that changed, and return what they were."""
    previous: dict[str, object] = {field: _wrapped_value(before, field) for field in FIELDS}
    changed = {field: value for field, value in previous.items() if value != _wrapped_value(after, field)}
    for field in changed:
        if field in after:
            edits.put(db, file.id, field, after[field], now)
        else:
            edits.remove(db, file.id, field)
    _update_vault_tags(db, tag_edit(before.get(TAGS)), tag_edit(after.get(TAGS)), now)
    return changed


def _update_vault_tags(db: Connection, before: TagEdit, after: TagEdit, now: str) -> None:
    """Add tags that people gave to the vault's tags, so that they can be reused; delete those no longer used."""
    used = {*(after.all or ()), *after.added}
    for tag in used:
        tags.ensure(db, tag, now)
    if unused := {*(before.all or ()), *before.added} - used:
        tags.delete_unused(db, [tags.ensure(db, tag, now) for tag in unused])


def _describe(request: EditRequest) -> str:
    """Describe the change in words."""
    parts = [
        f"took the {field} away" if text is None else f"set the {field} to “{_PARSERS[field](text)}”"
        for field, text in request.fields.items()
    ]
    if request.tags is not None:
        parts.append(f"set the tags to {_quote_names(request.tags)}")
    if request.add:
        parts.append(f"tagged {_quote_names(request.add)}")
    if request.remove:
        parts.append(f"untagged {_quote_names(request.remove)}")
    return ", ".join([*parts, *(f"cleared the {field}" for field in request.clear)])


def _quote_names(names: Sequence[str]) -> str:
    return ", ".join(f"“{name}”" for name in names) or "none"


def _wrapped_value(values: Mapping[str, object], field: str) -> dict[str, object] | None:
    return {"value": values[field]} if field in values else None


def _no_change_reason(request: EditRequest) -> str:
    if request.clear and not request.fields:
        return "that was never set by hand; what is shown was found in the file"
    return "already has that value"
