"""One decision about people: it remembers how things were, and brings everything in line at its end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from sqlite3 import Connection

from chyme.core.pipeline.recorders import RefreshNames
from chyme.core.store import events, files
from chyme.speech.people.names import Person
from chyme.speech.people.tables import people, voices


class Decision:
    """Part of one transaction: changes first, then `tell`, then `undo` to remember how to take them back."""

    def __init__(self, db: Connection, now: str, refresh_names: RefreshNames) -> None:
        self._db = db
        self._refresh_names = refresh_names
        self.now = now
        self._names: dict[int, str | None] = {}  # person → name before
        self._groups: dict[int, tuple[int, int]] = {}  # group → whose it was, whose it is
        self._people: set[int] = set()  # whoever may have gained or lost something

    def rename(self, person: Person, name: str | None) -> None:
        self._people.add(person.id)
        self._names.setdefault(person.id, person.name)
        people.rename(self._db, person.id, name, self.now)

    def assign_group(self, group_id: int, was: int, becomes: int) -> None:
        """A group of voices changes hands, with all that join it later."""
        self._people.update((was, becomes))
        self._groups[group_id] = (was, becomes)
        voices.assign_group(self._db, group_id, becomes)

    def assign_voices(self, chosen: Sequence[voices.LocatedVoice], becomes: int) -> None:
        """Give voices to a person, as groups of their own: they must not blur what others sound like."""
        by_group: dict[tuple[int, int], list[int]] = {}
        for voice in chosen:
            by_group.setdefault((voice.group_id, voice.person_id), []).append(voice.id)
        for (group_id, was), voice_ids in by_group.items():
            self.assign_group(voices.split_group(self._db, group_id, voice_ids), was, becomes)

    def undo_data(self) -> str:
        """What `take_back` needs."""
        groups = [[group, *whose] for group, whose in self._groups.items()]
        return json.dumps({"names": list(self._names.items()), "groups": groups})

    def revert(self, undo: str) -> bool:
        """Bring names and groups back to what they were, as far as they are there. False when nothing can be."""
        told = json.loads(undo)
        before: dict[int, str | None] = dict(told["names"])
        owners = [(group, was, is_) for group, was, is_ in told["groups"] if voices.owner_of(self._db, group) == is_]
        wanted = [person_id for person_id, name in before.items() if name != self._name_of(person_id)]
        holders = [people.by_name(self._db, name) for name in before.values() if name]
        taken = any(holder is not None and holder.id not in before for holder in holders)
        if taken or not (owners or wanted):
            return False
        for person_id in {*wanted, *(was for _, was, _ in owners)}:
            people.restore(self._db, person_id, self.now)
        for group, was, is_ in owners:
            self.assign_group(group, is_, was)
        for person_id in wanted:  # a name may go from one of them to another
            self._people.add(person_id)
            people.rename(self._db, person_id, None, self.now)
        for person_id in wanted:
            people.rename(self._db, person_id, before[person_id], self.now)
        return True

    def publish(self, what: str) -> None:
        """Digests, index and whoever watches learn of it; nobody without name and voices is left."""
        people.delete_empty(self._db, self._people)
        events.record(self._db, self.now, "person", detail=what)
        for file_id in sorted(voices.files_of(self._db, self._people)):
            file = files.by_id(self._db, file_id)
            if file is not None:
                voices.refresh_digest(self._db, file_id)
                self._refresh_names(self._db, file_id)
                events.record(self._db, self.now, "person", file_id, file.path, detail=what)

    def _name_of(self, person_id: int) -> str | None:
        person = people.by_id(self._db, person_id)
        return person.name if person else None
