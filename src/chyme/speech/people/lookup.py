"""Find the person or the voice that a user means."""

from __future__ import annotations

from sqlite3 import Connection

from chyme.errors import UsageError
from chyme.speech.people.names import Person, find_by_name, no_match_message, parse_person_number
from chyme.speech.people.tables import people, voices

LONGEST_NUMBER = 18


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
