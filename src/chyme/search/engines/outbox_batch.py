"""Some files of the outbox, with all that the engines shall hold of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from sqlite3 import Connection

from chyme.search.tables import embedders, engine_entries, engine_outbox
from chyme.search.tables.embedders import Embedder
from chyme.search.tables.engine_outbox import ChangedFile

_FILES_AT_ONCE, _ENTRIES_AT_ONCE = 200, 4000  # files, and passages with vectors, taken from the database together


@dataclass(frozen=True, slots=True)
class Batch:
    """Read at once, sent afterwards."""

    files: tuple[ChangedFile, ...]
    private: tuple[int, ...]  # those of them that the engines shall hold nothing of
    passages: list[tuple[int, int, str]]
    names: list[tuple[int, str, str, str, str]]
    vectors: dict[Embedder, list[tuple[int, int, bytes]]]


def next_batch(db: Connection, but: Collection[int], private: Callable[[str], bool]) -> Batch | None:
    """The present state of the files that wait longest, but for some; None when there are no others."""
    waiting = [one for one in engine_outbox.list_changed(db, _FILES_AT_ONCE + len(but)) if one.file_id not in but]
    return batch_of(db, _not_too_many(db, waiting), private) if waiting else None


def batch_of(db: Connection, files: Sequence[ChangedFile], private: Callable[[str], bool]) -> Batch:
    """The present state of these files. `private`: whether the engines must not hear of a path."""
    stay = {id_ for id_, path in engine_entries.paths(db, [one.file_id for one in files]) if private(path)}
    ids = [one.file_id for one in files if one.file_id not in stay]
    return Batch(
        tuple(files),
        tuple(stay),
        engine_entries.passages_of(db, ids),
        engine_entries.names_of(db, ids),
        {embedder: engine_entries.vectors_of(db, ids, embedder.id) for embedder in embedders.list_all(db)},
    )


def _not_too_many(db: Connection, files: Sequence[ChangedFile]) -> list[ChangedFile]:
    """As many as fit into memory together, at least one."""
    sizes = engine_entries.sizes(db, [one.file_id for one in files])
    taken: list[ChangedFile] = []
    room = _ENTRIES_AT_ONCE
    for one in files:
        room -= sizes.get(one.file_id, 0)
        if taken and room < 0:
            break
        taken.append(one)
    return taken
