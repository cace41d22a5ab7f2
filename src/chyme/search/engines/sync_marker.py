"""A number that shows which state of the vault the engines have: both sides store it, and it changes with every push.

If a database does not know the engines' number, it is not the one that pushed: the database or the engines were
restored from a backup. The number is stored here before it is sent to the engines, and the pushed data was read before
that. So a database that knows the number has everything the engines were sent, or still has it in its outbox.
"""

from __future__ import annotations

import secrets
from sqlite3 import Connection

from chyme.core.store import vault_properties
from chyme.core.store.sqlite.database import Database
from chyme.search.engines.vault_engines import VaultEngines

_PROPERTY = "engines_told"
_DOCUMENT, _FIELD = "told", "number"


class SyncMarker:
    """The number of one vault. Use it only while no other process pushes."""

    def __init__(self, database: Database, engines: VaultEngines) -> None:
        self._database = database
        self._engines = engines
        self._number = ""

    def is_from_this_database(self) -> bool:
        """Whether this very database pushed what the engines hold. Raises ServerFailed."""
        self._number = self._engines.words.field(self._engines.sync_index, _DOCUMENT, _FIELD) or ""
        known_numbers = vault_properties.value_of(self._database.read(), _PROPERTY) or ""
        return bool(self._number) and self._number in known_numbers.split()

    def renew(self) -> None:
        """Change the number; call this between reading and pushing. Raises ServerFailed."""
        number = secrets.token_hex(8)
        numbers = f"{number} {self._number}"  # after a crash here, the engines may have either of them
        self._database.write(lambda db: vault_properties.put(db, _PROPERTY, numbers))
        words = self._engines.words
        words.wait_for_tasks([words.put(self._engines.sync_index, [{"id": _DOCUMENT, _FIELD: number}])])
        self._number = number

    def confirm(self, db: Connection) -> None:
        """Record a finished push, in the transaction that removes its files from the outbox."""
        vault_properties.put(db, _PROPERTY, self._number)
