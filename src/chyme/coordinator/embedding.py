"""Which embedder serves: the one that is set, once it has read every file; until then the one before it."""

from __future__ import annotations

from sqlite3 import Connection

from chyme.coordinator.switching import switch_when_complete
from chyme.store import embedders, outdated
from chyme.store.database import Database

SEARCH_SEMANTIC = "search-semantic"
BATCH = 500


def take_up(database: Database, model: str, now: str) -> int:
    """Have files read again that only another embedder has read. Their vectors stay until all are. Returns how many."""
    count = 0

    def redo(db: Connection) -> int:
        wanted = embedders.by_model(db, model)
        found = embedders.lacking(db, wanted.id if wanted else 0, BATCH, hidden=True)
        for file_id in found:
            outdated.redo(db, file_id, [SEARCH_SEMANTIC], now)
        return len(found)

    while done := database.write(redo):
        count += done
    return count


def tidy(database: Database, model: str, now: str) -> None:
    """While embedders change: nothing is forgotten on the way, and nothing of the old one is left at the end."""
    known = embedders.known(database.read())
    if all(one.model == model for one in known):
        return
    take_up(database, model, now)
    database.write(lambda db: switch_when_complete(db, model))
    while database.write(lambda db: embedders.sweep(db, _wanted(db, model))):
        pass


def _wanted(db: Connection, model: str) -> list[int]:
    return [one.id for one in embedders.known(db) if one.model == model]
