"""The larger engines of a vault, and what their parts are called there."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from sqlite3 import Connection

from chyme.engines.meilisearch import Meilisearch
from chyme.engines.qdrant import Qdrant
from chyme.store import marks
from chyme.store.database import Database

_MARK = "engines_vault"

# Texts come cut, folded and stemmed, and are scored again by us: all that Meilisearch does is find words.
_SETTINGS: dict[str, object] = {
    "rankingRules": ["words"],
    "filterableAttributes": ["file_id", "id"],
    "typoTolerance": {"enabled": False},
    "proximityPrecision": "byWord",  # else the words of a phrase may stand anywhere in the text
    "prefixSearch": "indexingTime",
    "facetSearch": False,
    "localizedAttributes": [{"attributePatterns": ["*"], "locales": ["eng"]}],
    "pagination": {"maxTotalHits": 100_000},
}
NAME_FIELDS = ("name", "title", "tags", "summary")


@dataclass(frozen=True, slots=True)
class LargerEngines:
    """Both servers. Several vaults may share them: each has a name of its own there."""

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
    def vectors(self) -> str:
        """How all collections of this vault begin."""
        return f"{self.vault}_v"

    def collection(self, embedder_id: int) -> str:
        return f"{self.vectors}{embedder_id}"

    @property
    def indexes(self) -> dict[str, dict[str, object]]:
        """The indexes of words, and how each is set up."""
        return {
            self.passages: {**_SETTINGS, "searchableAttributes": ["tokens"]},
            self.names: {**_SETTINGS, "searchableAttributes": list(NAME_FIELDS)},
        }

    def clear(self) -> None:
        """Forget everything about this vault."""
        for index in self.indexes:
            self.words.delete_index(index)
        for collection in self.meaning.collections(self.vectors):
            self.meaning.delete_collection(collection)

    def close(self) -> None:
        self.words.close()
        self.meaning.close()


def vault_name(database: Database) -> str:
    """What the vault is called in engines that it shares with others; made up once."""

    def make_up(db: Connection) -> str:
        known = marks.value_of(db, _MARK)
        if known is None:
            known = f"chyme_{secrets.token_hex(6)}"
            marks.put(db, _MARK, known)
        return known

    return marks.value_of(database.read(), _MARK) or database.write(make_up)
