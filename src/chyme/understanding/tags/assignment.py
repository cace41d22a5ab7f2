"""Gives a file its tags, in the transaction of the verdict that proposed them: those of the vault before new ones."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from sqlite3 import Connection

from chyme.model import File, Output, TagVector
from chyme.speech.people.voice_matching import normalise
from chyme.understanding.classification.result import MOST_TAGS
from chyme.understanding.tables import tags
from chyme.understanding.tags.digest import apply_rules, as_json, from_json
from chyme.understanding.tags.names import TAG_EMBEDDINGS, TAGS, comparison_key
from chyme.understanding.tags.similarity import TagBits, find_same_meaning, nearest, sign_bits


def assign_tags(db: Connection, file: File, output: Output, now: str) -> str | None:
    """What is stored as the output's content; where it proposes tags, the file is given its tags first.

    Two files that propose the same new tag share it: whoever comes second finds the one the first one made.
    """
    if output.name != TAGS:
        return output.content
    tagged = from_json(output.content)
    if tagged is None:
        remove_tags(db, file.id)
        return output.content
    vocabulary = _Vocabulary(db, {meaning.tag: meaning for meaning in output.tag_vectors}, now)
    chosen: dict[str, int] = {}
    reused: dict[str, str] = {}
    for proposed in tagged.proposed:
        if len(chosen) == MOST_TAGS:
            break
        found = vocabulary.tag_for(proposed)
        if found is None:
            continue
        name, tag_id = found
        chosen.setdefault(name, tag_id)
        if name != proposed:
            reused[proposed] = name
    tags.set_file_tags(db, file.id, list(chosen.values()))
    return as_json(replace(tagged, tags=tuple(chosen), reused=reused))


def store_tag_vectors(db: Connection, output: Output) -> None:
    """Keep what tags mean that nobody could tell before, or another model told."""
    if output.name == TAG_EMBEDDINGS:
        for meaning in output.tag_vectors:
            tags.set_missing_vector(db, meaning)


def remove_tags(db: Connection, file_id: int) -> None:
    """The file has no tags any more, and those that nobody else has go. What persons decided about them stays."""
    tags.set_file_tags(db, file_id, ())


class _Vocabulary:
    """The vault's tags while one file is given its own."""

    def __init__(self, db: Connection, meanings: dict[str, TagVector], now: str) -> None:
        self._db = db
        self._meanings = meanings
        self._now = now
        self._rules = tags.rules(db)
        self._codes: dict[str, list[TagBits]] = {}  # by model

    def tag_for(self, proposed: str) -> tuple[str, int] | None:
        """The tag, and its id, that stands for what was proposed; None when persons do not want it."""
        name = apply_rules(proposed, self._rules)
        if name is None:
            return None
        found = self._exact(name)
        if found is not None or name != proposed:
            return found or (name, self._added(name))
        known = self._variant(name)
        if known is None:  # never given, however it is spelt
            return None
        if known == name:
            known = self._of_same_meaning(name) or name
        wanted = apply_rules(known, self._rules)
        if wanted is None:
            return None
        return self._exact(wanted) or (wanted, self._added(wanted))

    def _exact(self, name: str) -> tuple[str, int] | None:
        found = tags.by_name(self._db, name)
        if found is None:
            return None
        tag_id, model = found
        meaning = self._meanings.get(name)
        if meaning is not None and meaning.model != model:
            tags.set_vector(self._db, tag_id, meaning)
        return name, tag_id

    def _variant(self, name: str) -> str | None:
        """The tag that is only spelt differently, or what persons said of it; `name` itself when there is none."""
        key = comparison_key(name)
        if key in self._ruled_spellings:
            return self._ruled_spellings[key]
        return self._spellings.get(key, name)

    def _of_same_meaning(self, name: str) -> str | None:
        meaning = self._meanings.get(name)
        if meaning is None:
            return None
        vector = normalise(meaning.vector)
        if meaning.model not in self._codes:
            self._codes[meaning.model] = tags.list_codes(self._db, meaning.model)
        near = nearest(sign_bits(vector), self._codes[meaning.model])
        found = find_same_meaning(name, vector, tags.list_with_vectors(self._db, near))
        return found.name if found else None

    def _added(self, name: str) -> int:
        meaning = self._meanings.get(name)
        tag_id = tags.add(self._db, name, meaning, self._now)
        self._spellings.setdefault(comparison_key(name), name)
        if meaning is not None and meaning.model in self._codes:
            self._codes[meaning.model].append((tag_id, sign_bits(normalise(meaning.vector))))
        return tag_id

    @cached_property
    def _spellings(self) -> dict[str, str]:
        """Every tag by what it is compared by."""
        return {comparison_key(name): name for name in tags.names(self._db)}

    @cached_property
    def _ruled_spellings(self) -> dict[str, str | None]:
        return {comparison_key(name): apply_rules(name, self._rules) for name in self._rules}
