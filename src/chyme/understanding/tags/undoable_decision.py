"""One decision of a person about tags: it records the previous state, and updates everything that depends on tags."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from sqlite3 import Connection

from chyme.core.pipeline.recorders import RefreshNames
from chyme.core.store import digest_resets, documents, events
from chyme.core.vectors import pack_vector, unpack_vector
from chyme.model import TagVector
from chyme.understanding.description import describe
from chyme.understanding.edit_rules import TAGS as TAGS_SET
from chyme.understanding.edit_rules import current_tag_names, rename_tags_in_edit, tag_edit, tag_value
from chyme.understanding.tables import edits, tags
from chyme.understanding.tags.digest import Rule, TagChange, undo_decision
from chyme.understanding.tags.names import TAG_EMBEDDINGS


class Decision:
    """Part of one transaction: make the changes, then call `publish`, then store `undo_data`."""

    def __init__(self, db: Connection, now: str, refresh_names: RefreshNames) -> None:
        self._db = db
        self._refresh_names = refresh_names
        self.now = now
        self._rules: dict[str, tuple[Rule, Rule]] = {}  # tag → before, after
        self._files: dict[int, list[str]] = {}  # file → its tags before
        self._edits: dict[int, object] = {}  # file → a person's edit of its tags before; None: there was none
        self._vectors: dict[str, TagVector] = {}  # of tags that may be deleted afterwards

    @property
    def files(self) -> int:
        """The number of affected files."""
        return len(self._files)

    def set_rule(self, name: str, becomes: Rule) -> None:
        """Set what a proposed tag becomes: another tag, None to ban it, or False to leave it unchanged."""
        current: Rule = tags.rules(self._db).get(name, False)
        if current == becomes:
            return
        self._rules[name] = self._rules.get(name, (current, current))[0], becomes
        if becomes is False:
            tags.remove_rule(self._db, name)
        else:
            tags.put_rule(self._db, name, becomes, self.now)

    def remember_files(self, names: Sequence[str]) -> None:
        """Remember the files that have these tags, with their present tags, and the tags' vectors."""
        for file_id in tags.files_with(self._db, names):
            self._remember(file_id)
        for name in names:
            vector = tags.meaning_of(self._db, name)
            if vector is not None:
                self._vectors[name] = vector

    def replace_tags(self, names: Sequence[str], into: str) -> None:
        """Replace these tags by `into`, at the same position, whether a digest or a person gave them."""
        tags.ensure(self._db, into, self.now)
        becomes = dict.fromkeys(names, into)
        for file_id, before in self._files.items():
            document = documents.of_file(self._db, file_id)
            self._assign(file_id, current_tag_names(before, becomes))
            edit = tag_edit(self._edits[file_id])
            renamed = edit
            if document is not None and into in document.tags:  # it keeps it, though a person removed one of the others
                renamed = replace(edit, removed=tuple(name for name in edit.removed if name not in names))
            renamed = rename_tags_in_edit(renamed, becomes)
            if renamed != edit:
                self._set_edit(file_id, tag_value(renamed) if renamed.has_changes else None)
        self._delete_unused([*names, into])

    def remove_tag(self, name: str) -> None:
        """Remove a tag that digests gave. Files keep it if a person gave it."""
        for file_id, before in self._files.items():
            self._assign(file_id, [tag for tag in before if tag != name])
        self._delete_unused([name])

    def undo_data(self) -> str:
        """The JSON that `revert` needs."""
        edited = {
            file_id: [before, after]
            for file_id, before in self._edits.items()
            if (after := edits.of_file(self._db, file_id).get(TAGS_SET)) != before
        }
        data = {
            "rules": {name: list(change) for name, change in self._rules.items()},
            "files": {file_id: [before, tags.of_file(self._db, file_id)] for file_id, before in self._files.items()},
            "edits": edited,
            "meanings": {
                name: [vector.model, base64.b64encode(pack_vector(vector.vector)).decode()]
                for name, vector in self._vectors.items()
            },
        }
        return json.dumps(data, ensure_ascii=False, separators=(",", ":"))

    def revert(self, undo: str) -> bool:
        """Restore rules, tags and edits as far as they were not changed since. False if nothing can be restored."""
        data = json.loads(undo)
        rules: dict[str, list[Rule]] = data["rules"]
        current_rules = tags.rules(self._db)
        undone = {name: change for name, change in rules.items() if current_rules.get(name, False) == change[1]}
        if rules and not undone:
            return False
        names = {*undone, *(change[1] for change in undone.values() if isinstance(change[1], str))}
        recorded = {int(file_id): TagChange(*change) for file_id, change in data["files"].items()}
        self._vectors = {
            name: TagVector(name, model, unpack_vector(base64.b64decode(vector)))
            for name, (model, vector) in data["meanings"].items()
        }
        for file_id in (*recorded, *tags.files_with(self._db, names)):
            self._remember(file_id)
        for name, (before, _) in undone.items():
            self.set_rule(name, before)
        becomes = {name: change[1] for name, change in undone.items() if isinstance(change[1], str)}
        banned = {name for name, (before, _) in undone.items() if before is None}
        for file_id, current in self._files.items():
            digest = tags.digest_of(self._db, file_id)
            restored = undo_decision(current, digest, recorded.get(file_id), becomes)
            self._assign(file_id, [name for name in restored if name not in banned])
        for file_id, (before, after) in data["edits"].items():
            if edits.of_file(self._db, int(file_id)).get(TAGS_SET) == after:
                self._remember(int(file_id))
                self._set_edit(int(file_id), before)
        self._delete_unused(names)
        return True

    def publish(self, what: str) -> None:
        """Record an event, update digests, documents and index, and queue the embedding of tags without a vector."""
        events.record(self._db, self.now, "vault", detail=what)
        for file_id in sorted(self._files):
            tags.refresh_digest(self._db, file_id)
            describe(self._db, file_id, self.now, self._refresh_names)
        rules = ((name, before, after) for name, (before, after) in self._rules.items())
        for name in sorted({tag for rule in rules for tag in rule if isinstance(tag, str)}):
            file_without_vector = tags.find_file_without_vector(self._db, name)
            if file_without_vector is not None:
                digest_resets.cascade(self._db, file_without_vector, (TAG_EMBEDDINGS,), self.now)

    def _remember(self, file_id: int) -> None:
        if file_id not in self._files and documents.of_file(self._db, file_id) is not None:
            self._files[file_id] = tags.of_file(self._db, file_id)
            self._edits[file_id] = edits.of_file(self._db, file_id).get(TAGS_SET)

    def _assign(self, file_id: int, names: Iterable[str]) -> None:
        wanted = list(names)
        if wanted != self._files[file_id]:
            tags.set_file_tags(self._db, file_id, [self._tag_id(name) for name in wanted])

    def _tag_id(self, name: str) -> int:
        return tags.ensure(self._db, name, self.now, self._vectors.get(name))

    def _set_edit(self, file_id: int, value: object) -> None:
        if value is None:
            edits.remove(self._db, file_id, TAGS_SET)
        else:
            edits.put(self._db, file_id, TAGS_SET, value, self.now)
            for name in (*(tag_edit(value).all or ()), *tag_edit(value).added):
                self._tag_id(name)

    def _delete_unused(self, names: Iterable[str]) -> None:
        """Delete those of these tags that no file has any more."""
        found = [tags.by_name(self._db, name) for name in names]
        tags.delete_unused(self._db, [row[0] for row in found if row is not None])
