"""The search servers of a vault, and the names of their indexes and collections."""

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
