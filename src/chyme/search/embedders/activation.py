"""When a new embedder's vectors come into use: once it has nothing left to embed."""

from __future__ import annotations

from sqlite3 import Connection

from chyme.core.store import vault_properties
from chyme.search.tables import embedders, embedding_backlog

_WANTED_MODEL = "embedder"


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
