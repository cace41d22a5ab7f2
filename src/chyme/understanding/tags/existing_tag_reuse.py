"""Replace proposed tags by tags that the vault already has, in the transaction that assigns them to a file."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from sqlite3 import Connection

from chyme.core.vectors import normalise
from chyme.model import File, Output, TagVector
from chyme.text.spelling_variants import comparison_key
from chyme.understanding.classification.result import MAX_TAGS
from chyme.understanding.tables import tags
from chyme.understanding.tags.digest import as_json, from_json
from chyme.understanding.tags.names import apply_rules
from chyme.understanding.tags.same_meaning import find_same_meaning, select_alike
from chyme.understanding.tags.vocabulary import TagVocabulary


def assign_tags(
    db: Connection, file: File, output: Output, now: str, vocabulary: TagVocabulary | None = None
) -> str | None:
    """Assign the proposed tags to the file, or tags of the vault in their place; returns the content to store.

    Two files that propose the same new tag share it: the second one finds the tag that the first one created.
    `vocabulary` is what was read of the vault's tags for earlier files.
    """
    tag_digest = from_json(output.content)
    if tag_digest is None:
        tags.set_file_tags(db, file.id, ())
        return output.content
    vocabulary = vocabulary or TagVocabulary()
    vocabulary.refresh(db)
    chooser = _TagChooser(db, vocabulary, {vector.tag: vector for vector in output.tag_vectors}, now)
    chosen: dict[str, int] = {}
    reused: dict[str, str] = {}
    for proposed in tag_digest.proposed:
        if len(chosen) == MAX_TAGS:
            break
        found = chooser.tag_for(proposed)
        if found is None:
            continue
        name, tag_id = found
        chosen.setdefault(name, tag_id)
        if name != proposed:
            reused[proposed] = name
    deleted = tags.set_file_tags(db, file.id, list(chosen.values()))
    vocabulary.save_version(db, deleted)
    return as_json(replace(tag_digest, tags=tuple(chosen), reused=reused))


class _TagChooser:
    """Chooses the tags of one file among those of the vault."""

    def __init__(self, db: Connection, vocabulary: TagVocabulary, vectors: dict[str, TagVector], now: str) -> None:
        self._db = db
        self._vocabulary = vocabulary
        self._vectors = vectors
        self._now = now
        self._rules = tags.rules(db)

    def tag_for(self, proposed: str) -> tuple[str, int] | None:
        """The tag to assign for a proposed one, with its id; None if people banned it."""
        name = apply_rules(proposed, self._rules)
        if name is None:
            return None
        found = self._find_exact(name)
        if found is not None or name != proposed:
            return found or (name, self._add(name))
        known = self._find_variant(name)
        if known is None:  # banned, however it is spelt
            return None
        if known == name:
            known = self._find_same_meaning(name) or name
        wanted = apply_rules(known, self._rules)
        if wanted is None:
            return None
        return self._find_exact(wanted) or (wanted, self._add(wanted))

    def _find_exact(self, name: str) -> tuple[str, int] | None:
        found = tags.by_name(self._db, name)
        if found is None:
            return None
        if name in self._vectors and tags.set_missing_vector(self._db, self._vectors[name]):
            self._vocabulary.forget_codes(self._vectors[name].model)
        return name, found[0]

    def _find_variant(self, name: str) -> str | None:
        """The tag that is only spelt differently, or what people made of it; `name` itself if there is none."""
        key = comparison_key(name)
        if key in self._ruled_spellings:
            return self._ruled_spellings[key]
        return self._vocabulary.name_of(key) or name

    def _find_same_meaning(self, name: str) -> str | None:
        tag_vector = self._vectors.get(name)
        if tag_vector is None:
            return None
        near = self._vocabulary.near(self._db, tag_vector)
        if not near:
            return None
        unit = normalise(tag_vector.vector)
        found = find_same_meaning(name, unit, select_alike(unit, tags.list_packed(self._db, near)))
        return found.name if found else None

    def _add(self, name: str) -> int:
        vector = self._vectors.get(name)
        tag_id = tags.add(self._db, name, vector, self._now)
        self._vocabulary.add(name, tag_id, vector)
        return tag_id

    @cached_property
    def _ruled_spellings(self) -> dict[str, str | None]:
        return {comparison_key(name): apply_rules(name, self._rules) for name in self._rules}
