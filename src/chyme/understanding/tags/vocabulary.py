"""The vault's tags in memory, so that giving a file its tags need not read all of them."""

from __future__ import annotations

from sqlite3 import Connection

from chyme.model import TagVector
from chyme.text.spelling_variants import comparison_key
from chyme.understanding.tables import tags
from chyme.understanding.tags.same_meaning import TagCodes, sign_bits


class TagVocabulary:
    """Spellings and sign bits of all tags, read again when others changed them. For one thread.

    Call `refresh` before, and `save_version` after the changes of one transaction. If that is undone, or if another
    process changes a tag, the version in the database differs from ours.
    """

    def __init__(self) -> None:
        self._version: str | None = None
        self._names_by_key: dict[str, str] = {}
        self._codes: dict[str, TagCodes] = {}  # by model

    def refresh(self, db: Connection) -> None:
        """Forget everything if tags were changed since the last transaction."""
        version = tags.version(db)
        if self._version != version:
            self._version = version
            self._names_by_key = {comparison_key(name): name for name in tags.names(db)}
            self._codes = {}

    def save_version(self, db: Connection, deleted: bool) -> None:
        """Declare the changes of this transaction known; `deleted`: that some tags were deleted is not."""
        self._version = None if deleted else tags.version(db)

    def name_of(self, key: str) -> str | None:
        """The tag with this comparison key."""
        return self._names_by_key.get(key)

    def add(self, name: str, tag_id: int, vector: TagVector | None) -> None:
        """Add a new tag."""
        self._names_by_key.setdefault(comparison_key(name), name)
        if vector is not None and vector.model in self._codes:
            self._codes[vector.model].add(tag_id, sign_bits(vector.vector))

    def forget_codes(self, model: str) -> None:
        """Read the sign bits of this model again when they are needed."""
        self._codes.pop(model, None)

    def near(self, db: Connection, vector: TagVector) -> list[int]:
        """The ids of the tags that may mean the same, by the signs of their vectors."""
        if vector.model not in self._codes:
            self._codes[vector.model] = TagCodes(tags.list_codes(db, vector.model))
        return self._codes[vector.model].near(sign_bits(vector.vector))
