"""Which embedder serves: the one that is set, once it has read every file; until then the one before it. And which
vectors fit those that are there."""

from __future__ import annotations

from dataclasses import replace
from sqlite3 import Connection

from chyme.core.pipeline.attempt import Attempt
from chyme.core.pipeline.digest_state import Failed, Outcome, Produced
from chyme.core.store import outdated_digests
from chyme.core.store.sqlite.database import Database
from chyme.errors import Category
from chyme.model import Output
from chyme.search.embedders.activation import is_wanted, set_wanted_model, switch_when_complete
from chyme.search.embedders.passage_hashes import SEMANTIC
from chyme.search.tables import embedders, vectors

BATCH = 500


def request_reembedding(database: Database, model: str, now: str) -> int:
    """When this embedder is chosen: have files read again that were read for another, which serves until all are.

    Another process that has chosen another one leaves the embedders alone from now on. Returns how many files.
    """
    database.write(lambda db: set_wanted_model(db, model))
    return _redo_lacking(database, model, now)


def _redo_lacking(database: Database, model: str, now: str) -> int:
    count = 0

    def redo(db: Connection) -> int:
        found = embedders.find_files_lacking(db, model, BATCH, hidden=True) if is_wanted(db, model) else []
        for file_id in found:
            outdated_digests.requeue(db, file_id, [SEMANTIC], now)
        return len(found)

    while done := database.write(redo):
        count += done
    return count


def finish_migration(database: Database, model: str, now: str) -> None:
    """While embedders change: nothing is forgotten on the way, and nothing of the old one is left at the end.

    Does nothing once another process has chosen another embedder.
    """
    db = database.read()
    if not is_wanted(db, model) or all(one.model == model for one in embedders.list_all(db)):
        return
    _redo_lacking(database, model, now)
    database.write(lambda db: switch_when_complete(db, model))
    while database.write(lambda db: _sweep(db, model)):
        pass


def _sweep(db: Connection, model: str) -> bool:
    wanted = [one.id for one in embedders.list_all(db) if one.model == model]
    return is_wanted(db, model) and embedders.sweep(db, wanted)


def check_vectors(db: Connection, attempt: Attempt, outcome: Outcome) -> Outcome:
    """The outcome, unless it brings vectors that cannot be kept with those the vault has."""
    if not isinstance(outcome, Produced):
        return outcome
    path, name = attempt.file.path, attempt.digester.name
    for told in (output.embedded for output in outcome.outputs if output.embedded):
        if told.model != attempt.digester.embedder:
            return Failed(Category.CRASH, f"{path}: {name} gave vectors of another model than it has")
        known = embedders.by_model(db, told.model)
        if known is not None and known.dimension != told.dimension:
            return Failed(
                Category.UNAVAILABLE,
                f"{path}: {told.model} gives {told.dimension} numbers for a passage and gave {known.dimension} "
                "before; a model that has changed needs another name",
            )
    try:
        return Produced(tuple(_with_reused(db, attempt.file.id, output) for output in outcome.outputs))
    except KeyError:
        return Failed(Category.CRASH, f"{path}: {name} counted on vectors that the vault does not have")


def _with_reused(db: Connection, file_id: int, output: Output) -> Output:
    """The output with a vector for every passage: new ones, and those that the vault has from before."""
    told = output.embedded
    if told is None or not told.reused:
        return output
    embedder = embedders.by_model(db, told.model)
    stored = vectors.of_file(db, file_id, embedder.id) if embedder else []
    known = {passage.text: vector for _, passage, vector in stored}
    width = told.dimension * vectors.NUMBER_BYTES
    new = (told.vectors[at : at + width] for at in range(0, len(told.vectors), width))
    reused = frozenset(told.reused)
    rows = [known[one.text] if at in reused else next(new) for at, one in enumerate(output.passages)]
    return replace(output, embedded=replace(told, vectors=b"".join(rows), reused=()))
