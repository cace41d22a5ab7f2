"""Which state of the vault the engines were told last: both sides keep a number that changes with every telling.

A database that does not know the engines' number is not the one that told them: it was restored from a backup, or they
were. The number is noted here before the engines hear of it, and what is told was read before that. So a database that
knows the number has, or has still in its outbox, everything the engines were told.
"""

from __future__ import annotations

import secrets
from sqlite3 import Connection

from chyme.core.store import vault_properties
from chyme.core.store.sqlite.database import Database
from chyme.search.engines.vault_engines import VaultEngines

_MARK = "engines_told"
_DOCUMENT, _FIELD = "told", "number"


class SyncMarker:
    """The number of one vault. Only for whoever tells the engines alone."""

    def __init__(self, database: Database, engines: VaultEngines) -> None:
        self._database = database
        self._engines = engines
        self._number = ""

    def is_from_this_database(self) -> bool:
        """Whether this very database told the engines what they hold. Raises ServerFailed."""
        self._number = self._engines.words.field(self._engines.sync_index, _DOCUMENT, _FIELD) or ""
        noted = vault_properties.value_of(self._database.read(), _MARK) or ""
        return bool(self._number) and self._number in noted.split()

    def renew(self) -> None:
        """To be called between reading and telling. Raises ServerFailed."""
        number = secrets.token_hex(8)
        both = f"{number} {self._number}"  # whoever dies now does not know which of them the engines have
        self._database.write(lambda db: vault_properties.put(db, _MARK, both))
        words = self._engines.words
        words.wait_for_tasks([words.put(self._engines.sync_index, [{"id": _DOCUMENT, _FIELD: number}])])
        self._number = number

    def confirm(self, db: Connection) -> None:
        """The engines were told: in the transaction that empties the outbox of it."""
        vault_properties.put(db, _MARK, self._number)
