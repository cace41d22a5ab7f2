"""Reads the JSON that Karakeep (formerly Hoarder) exports: links, notes, tags and lists."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO

from chyme.errors import UsageError
from chyme.imports.entries import DESCRIPTION, LISTS, NOTE, SAVED, Entry, Problem
from chyme.imports.json_stream import elements
from chyme.imports.link_entries import link_entry
from chyme.imports.values import clean_text, day_of, values_of
from chyme.vault.file_names import note_name

ARCHIVED, FAVOURITE = "archived", "favourite"
MAX_LISTS = 100_000
MAX_DEPTH = 32
NAME = "the export"


def read_karakeep(open_export: Callable[[], BinaryIO]) -> Iterator[Entry | Problem]:
    """Read the export twice: first the names of the lists, which may come last, then the bookmarks one at a time."""
    lists: dict[str, Mapping[str, Any]] = {}
    found = False
    try:
        with open_export() as stream:
            for key, element in elements(stream, NAME):
                found = found or key == "bookmarks"
                if key == "lists" and isinstance(element, dict) and len(lists) < MAX_LISTS:
                    lists[clean_text(element.get("id"))] = element
    except UsageError:
        found = True  # the second reading says where it is broken, after all before that
    if not found:
        raise UsageError("the export has no bookmarks; give the JSON file of Karakeep's “Export links and notes”")
    with open_export() as stream:
        try:
            for number, (key, element) in enumerate(elements(stream, NAME), 1):
                if key == "bookmarks":
                    yield _entry(element, lists, number)
        except UsageError as error:
            yield Problem(NAME, str(error))


def _entry(bookmark: object, lists: Mapping[str, Mapping[str, Any]], number: int) -> Entry | Problem:
    label = f"bookmark {number}"
    if not isinstance(bookmark, dict) or not isinstance(bookmark.get("content"), dict):
        return Problem(label, "has no content; look at it in Karakeep")
    content = bookmark["content"]
    tags = [*_list(bookmark.get("tags"))]
    tags += [ARCHIVED] if bookmark.get("archived") is True else []
    tags += [FAVOURITE] if bookmark.get("favourited") is True else []
    values = values_of(
        bookmark.get("title"),
        None,
        tags,
        {
            NOTE: bookmark.get("note"),
            DESCRIPTION: bookmark.get("description") or content.get("description") or bookmark.get("summary"),
            LISTS: "; ".join(_list_path(lists, item) for item in _list(bookmark.get("lists"))),
            SAVED: day_of(bookmark.get("createdAt")),
        },
    )
    source_id = clean_text(bookmark.get("id")) or None
    kind = content.get("type")
    if kind == "link" and isinstance(content.get("url"), str):
        return link_entry(content["url"], source_id, values)
    if kind == "text" and isinstance(content.get("text"), str):
        data = content["text"].encode("utf-8", "replace")
        if not data.strip():
            return Problem(label, "is an empty note", left_out=True)
        name = note_name(values.title or "", content["text"])
        return Entry(source_id or hashlib.sha256(data).hexdigest(), f"note “{name}”", f"{name}.md", data, values)
    if kind == "asset":
        return Problem(
            f"{label} “{(values.title or '')[:80]}”",
            "is a file, which Karakeep's JSON does not hold; download it there and add it",
            left_out=True,
        )
    return Problem(label, "has a content of an unknown kind; look at it in Karakeep")


def _list_path(lists: Mapping[str, Mapping[str, Any]], list_id: object) -> str:
    """The name of a list, after those it lies in."""
    names: list[str] = []
    current = clean_text(list_id)
    while current in lists and len(names) < MAX_DEPTH:
        names.insert(0, clean_text(lists[current].get("name")))
        current = clean_text(lists[current].get("parentId"))
    return " / ".join(filter(None, names))


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
