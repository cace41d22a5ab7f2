"""What people are called: which names may be given, who is meant by one, and what a file's voices say of whom."""

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
NEW = "new"  # where a voice may go besides to somebody known
MOST_SUGGESTIONS = 5

_UNNAMED = re.compile(r"(?:person\s+)?#?(\d{1,18})", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_TURNING = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # would turn the rest of the line around


class Person(NamedTuple):
    """Somebody who is heard in the vault."""

    id: int
    name: str | None


class Speaker(NamedTuple):
    """One voice of a file and whose it is, as the digest tells it."""

    speaker: str
    person_id: int
    voice_id: int
    seconds: float
    is_new: bool


def display_name(person: Person) -> str:
    """What a person is called before anybody gave them a name."""
    return person.name or f"Person {person.id}"


def clean_name(name: str) -> str:
    """The name as it is kept, or the sentence that says why it cannot be one."""
    clean = " ".join(unicodedata.normalize("NFC", name).split())
    if not any(letter.isalpha() for letter in clean):
        raise UsageError(f"{name!r} is no name: it needs a letter")
    if len(clean) > LONGEST_NAME:
        raise UsageError(f"that name has {len(clean)} characters; {LONGEST_NAME} are the most")
    if _TURNING.search(clean) or any(unicodedata.category(letter) in ("Cc", "Cs") for letter in clean):
        raise UsageError(f"{name!r} is no name: it has characters that cannot be shown")
    if _UNNAMED.fullmatch(clean) or clean.casefold() == NEW:
        raise UsageError(f"“{clean}” has a meaning of its own here; choose another name")
    return clean


def fold_name(name: str) -> str:
    """The name as it is compared: no two people may share it."""
    return unicodedata.normalize("NFC", " ".join(name.split()).casefold())


def parse_person_number(asked: str) -> int | None:
    """The number that `3` and `Person 3` mean."""
    found = _UNNAMED.fullmatch(asked.strip())
    return int(found[1]) if found else None


def find_by_name(asked: str, people: Sequence[Person]) -> list[Person]:
    """Whoever is called so: by the whole name, else by a word or some words of it."""
    wanted = fold_name(unicodedata.normalize("NFC", asked))
    whole = [person for person in people if person.name and fold_name(person.name) == wanted]
    return whole or [person for person in people if person.name and _part_of(asked, person.name)]


def _part_of(asked: str, name: str) -> bool:
    words, part = " ".join(_WORD.findall(fold(name))), " ".join(_WORD.findall(fold(asked)))
    unspaced = bool(RUNS.fullmatch(part)) and part in words  # 山田 is part of 山田太郎
    return bool(part) and (unspaced or f" {part} " in f" {words} ")


def no_match_message(asked: str, people: Sequence[Person]) -> str:
    """Says that nobody is called so, and who may have been meant."""
    names = {fold(person.name): person.name for person in people if person.name}
    near = difflib.get_close_matches(fold(asked), names, MOST_SUGGESTIONS, 0.6)
    if near:
        return f"nobody here is called “{asked}”; is it {_either([names[name] for name in near])}?"
    if not names:
        return f"nobody here is called “{asked}”; 'chyme people name' gives people their names"
    known = sorted(names.values(), key=fold)
    more = f" and {len(known) - MOST_SUGGESTIONS} more" if len(known) > MOST_SUGGESTIONS else ""
    return f"nobody here is called “{asked}”; known are {', '.join(known[:MOST_SUGGESTIONS])}{more}"


def _either(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def speakers_json(speakers: Sequence[Speaker], skipped: Sequence[Mapping[str, str]]) -> str:
    """The content of the digest."""
    told = {"speakers": [speaker._asdict() for speaker in speakers], "skipped": list(skipped)}
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))


def skipped_in(content: str | None) -> list[Mapping[str, str]]:
    """The speakers that nobody tried to recognise, and why."""
    try:
        told = json.loads(content or "{}")
    except (ValueError, RecursionError):
        return []
    rows = told.get("skipped") if isinstance(told, dict) else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
