"""When questions are held against the vectors of another embedder: once nothing is left for it to embed."""

from __future__ import annotations

from sqlite3 import Connection

from chyme.core.store import vault_properties
from chyme.search.tables import embedders, embedding_backlog

_WANTED = "embedder"


def set_wanted_model(db: Connection, model: str) -> None:
    """From now on files are to be read by this model, whoever else is at work: the last one that begins decides."""
    vault_properties.put(db, _WANTED, model)


def is_wanted(db: Connection, model: str) -> bool:
    """Whether nobody has begun since to have files read by another model."""
    return vault_properties.value_of(db, _WANTED) in (None, model)


def switch_when_complete(db: Connection, model: str) -> bool:
    """Let this model's vectors serve if they do not yet, and no file waits for them. Whether it was switched now.

    A file that the model cannot read does not keep it from serving; a model that cannot be had does. Costs next to
    nothing when the model serves already, or while much is left to embed.
    """
    embedder = embedders.by_model(db, model)
    if embedder is None or embedder.serves or not is_wanted(db, model):
        return False
    left = (
        embedding_backlog.is_due(db)
        or embedding_backlog.is_left_out(db, embedder.id)
        or embedders.find_files_lacking(db, model, 1)
    )
    if left:
        return False
    embedders.switch(db, embedder.id)
    return True
