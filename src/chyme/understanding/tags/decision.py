"""One decision about tags: it remembers how things were, and brings everything in line at its end."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from sqlite3 import Connection

from chyme.core.pipeline.recorders import RefreshNames
from chyme.core.store import digests, documents, events
from chyme.model import TagVector
from chyme.speech.people.voice_matching import pack_vector, unpack_vector
from chyme.understanding.description import describe
from chyme.understanding.edit_rules import TAGS as TAGS_SET
from chyme.understanding.edit_rules import TagEdit, tag_edit, tag_value
from chyme.understanding.tables import edits, tags
from chyme.understanding.tags.names import TAG_EMBEDDINGS
from chyme.understanding.tags.undo import Rule, TagChange, undo_decision


class Decision:
    """Part of one transaction: changes first, then `tell`, then `undo` to remember how to take them back."""

    def __init__(self, db: Connection, now: str, refresh_names: RefreshNames) -> None:
        self._db = db
        self._refresh_names = refresh_names
        self.now = now
        self._rules: dict[str, tuple[Rule, Rule]] = {}  # tag → before, after
        self._files: dict[int, list[str]] = {}  # file → its tags before
        self._edits: dict[int, object] = {}  # file → what a person had set about its tags; None: nothing
        self._meanings: dict[str, TagVector] = {}  # of tags that may be gone afterwards

    @property
    def files(self) -> int:
        """How many files it touches."""
        return len(self._files)

    def set_rule(self, name: str, becomes: Rule) -> None:
        """From now on a proposed tag becomes another one, or is never given (None), or stays what it is (False)."""
        standing: Rule = tags.rules(self._db).get(name, False)
        if standing == becomes:
            return
        self._rules[name] = self._rules.get(name, (standing, standing))[0], becomes
        if becomes is False:
            tags.remove_rule(self._db, name)
        else:
            tags.put_rule(self._db, name, becomes, self.now)

    def remember_files(self, names: Sequence[str]) -> None:
        """Remember the files that have these tags, as they are now, and what the tags mean."""
        for file_id in tags.files_with(self._db, names):
            self._remember(file_id)
        for name in names:
            meaning = tags.meaning_of(self._db, name)
            if meaning is not None:
                self._meanings[name] = meaning

    def replace_tags(self, names: Sequence[str], into: str) -> None:
        """Whoever has one of these tags has `into` instead, in its place; by digest or by hand."""
        tags.ensure(self._db, into, self.now)
        for file_id, before in self._files.items():
            shown = documents.of_file(self._db, file_id)
            stays = shown is not None and into in shown.tags
            self._give(file_id, dict.fromkeys(into if name in names else name for name in before))
            edit = tag_edit(self._edits[file_id])
            moved = _moved(edit, names, into, stays)
            if moved != edit:
                self._set(file_id, tag_value(moved) if moved.has_changes else None)
        self._drop([*names, into])

    def remove_tag(self, name: str) -> None:
        """No digest gives this tag. Whoever has it by hand keeps it."""
        for file_id, before in self._files.items():
            self._give(file_id, [each for each in before if each != name])
        self._drop([name])

    def undo_data(self) -> str:
        """What `take_back` needs."""
        edited = {
            file_id: [before, after]
            for file_id, before in self._edits.items()
            if (after := edits.of_file(self._db, file_id).get(TAGS_SET)) != before
        }
        told = {
            "rules": {name: list(both) for name, both in self._rules.items()},
            "files": {file_id: [before, tags.of_file(self._db, file_id)] for file_id, before in self._files.items()},
            "edits": edited,
            "meanings": {
                name: [one.model, base64.b64encode(pack_vector(one.vector)).decode()]
                for name, one in self._meanings.items()
            },
        }
        return json.dumps(told, ensure_ascii=False, separators=(",", ":"))

    def revert(self, undo: str) -> bool:
        """Bring rules, tags and edits back to what they were, as far as they are there. False when nothing can be."""
        told = json.loads(undo)
        rules: dict[str, list[Rule]] = told["rules"]
        standing = tags.rules(self._db)
        undone = {name: both for name, both in rules.items() if standing.get(name, False) == both[1]}
        if rules and not undone:
            return False
        names = {*undone, *(both[1] for both in undone.values() if isinstance(both[1], str))}
        recorded = {int(file_id): TagChange(*both) for file_id, both in told["files"].items()}
        self._meanings = {
            name: TagVector(name, model, unpack_vector(base64.b64decode(vector)))
            for name, (model, vector) in told["meanings"].items()
        }
        for file_id in (*recorded, *tags.files_with(self._db, names)):
            self._remember(file_id)
        for name, (before, _) in undone.items():
            self.set_rule(name, before)
        becomes = {name: both[1] for name, both in undone.items() if isinstance(both[1], str)}
        banned = {name for name, (before, _) in undone.items() if before is None}
        for file_id, current in self._files.items():
            digest = tags.digest_of(self._db, file_id)
            back = undo_decision(current, digest, recorded.get(file_id), becomes)
            self._give(file_id, [name for name in back if name not in banned])
        for file_id, (before, after) in told["edits"].items():
            if edits.of_file(self._db, int(file_id)).get(TAGS_SET) == after:
                self._remember(int(file_id))
                self._set(int(file_id), before)
        self._drop(names)
        return True

    def publish(self, what: str) -> None:
        """Digests, documents, index and whoever watches learn of it; what a new tag means is asked for again."""
        events.record(self._db, self.now, "vault", detail=what)
        for file_id in sorted(self._files):
            tags.refresh_digest(self._db, file_id)
            describe(self._db, file_id, self.now, self._refresh_names)
        for name in sorted(set(self._told_of())):
            unclear = tags.find_file_without_vector(self._db, name)
            if unclear is not None:
                digests.cascade(self._db, unclear, (TAG_EMBEDDINGS,), self.now)

    def _told_of(self) -> Iterable[str]:
        for name, (before, after) in self._rules.items():
            yield from (each for each in (name, before, after) if isinstance(each, str))

    def _remember(self, file_id: int) -> None:
        if file_id not in self._files and documents.of_file(self._db, file_id) is not None:
            self._files[file_id] = tags.of_file(self._db, file_id)
            self._edits[file_id] = edits.of_file(self._db, file_id).get(TAGS_SET)

    def _give(self, file_id: int, names: Iterable[str]) -> None:
        wanted = list(names)
        if wanted != self._files[file_id]:
            tags.set_file_tags(self._db, file_id, [self._tag(name) for name in wanted])

    def _tag(self, name: str) -> int:
        found = tags.by_name(self._db, name)
        return found[0] if found else tags.add(self._db, name, self._meanings.get(name), self.now)

    def _set(self, file_id: int, value: object) -> None:
        if value is None:
            edits.remove(self._db, file_id, TAGS_SET)
        else:
            edits.put(self._db, file_id, TAGS_SET, value, self.now)
            for name in (*(tag_edit(value).all or ()), *tag_edit(value).added):
                self._tag(name)

    def _drop(self, names: Iterable[str]) -> None:
        """Tags that nobody has any more go, whoever had them."""
        found = [tags.by_name(self._db, name) for name in names]
        tags.delete_unused(self._db, [one[0] for one in found if one is not None])


def _moved(edit: TagEdit, names: Sequence[str], into: str, stays: bool) -> TagEdit:
    """What a person set, in the new words. Who took one of several away, and kept `into`, wants to keep it."""

    def renamed(listed: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(into if name in names else name for name in listed))

    if edit.all is not None:
        return TagEdit(all=renamed(edit.all))
    removed = renamed(name for name in edit.removed if not (stays and name in names))
    return TagEdit(added=renamed(edit.added), removed=removed)
