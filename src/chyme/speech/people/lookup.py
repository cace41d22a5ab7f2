"""Whom and which voice somebody means."""

from __future__ import annotations

from sqlite3 import Connection

from chyme.errors import UsageError
from chyme.speech.people.names import Person, find_by_name, no_match_message, parse_person_number
from chyme.speech.people.tables import people, voices

LONGEST_NUMBER = 18


def find_person(db: Connection, who: str) -> Person:
    """A person by number, name or a word of the name; or the sentence that says who there is."""
    number = parse_person_number(who)
    if number is not None:
        person = people.by_id(db, number)
        if person is None:
            raise UsageError(f"there is no person {number}; 'chyme people' lists them")
        return person
    known = people.list_named(db)
    found = find_by_name(who, known)
    if not found:
        raise UsageError(no_match_message(who, known))
    if len(found) > 1:
        several = ", ".join(f"{person.name} ({person.id})" for person in found)
        raise UsageError(f"“{who}” may be any of {several}; say which by number")
    return found[0]


def find_voice(db: Connection, told: str) -> voices.LocatedVoice:
    """A voice by number, or by file and label."""
    path, colon, speaker = told.rpartition(":")
    found = voices.by_speaker(db, path, speaker) if colon else None
    if not colon and told.isdecimal() and len(told) <= LONGEST_NUMBER:
        found = voices.by_id(db, int(told))
    if found is None:
        raise UsageError(
            f"{told}: is no voice; give its number, or file and speaker as in talk.mp3:speaker-2 "
            "('chyme people show' tells both)"
        )
    return found
