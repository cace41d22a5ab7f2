"""Whether larger engines hold what the database holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from sqlite3 import Connection

from chyme.core.store.sqlite.database import Database
from chyme.search.engines.vault_engines import VaultEngines
from chyme.search.tables import embedders, engine_entries, engine_outbox

_EXAMPLES = 3
_Entry = tuple[int, int]  # its id, and its file's


def check(database: Database, engines: VaultEngines) -> list[str]:
    """What is wrong, for people; empty when all is well. Raises ServerFailed when a server does not answer."""
    db = database.read()
    waiting = {one.file_id for one in engine_outbox.list_changed(db, -1)}
    problems = [f"{len(waiting)} files were not pushed yet"] if waiting else []
    if not engine_outbox.is_active(db):
        return ["the search engines were never told of this vault; run: chyme index --rebuild"]
    for index, settings in engines.indexes.items():
        if not engines.words.has_index(index, settings):
            problems.append(f"Meilisearch has no index {index}, or another's")
            continue
        wanted = engine_entries.every_passage(db) if index == engines.passages else engine_entries.every_name(db)
        problems += _compared("Meilisearch", index, wanted, _documents(engines, index), waiting)
    return problems + _vectors(db, engines, waiting)


def _vectors(db: Connection, engines: VaultEngines, waiting: set[int]) -> list[str]:
    problems = []
    known = embedders.list_all(db)
    for embedder in known:
        collection = engines.collection(embedder.id)
        if engines.meaning.has_collection(collection, embedder.dimension):
            wanted = engine_entries.every_vector(db, embedder.id)
            problems += _compared("Qdrant", collection, wanted, engines.meaning.points(collection), waiting)
        else:
            problems.append(f"Qdrant has no collection {collection} for {embedder.model}")
    left = engines.meaning.collections(engines.vectors) - {engines.collection(embedder.id) for embedder in known}
    return problems + [f"Qdrant still has {collection}, of a model that is gone" for collection in sorted(left)]


def _documents(engines: VaultEngines, index: str) -> Iterator[_Entry]:
    for document in engines.words.documents(index, ("id", "file_id")):
        yield int(document["id"][1:]), document["file_id"]


def _compared(engine: str, part: str, wanted: Iterable[_Entry], held: Iterable[_Entry], waiting: set[int]) -> list[str]:
    """Entries of files that were not pushed yet are expected to differ."""
    should = {entry for entry in wanted if entry[1] not in waiting}
    has = {entry for entry in held if entry[1] not in waiting}
    told = (("lacks", sorted(should - has)), ("has too many, by", sorted(has - should)))
    return [f"{engine} {verb} {len(some)} entries in {part}: {_examples(some)}" for verb, some in told if some]


def _examples(some: Sequence[_Entry]) -> str:
    shown = ", ".join(f"{id_} of file {file_id}" for id_, file_id in some[:_EXAMPLES])
    return shown + (" …" if len(some) > _EXAMPLES else "")
