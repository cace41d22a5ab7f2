"""The change from one embedder to another: the old one stays in use until the new one has read every file. Also checks
that new vectors fit those in the vault."""

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
    """Queue the files that were read for another embedder, which stays in use until all are read again.

    From now on, a process that has chosen another embedder leaves the embedders alone. Returns the number of files.
    """
    database.write(lambda db: set_wanted_model(db, model))
    return _requeue_missing(database, model, now)


def _requeue_missing(database: Database, model: str, now: str) -> int:
    count = 0

    def requeue_batch(db: Connection) -> int:
        found = embedders.find_files_lacking(db, model, BATCH, hidden=True) if is_wanted(db, model) else []
        for file_id in found:
            outdated_digests.requeue(db, file_id, [SEMANTIC], now)
        return len(found)

    while requeued := database.write(requeue_batch):
        count += requeued
    return count


def finish_migration(database: Database, model: str, now: str) -> None:
    """While embedders change: requeue files that were missed, switch, and delete the old embedder's data.

    Does nothing once another process has chosen another embedder.
    """
    db = database.read()
    if not is_wanted(db, model) or all(embedder.model == model for embedder in embedders.list_all(db)):
        return
    _requeue_missing(database, model, now)
    database.write(lambda db: switch_when_complete(db, model))
    while database.write(lambda db: _sweep(db, model)):
        pass


def _sweep(db: Connection, model: str) -> bool:
    wanted = [embedder.id for embedder in embedders.list_all(db) if embedder.model == model]
    return is_wanted(db, model) and embedders.sweep(db, wanted)


def check_vectors(db: Connection, attempt: Attempt, outcome: Outcome) -> Outcome:
    """The outcome, or a failure if its vectors cannot be stored together with those in the vault."""
    if not isinstance(outcome, Produced):
        return outcome
    path, name = attempt.file.path, attempt.digester.name
    for embedded in (output.embedded for output in outcome.outputs if output.embedded):
        if embedded.model != attempt.digester.embedder:
            return Failed(Category.CRASH, f"{path}: {name} gave vectors of another model than it has")
        known = embedders.by_model(db, embedded.model)
        if known is not None and known.dimension != embedded.dimension:
            return Failed(
                Category.UNAVAILABLE,
                f"{path}: {embedded.model} gives {embedded.dimension} numbers for a passage and gave {known.dimension} "
                "before; a model that has changed needs another name",
            )
    try:
        return Produced(tuple(_add_reused_vectors(db, attempt.file.id, output) for output in outcome.outputs))
    except KeyError:
        return Failed(Category.CRASH, f"{path}: {name} counted on vectors that the vault does not have")


def _add_reused_vectors(db: Connection, file_id: int, output: Output) -> Output:
    """The output with a vector for every passage: new ones, and those that the vault has from before."""
    embedded = output.embedded
    if embedded is None or not embedded.reused:
        return output
    embedder = embedders.by_model(db, embedded.model)
    stored = vectors.of_file(db, file_id, embedder.id) if embedder else []
    known = {passage.text: vector for _, passage, vector in stored}
    width = embedded.dimension * vectors.NUMBER_BYTES
    new = (embedded.vectors[position : position + width] for position in range(0, len(embedded.vectors), width))
    reused = frozenset(embedded.reused)
    rows = [
        known[passage.text] if position in reused else next(new) for position, passage in enumerate(output.passages)
    ]
    return replace(output, embedded=replace(embedded, vectors=b"".join(rows), reused=()))
