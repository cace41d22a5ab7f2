"""Check whether the search servers hold what the database holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from sqlite3 import Connection

from chyme.core.store.sqlite.database import Database
from chyme.search.engines.vault_engines import VaultEngines
from chyme.search.tables import embedders, engine_entries, engine_outbox

_EXAMPLES = 3
_Entry = tuple[int, int]  # its id, and its file's id


def check(database: Database, engines: VaultEngines) -> list[str]:
    """The problems, in words for people; empty if there are none. Raises ServerFailed if a server does not answer."""
    db = database.read()
    waiting = {changed.file_id for changed in engine_outbox.list_changed(db, -1)}
    problems = [f"{len(waiting)} files were not pushed yet"] if waiting else []
    if not engine_outbox.is_active(db):
        return ["the search engines have nothing of this vault yet; run: chyme index --rebuild"]
    for index, settings in engines.indexes.items():
        if not engines.words.has_index(index, settings):
            problems.append(f"Meilisearch has no index {index}, or one with other settings")
            continue
        wanted = engine_entries.every_passage(db) if index == engines.passages else engine_entries.every_name(db)
        problems += _compare("Meilisearch", index, wanted, _document_entries(engines, index), waiting)
    return problems + _check_vectors(db, engines, waiting)


def _check_vectors(db: Connection, engines: VaultEngines, waiting: set[int]) -> list[str]:
    problems = []
    known = embedders.list_all(db)
    for embedder in known:
        collection = engines.collection(embedder.id)
        if engines.meaning.has_collection(collection, embedder.dimension):
            wanted = engine_entries.every_vector(db, embedder.id)
            problems += _compare("Qdrant", collection, wanted, engines.meaning.points(collection), waiting)
        else:
            problems.append(f"Qdrant has no collection {collection} for {embedder.model}")
    leftover = engines.meaning.collections(engines.vectors) - {engines.collection(embedder.id) for embedder in known}
    return problems + [f"Qdrant still has {collection}, of a model that is gone" for collection in sorted(leftover)]


def _document_entries(engines: VaultEngines, index: str) -> Iterator[_Entry]:
    for document in engines.words.documents(index, ("id", "file_id")):
        yield int(document["id"][1:]), document["file_id"]


def _compare(
    engine: str, part: str, wanted: Iterable[_Entry], stored: Iterable[_Entry], waiting: set[int]
) -> list[str]:
    """The differences. Entries of files that were not pushed yet are expected to differ."""
    expected = {entry for entry in wanted if entry[1] not in waiting}
    actual = {entry for entry in stored if entry[1] not in waiting}
    differences = (("lacks", sorted(expected - actual)), ("should not have", sorted(actual - expected)))
    return [
        f"{engine} {verb} {len(entries)} entries in {part}: {_format_examples(entries)}"
        for verb, entries in differences
        if entries
    ]


def _format_examples(entries: Sequence[_Entry]) -> str:
    shown = ", ".join(f"{id_} of file {file_id}" for id_, file_id in entries[:_EXAMPLES])
    return shown + (" …" if len(entries) > _EXAMPLES else "")
