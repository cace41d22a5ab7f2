"""Some files of the outbox, with everything the engines must hold of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from sqlite3 import Connection

from chyme.search.tables import embedders, engine_entries, engine_outbox
from chyme.search.tables.embedders import Embedder
from chyme.search.tables.engine_outbox import ChangedFile

_MAX_FILES, _MAX_ENTRIES = 200, 4000  # files, and passages with vectors, read from the database together


@dataclass(frozen=True, slots=True)
class Batch:
    """Read in one snapshot, sent afterwards."""

    files: tuple[ChangedFile, ...]
    private: tuple[int, ...]  # those of them that the engines must hold nothing of
    passages: list[tuple[int, int, str]]
    names: list[tuple[int, str, str, str, str]]
    vectors: dict[Embedder, list[tuple[int, int, bytes]]]


def next_batch(db: Connection, but: Collection[int], private: Callable[[str], bool]) -> Batch | None:
    """The present state of the files that have waited longest, except those in `but`; None if there are no others."""
    waiting = [file for file in engine_outbox.list_changed(db, _MAX_FILES + len(but)) if file.file_id not in but]
    return batch_of(db, _limit_entries(db, waiting), private) if waiting else None


def batch_of(db: Connection, files: Sequence[ChangedFile], private: Callable[[str], bool]) -> Batch:
    """The present state of these files. `private`: whether a path must not be sent to the engines."""
    private_ids = {id_ for id_, path in engine_entries.paths(db, [file.file_id for file in files]) if private(path)}
    ids = [file.file_id for file in files if file.file_id not in private_ids]
    return Batch(
        tuple(files),
        tuple(private_ids),
        engine_entries.passages_of(db, ids),
        engine_entries.names_of(db, ids),
        {embedder: engine_entries.vectors_of(db, ids, embedder.id) for embedder in embedders.list_all(db)},
    )


def _limit_entries(db: Connection, files: Sequence[ChangedFile]) -> list[ChangedFile]:
    """As many files as fit into memory together, at least one."""
    sizes = engine_entries.sizes(db, [file.file_id for file in files])
    taken: list[ChangedFile] = []
    room = _MAX_ENTRIES
    for file in files:
        room -= sizes.get(file.file_id, 0)
        if taken and room < 0:
            break
        taken.append(file)
    return taken
