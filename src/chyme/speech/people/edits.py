"""Users' decisions about the people heard in a vault. They are final, and can be undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from sqlite3 import Connection

from chyme.core.pipeline.recorders import RefreshNames
from chyme.core.store.sqlite.database import Database
from chyme.errors import UsageError
from chyme.model import iso
from chyme.speech.people.decision import Decision
from chyme.speech.people.names import (
    NEW,
    Person,
    clean_name,
    display_name,
    find_by_name,
    no_match_message,
    parse_person_number,
)
from chyme.speech.people.tables import people, voices
from chyme.speech.people.tables.people import PersonTotals

LONGEST_NUMBER = 18  # digits
WITH_WORDS = 20  # voices shown with their first words: each needs reading a transcript

Decide = Callable[[Connection, Decision], tuple[str, int]]  # the decision in words, and the id of the person to show


@dataclass(frozen=True, slots=True)
class PersonVoice:
    """A person's voice in one file."""

    id: int
    path: str
    speaker: str
    seconds: float
    words: str | None  # its first words
    start: float | None = None  # when these words are spoken, in seconds
    end: float | None = None


@dataclass(frozen=True, slots=True)
class PersonRecording:
    """How long a person is heard in one recording."""

    path: str
    day: str
    seconds: float


@dataclass(frozen=True, slots=True)
class PersonDetails:
    """A person with all their voices."""

    person: PersonTotals
    voices: tuple[PersonVoice, ...]


@dataclass(frozen=True, slots=True)
class DecisionResult:
    """The decision in words, and the person it was about, if they still exist."""

    what: str
    person: PersonTotals | None = None


class People:
    """The people of one vault. A person is given by number (`3`, `Person 3`), by name or by a word of it.

    A voice is given by number, or by file and label (`talks/one.mp3:speaker-2`). Each decision is one transaction:
    readers always find names, digests and index consistent, even while another process digests.
    """

    def __init__(self, database: Database, clock: Callable[[], datetime], refresh_names: RefreshNames) -> None:
        self._database = database
        self._clock = clock
        self._refresh_names = refresh_names

    def list_people(self) -> list[PersonTotals]:
        """Everyone, people with names first, then by how long they speak."""
        return people.list_people(self._database.read())

    def has_person(self, person_id: int) -> bool:
        """Whether this person exists."""
        return people.by_id(self._database.read(), person_id) is not None

    def show(self, who: str) -> PersonDetails:
        """One person, with their voices in files that are on disk."""
        with self._database.snapshot() as db:
            person = find_person(db, who)
            person_voices = []
            for number, voice in enumerate(voices.of_person(db, person.id)):
                first_words = voices.first_words(db, voice.file_id, voice.speaker) if number < WITH_WORDS else None
                words, start, end = first_words or (None, None, None)
                person_voices.append(PersonVoice(voice.id, voice.path, voice.speaker, voice.seconds, words, start, end))
            return PersonDetails(people.list_people(db, person.id)[0], tuple(person_voices))

    def recordings(self, who: str) -> list[PersonRecording]:
        """The recordings in which a person is heard, in the order of their days."""
        with self._database.snapshot() as db:
            return [PersonRecording(*row) for row in voices.recordings_of(db, find_person(db, who).id)]

    def name(self, who: str, name: str) -> DecisionResult:
        """Give a person a name, or replace it."""
        clean = clean_name(name)

        def decide(db: Connection, decision: Decision) -> tuple[str, int]:
            person, holder = find_person(db, who), people.by_name(db, clean)
            if holder is not None and holder.id != person.id:
                raise UsageError(
                    f"there is a {holder.name} already (person {holder.id}); if {display_name(person)} is the same, "
                    f"say: chyme people merge {holder.id} {person.id}"
                )
            if person.name == clean:
                raise UsageError(f"{clean} already has this name")
            decision.rename(person, clean)
            what = f"renamed {person.name} to {clean}" if person.name else f"named {display_name(person)} {clean}"
            return what, person.id

        return self._decide(decide)

    def remove_name(self, who: str) -> DecisionResult:
        """Take a name away. A person without name and voices is deleted."""

        def decide(db: Connection, decision: Decision) -> tuple[str, int]:
            person = find_person(db, who)
            if person.name is None:
                raise UsageError(f"{display_name(person)} has no name")
            decision.rename(person, None)
            return f"took the name of {person.name} away from Person {person.id}", person.id

        return self._decide(decide)

    def merge(self, into: str, others: Sequence[str]) -> DecisionResult:
        """Declare these to be one person; the first keeps its name, or takes the only one there is."""

        def decide(db: Connection, decision: Decision) -> tuple[str, int]:
            person = find_person(db, into)
            rest = list(dict.fromkeys(find_person(db, other) for other in others))
            if not rest or person in rest:
                raise UsageError(f"{display_name(person)} can only be merged with somebody else")
            names = [other.name for other in rest if other.name]
            if person.name is None and len(names) > 1:
                raise UsageError(
                    f"{display_name(person)} has no name yet, and there are {' and '.join(names)}; put one first"
                )
            for other in rest:
                for group_id in voices.groups_of(db, other.id):
                    decision.assign_group(group_id, other.id, person.id)
                if other.name:
                    decision.rename(other, None)
            what = f"merged {' and '.join(map(display_name, rest))} into {display_name(person)}"
            if person.name is None and names:
                decision.rename(person, names[0])
                what += f", now called {names[0]}"
            return what, person.id

        return self._decide(decide)

    def split(self, who: str, chosen: Sequence[str]) -> DecisionResult:
        """Declare these voices to be those of one new person."""

        def decide(db: Connection, decision: Decision) -> tuple[str, int]:
            person = find_person(db, who)
            selected = list(dict.fromkeys(find_voice(db, voice) for voice in chosen))
            for voice in selected:
                if voice.person_id != person.id:
                    label = f"voice {voice.id} ({voice.path}, {voice.speaker})"
                    raise UsageError(f"{label} is not one of {display_name(person)}'s")
            if len(selected) == voices.count_of(db, person.id):
                raise UsageError(f"these are all voices of {display_name(person)}: nothing would be left")
            other = people.add(db, decision.now)
            decision.assign_voices(selected, other)
            count = "a voice" if len(selected) == 1 else f"{len(selected)} voices"
            return f"split {count} of {display_name(person)} off as Person {other}", other

        return self._decide(decide)

    def move(self, voice: str, to: str) -> DecisionResult:
        """Give this voice to another person: an existing one, or a `new` one."""

        def decide(db: Connection, decision: Decision) -> tuple[str, int]:
            moved = find_voice(db, voice)
            before = people.by_id(db, moved.person_id) or Person(moved.person_id, None)
            new = to.strip().casefold() == NEW
            if new and before.name is None and voices.count_of(db, before.id) == 1:
                raise UsageError(f"voice {moved.id} is the only one of {display_name(before)} already")
            after = Person(people.add(db, decision.now), None) if new else find_person(db, to)
            if after == before:
                raise UsageError(f"voice {moved.id} is {display_name(before)}'s already")
            decision.assign_voices([moved], after.id)
            return f"moved voice {moved.id} from {display_name(before)} to {display_name(after)}", after.id

        return self._decide(decide)

    def remove(self, who: str) -> DecisionResult:
        """Delete a person who has a name but no voices."""

        def decide(db: Connection, decision: Decision) -> tuple[str, int]:
            person = find_person(db, who)
            count = voices.count_of(db, person.id)
            if count:
                noun = "voice" if count == 1 else "voices"
                raise UsageError(
                    f"{display_name(person)} has {count} {noun}, maybe in files that vanished; "
                    "give them to others or purge the files first"
                )
            decision.rename(person, None)
            return f"removed {display_name(person)}", person.id

        return self._decide(decide)

    def undo(self) -> DecisionResult:
        """Revert the last decision; called again, the one before it. Voices heard since then move along."""
        now = iso(self._clock())

        def revert_last(db: Connection) -> tuple[str, bool]:
            change = people.last_change(db)
            if change is None:
                raise UsageError("there is nothing to undo")
            people.forget_change(db, change.id)
            decision = Decision(db, now, self._refresh_names)
            reverted = decision.revert(change.undo)
            if reverted:
                decision.publish(f"undone: {change.what}")
            return change.what, reverted

        what, reverted = self._database.write(revert_last)
        if not reverted:
            raise UsageError(
                f"“{what}” cannot be undone any more: the voices it was about are gone, or the name is another's now; "
                "undo again for the decision before it"
            )
        return DecisionResult(what)

    def _decide(self, decide: Decide) -> DecisionResult:
        now = iso(self._clock())

        def write(db: Connection) -> DecisionResult:
            decision = Decision(db, now, self._refresh_names)
            what, person_id = decide(db, decision)
            decision.publish(what)
            people.record_change(db, what, decision.undo_data(), now)
            remaining = people.list_people(db, person_id)
            return DecisionResult(what, remaining[0] if remaining else None)

        return self._database.write(write)


def as_json(person: PersonTotals) -> dict[str, object]:
    """The JSON that the command line and HTTP promise."""
    return {
        "id": person.id,
        "name": person.name,
        "called": display_name(Person(person.id, person.name)),
        "voices": person.voices,
        "files": person.files,
        "seconds": round(person.seconds, 2),
    }


def find_person(db: Connection, who: str) -> Person:
    """Return a person by number, name or a word of the name; otherwise raise an error that lists candidates."""
    number = parse_person_number(who)
    if number is not None:
        person = people.by_id(db, number)
        if person is None:
            raise UsageError(f"there is no person {number}; 'chyme people' lists them")
        return person
    known = people.list_named(db)
    matches = find_by_name(who, known)
    if not matches:
        raise UsageError(no_match_message(who, known))
    if len(matches) > 1:
        candidates = ", ".join(f"{person.name} ({person.id})" for person in matches)
        raise UsageError(f"“{who}” may be any of {candidates}; say which by number")
    return matches[0]


def find_voice(db: Connection, reference: str) -> voices.LocatedVoice:
    """A voice by number, or by file and label."""
    path, colon, speaker = reference.rpartition(":")
    found = voices.by_speaker(db, path, speaker) if colon else None
    if not colon and reference.isdecimal() and len(reference) <= LONGEST_NUMBER:
        found = voices.by_id(db, int(reference))
    if found is None:
        raise UsageError(
            f"{reference}: is no voice; give its number, or file and speaker as in talk.mp3:speaker-2 "
            "('chyme people show' tells both)"
        )
    return found
