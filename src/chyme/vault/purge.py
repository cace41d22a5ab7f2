"""Forgets vanished files without a trace."""

from __future__ import annotations

from collections.abc import Callable

from chyme.core.store import files, vault_properties
from chyme.core.store.sqlite.database import Database
from chyme.errors import UsageError
from chyme.vault.file_registry import FileRegistry

PURGE_WAITS = "purge-waits"


def purge_vanished(
    database: Database,
    registry: FileRegistry,
    before: str,
    confirmed: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Forget the files that vanished at or before this moment. Return how many.

    After a suspicious scan nothing is purged until a user confirms it.
    """
    blocker = vault_properties.value_of(database.read(), PURGE_WAITS)
    if blocker and not confirmed:
        raise UsageError(blocker)
    found = files.vanished_before(database.read(), before)
    count = 0
    for number, file in enumerate(found):
        count += registry.purge(file)
        if progress is not None:
            progress(number + 1, len(found))
    if count:
        registry.sweep()
        database.checkpoint()
    if confirmed:
        database.write(lambda db: vault_properties.remove(db, PURGE_WAITS))
    return count
