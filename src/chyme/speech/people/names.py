"""People's names: which names are allowed, whom a name means, and the digest that says who speaks in a file."""

from __future__ import annotations

import difflib
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from chyme.errors import UsageError
from chyme.text.stemmer import fold
from chyme.text.unspaced_scripts import RUNS

SPEAKERS = "speaker-embedding"  # the output that says who speaks
LONGEST_NAME = 100
NEW = "new"  # where a voice may go other than to a known person
MOST_SUGGESTIONS = 5

_UNNAMED = re.compile(r"(?:person\s+)?#?(\d{1,18})", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_DIRECTION_MARKS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # would reverse the rest of the line


class Person(NamedTuple):
    """Someone who is heard in the vault."""

    id: int
    name: str | None


class Speaker(NamedTuple):
    """One voice of a file and the person it belongs to, as stored in the digest."""

    speaker: str
    person_id: int
    voice_id: int
    seconds: float
    is_new: bool


def display_name(person: Person) -> str:
    """The person's name, or a numbered one for a person without a name."""
    return person.name or f"Person {person.id}"


def clean_name(name: str) -> str:
    """Return the name as it is stored, or raise an error that says why it is not allowed."""
    clean = " ".join(unicodedata.normalize("NFC", name).split())
    if not any(letter.isalpha() for letter in clean):
        raise UsageError(f"{name!r} is not a name: it needs a letter")
    if len(clean) > LONGEST_NAME:
        raise UsageError(f"that name has {len(clean)} characters; at most {LONGEST_NAME} are allowed")
    if _DIRECTION_MARKS.search(clean) or any(unicodedata.category(letter) in ("Cc", "Cs") for letter in clean):
        raise UsageError(f"{name!r} is not a name: it has characters that cannot be shown")
    if _UNNAMED.fullmatch(clean) or clean.casefold() == NEW:
        raise UsageError(f"“{clean}” has a meaning of its own here; choose another name")
    return clean


def fold_name(name: str) -> str:
    """The name as it is compared: no two people may have the same."""
    return unicodedata.normalize("NFC", " ".join(name.split()).casefold())


def parse_person_number(asked: str) -> int | None:
    """The number in `3` or `Person 3`."""
    match = _UNNAMED.fullmatch(asked.strip())
    return int(match[1]) if match else None


def find_by_name(asked: str, people: Sequence[Person]) -> list[Person]:
    """The people with this name; if there are none, those whose name contains these words."""
    wanted = fold_name(unicodedata.normalize("NFC", asked))
    exact_matches = [person for person in people if person.name and fold_name(person.name) == wanted]
    return exact_matches or [person for person in people if person.name and _contains_words(asked, person.name)]


def _contains_words(asked: str, name: str) -> bool:
    words, part = " ".join(_WORD.findall(fold(name))), " ".join(_WORD.findall(fold(asked)))
    unspaced_match = bool(RUNS.fullmatch(part)) and part in words  # 山田 is part of 山田太郎
    return bool(part) and (unspaced_match or f" {part} " in f" {words} ")


def no_match_message(asked: str, people: Sequence[Person]) -> str:
    """Say that the name is unknown, and which names may have been meant."""
    names = {fold(person.name): person.name for person in people if person.name}
    close_matches = difflib.get_close_matches(fold(asked), names, MOST_SUGGESTIONS, 0.6)
    if close_matches:
        return f"nobody here is called “{asked}”; is it {_join_with_or([names[name] for name in close_matches])}?"
    if not names:
        return f"nobody here is called “{asked}”; 'chyme people name' gives people their names"
    known = sorted(names.values(), key=fold)
    more = f" and {len(known) - MOST_SUGGESTIONS} more" if len(known) > MOST_SUGGESTIONS else ""
    return f"nobody here is called “{asked}”; known are {', '.join(known[:MOST_SUGGESTIONS])}{more}"


def _join_with_or(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def speakers_json(speakers: Sequence[Speaker], skipped: Sequence[Mapping[str, str]]) -> str:
    """The content of the digest."""
    payload = {"speakers": [speaker._asdict() for speaker in speakers], "skipped": list(skipped)}
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":"))


def skipped_in(content: str | None) -> list[Mapping[str, str]]:
    """The speakers whose recognition was not tried, and why."""
    try:
        payload = json.loads(content or "{}")
    except (ValueError, RecursionError):
        return []
    rows = payload.get("skipped") if isinstance(payload, dict) else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
