"""One decision about people: records the previous state for undo, and updates everything that depends on it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from sqlite3 import Connection

from chyme.core.pipeline.recorders import RefreshNames
from chyme.core.store import events, files
from chyme.speech.people.names import Person
from chyme.speech.people.tables import people, voices


class Decision:
    """Part of one transaction: first the changes, then `publish`, then `undo_data` to record how to revert them."""

    def __init__(self, db: Connection, now: str, refresh_names: RefreshNames) -> None:
        self._db = db
        self._refresh_names = refresh_names
        self.now = now
        self._names: dict[int, str | None] = {}  # person → name before
        self._groups: dict[int, tuple[int, int]] = {}  # group → owner before, owner after
        self._affected_people: set[int] = set()  # people who may have gained or lost something

    def rename(self, person: Person, name: str | None) -> None:
        self._affected_people.add(person.id)
        self._names.setdefault(person.id, person.name)
        people.rename(self._db, person.id, name, self.now)

    def assign_group(self, group_id: int, before: int, after: int) -> None:
        """Give a group of voices, with all voices that join it later, to another person."""
        self._affected_people.update((before, after))
        self._groups[group_id] = (before, after)
        voices.assign_group(self._db, group_id, after)

    def assign_voices(self, chosen: Sequence[voices.LocatedVoice], after: int) -> None:
        """Give voices to a person as separate groups: they must not blur what other groups sound like."""
        by_group: dict[tuple[int, int], list[int]] = {}
        for voice in chosen:
            by_group.setdefault((voice.group_id, voice.person_id), []).append(voice.id)
        for (group_id, before), voice_ids in by_group.items():
            self.assign_group(voices.split_group(self._db, group_id, voice_ids), before, after)

    def undo_data(self) -> str:
        """Return what `revert` needs."""
        group_changes = [[group_id, *owners] for group_id, owners in self._groups.items()]
        return json.dumps({"names": list(self._names.items()), "groups": group_changes})

    def revert(self, undo: str) -> bool:
        """Restore names and groups as far as they still exist. False when nothing can be restored."""
        undo_fields = json.loads(undo)
        names_before: dict[int, str | None] = dict(undo_fields["names"])
        group_changes = [
            (group, previous, current)
            for group, previous, current in undo_fields["groups"]
            if voices.owner_of(self._db, group) == current
        ]
        renamed = [person_id for person_id, name in names_before.items() if name != self._name_of(person_id)]
        holders = [people.by_name(self._db, name) for name in names_before.values() if name]
        name_taken = any(holder is not None and holder.id not in names_before for holder in holders)
        if name_taken or not (group_changes or renamed):
            return False
        for person_id in {*renamed, *(previous for _, previous, _ in group_changes)}:
            people.restore(self._db, person_id, self.now)
        for group, previous, current in group_changes:
            self.assign_group(group, current, previous)
        for person_id in renamed:  # first without names: a name may move from one of them to another
            self._affected_people.add(person_id)
            people.rename(self._db, person_id, None, self.now)
        for person_id in renamed:
            people.rename(self._db, person_id, names_before[person_id], self.now)
        return True

    def publish(self, what: str) -> None:
        """Update digests and index, notify listeners, and delete people left without name and voices."""
        people.delete_empty(self._db, self._affected_people)
        events.record(self._db, self.now, "person", detail=what)
        for file_id in sorted(voices.files_of(self._db, self._affected_people)):
            file = files.by_id(self._db, file_id)
            if file is not None:
                voices.refresh_digest(self._db, file_id)
                self._refresh_names(self._db, file_id)
                events.record(self._db, self.now, "person", file_id, file.path, detail=what)

    def _name_of(self, person_id: int) -> str | None:
        person = people.by_id(self._db, person_id)
        return person.name if person else None
