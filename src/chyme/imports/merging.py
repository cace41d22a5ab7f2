"""Decides what an import changes about a file: what a person changed since the last import stays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chyme.imports.entries import Values
from chyme.text.spelling_variants import comparison_key
from chyme.understanding.edit_rules import DATE, TAGS, TITLE, TagEdit, tag_edit, tag_value


@dataclass(frozen=True, slots=True)
class Changes:
    """The fields to set, in the form in which edits are stored, and all properties; None if they stay."""

    fields: Mapping[str, object]
    properties: Mapping[str, str] | None

    def __bool__(self) -> bool:
        return bool(self.fields) or self.properties is not None


def merge(wanted: Values, given: Values | None, edits: Mapping[str, object], properties: Mapping[str, str]) -> Changes:
    """Compare what an export says with what it said last time (`given`) and with what is set now.

    The first time, only fields that no person has set are set. Later, a field follows the export while it still has the
    value that the export gave it.
    """
    fields: dict[str, object] = {}
    for name, new, old in (
        (TITLE, wanted.title, given.title if given else None),
        (DATE, wanted.date, given.date if given else None),
    ):
        untouched = edits.get(name) == old if old is not None else name not in edits
        if new is not None and untouched and edits.get(name) != new:
            fields[name] = new
    tags = _merge_tags(wanted.tags, given.tags if given else (), tag_edit(edits.get(TAGS)))
    if tags is not None:
        fields[TAGS] = tag_value(tags)
    merged = _merge_properties(wanted.properties, given.properties if given else {}, properties)
    return Changes(fields, None if merged == dict(properties) else merged)


def _merge_tags(wanted: tuple[str, ...], given: tuple[str, ...], edit: TagEdit) -> TagEdit | None:
    """Add what is new in the export, remove what it no longer has; None if nothing changes."""
    before, now = {comparison_key(tag) for tag in given}, {comparison_key(tag) for tag in wanted}
    present = {comparison_key(tag) for tag in (*(edit.all or ()), *edit.added)}
    refused = {comparison_key(tag) for tag in edit.removed}
    new = [
        tag
        for tag in wanted
        if (key := comparison_key(tag)) not in before and key not in present and key not in refused
    ]
    gone = (before - now) & present
    if not new and not gone:
        return None
    if edit.all is not None:
        return TagEdit(all=(*(tag for tag in edit.all if comparison_key(tag) not in gone), *new))
    kept = (tag for tag in edit.added if comparison_key(tag) not in gone)
    return TagEdit(added=(*kept, *new), removed=edit.removed)


def _merge_properties(
    wanted: Mapping[str, str], given: Mapping[str, str], present: Mapping[str, str]
) -> dict[str, str]:
    """Two entries with the same content may say different things about it: both are kept."""
    merged = {name: value for name, value in present.items() if name in wanted or given.get(name) != value}
    for name, value in wanted.items():
        other = merged.get(name)
        if other is None or other == given.get(name):
            merged[name] = value
        elif value not in other:
            merged[name] = f"{other}\n{value}"
    return merged
