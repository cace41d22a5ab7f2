"""The change from one embedder to another: the old one stays in use until the new one has read every file. Also checks
that new vectors fit those in the vault."""

from __future__ import annotations

from dataclasses import replace
from sqlite3 import Connection

from chyme.core.pipeline.attempt import Attempt
from chyme.core.pipeline.digest_state import Failed, Outcome, Produced
from chyme.core.store import outdated_digests, vault_properties
from chyme.core.store.sqlite.database import Database
from chyme.errors import Category
from chyme.model import Output
from chyme.search.passage_hashes import SEMANTIC
from chyme.search.tables import embedders, embedding_backlog, vectors

BATCH = 500
_WANTED_MODEL = "embedder"


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
    if not is_wanted(db, model) or all(embedder.model == model for embedder in embedders.list_of_texts(db)):
        return
    _requeue_missing(database, model, now)
    database.write(lambda db: switch_when_complete(db, model))
    while database.write(lambda db: _sweep(db, model)):
        pass


def _sweep(db: Connection, model: str) -> bool:
    wanted = [embedder.id for embedder in embedders.list_of_texts(db) if embedder.model == model]
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


def set_wanted_model(db: Connection, model: str) -> None:
    """Have files embedded by this model from now on; of several processes, the last to start decides."""
    vault_properties.put(db, _WANTED_MODEL, model)


def is_wanted(db: Connection, model: str) -> bool:
    """Whether no other process has chosen another model since."""
    return vault_properties.value_of(db, _WANTED_MODEL) in (None, model)


def switch_when_complete(db: Connection, model: str) -> bool:
    """Switch to this model's vectors if no file waits for them; returns whether that happened now.

    A file that the model cannot read does not prevent the switch; an unavailable model does. Costs next to nothing if
    the model is in use already, or while much is left to embed.
    """
    embedder = embedders.by_model(db, model)
    if embedder is None or embedder.serves or not is_wanted(db, model):
        return False
    incomplete = (
        embedding_backlog.is_due(db)
        or embedding_backlog.is_left_out(db, embedder.id)
        or embedders.find_files_lacking(db, model, 1)
    )
    if incomplete:
        return False
    embedders.switch(db, embedder.id)
    return True
