"""The search servers of a vault, the names of their indexes and collections, and which state of the vault they have."""

from __future__ import annotations

import hashlib
import secrets
import socket
from dataclasses import dataclass
from sqlite3 import Connection
from typing import NamedTuple

from chyme.core.store import vault_properties
from chyme.core.store.sqlite.database import Database
from chyme.search.engines.meilisearch import Meilisearch
from chyme.search.engines.qdrant import Qdrant
from chyme.search.tables import engine_outbox

_PROPERTY = "engines_vault"
# Texts are sent tokenised, folded and stemmed, and are scored by chyme: Meilisearch only finds words.
_INDEX_SETTINGS: dict[str, object] = {
    "rankingRules": ["words"],
    "filterableAttributes": ["file_id", "id"],
    "typoTolerance": {"enabled": False},
    "proximityPrecision": "byWord",  # otherwise the words of a phrase may be anywhere in the text
    "prefixSearch": "indexingTime",
    "facetSearch": False,
    "localizedAttributes": [{"attributePatterns": ["*"], "locales": ["eng"]}],
    "pagination": {"maxTotalHits": 100_000},
}
NAME_FIELDS = ("name", "title", "tags", "summary")
_SYNC_PROPERTY = "engines_told"
_SYNC_DOCUMENT, _SYNC_FIELD = "told", "number"


@dataclass(frozen=True, slots=True)
class VaultEngines:
    """Both servers. Several vaults may share them: each has its own name there."""

    words: Meilisearch
    meaning: Qdrant
    vault: str

    @property
    def passages(self) -> str:
        return f"{self.vault}_passages"

    @property
    def names(self) -> str:
        return f"{self.vault}_names"

    @property
    def sync_index(self) -> str:
        """Where Meilisearch keeps which state of the vault was pushed last."""
        return f"{self.vault}_told"

    @property
    def vectors(self) -> str:
        """The prefix of all collections of this vault."""
        return f"{self.vault}_v"

    def collection(self, embedder_id: int) -> str:
        return f"{self.vectors}{embedder_id}"

    @property
    def indexes(self) -> dict[str, dict[str, object]]:
        """The indexes of Meilisearch, and their settings."""
        return {
            self.passages: {**_INDEX_SETTINGS, "searchableAttributes": ["tokens"]},
            self.names: {**_INDEX_SETTINGS, "searchableAttributes": list(NAME_FIELDS)},
        }

    def clear(self) -> None:
        """Delete everything of this vault."""
        for index in (self.sync_index, *self.indexes):  # the sync index first: half deleted must not look complete
            self.words.delete_index(index)
        for collection in self.meaning.collections(self.vectors):
            self.meaning.delete_collection(collection)

    def close(self) -> None:
        self.words.close()
        self.meaning.close()


class _Claim(NamedTuple):
    """A name in the engines, and the database it belongs to."""

    name: str
    file: str
    place: str


def vault_name(database: Database) -> str:
    """The name of the vault in engines that it shares with others.

    The name stays when the vault is moved (the same file elsewhere) or restored (another file in the same place). A
    copy is another file elsewhere: it gets its own name, because otherwise the two would delete each other's entries.
    """
    status = database.path.stat()
    file = f"{status.st_dev}:{status.st_ino}"
    where = f"{socket.gethostname()}\0{database.path.resolve()}"  # other machines have the same paths
    place = hashlib.sha256(where.encode(errors="surrogateescape")).hexdigest()[:16]

    def claim(db: Connection) -> str:
        known = _read_claim(db)
        if known is not None and (known.file == file or known.place == place):
            name = known.name
        else:
            name = f"chyme_{secrets.token_hex(6)}"
            engine_outbox.deactivate(db)  # nothing was pushed under this name
        vault_properties.put(db, _PROPERTY, " ".join(_Claim(name, file, place)))
        return name

    known = _read_claim(database.read())
    return known.name if known is not None and known[1:] == (file, place) else database.write(claim)


def _read_claim(db: Connection) -> _Claim | None:
    fields = (vault_properties.value_of(db, _PROPERTY) or "").split()
    return _Claim(*fields) if len(fields) == len(_Claim._fields) else None


class SyncMarker:
    """A number that shows which state of the vault the engines have: both sides store it, and every push changes it.

    If a database does not know the engines' number, it is not the one that pushed: the database or the engines were
    restored from a backup. The number is stored here before it is sent to the engines, and the pushed data was read
    before that. So a database that knows the number has everything the engines were sent, or still has it in its
    outbox. Use it only while no other process pushes.
    """

    def __init__(self, database: Database, engines: VaultEngines) -> None:
        self._database = database
        self._engines = engines
        self._number = ""

    def is_from_this_database(self) -> bool:
        """Whether this very database pushed what the engines hold. Raises ServerFailed."""
        self._number = self._engines.words.field(self._engines.sync_index, _SYNC_DOCUMENT, _SYNC_FIELD) or ""
        known_numbers = vault_properties.value_of(self._database.read(), _SYNC_PROPERTY) or ""
        return bool(self._number) and self._number in known_numbers.split()

    def renew(self) -> None:
        """Change the number; call this between reading and pushing. Raises ServerFailed."""
        number = secrets.token_hex(8)
        numbers = f"{number} {self._number}"  # after a crash here, the engines may have either of them
        self._database.write(lambda db: vault_properties.put(db, _SYNC_PROPERTY, numbers))
        words = self._engines.words
        words.wait_for_tasks([words.put(self._engines.sync_index, [{"id": _SYNC_DOCUMENT, _SYNC_FIELD: number}])])
        self._number = number

    def confirm(self, db: Connection) -> None:
        """Record a finished push, in the transaction that removes its files from the outbox."""
        vault_properties.put(db, _SYNC_PROPERTY, self._number)
