"""Order the passages that several searches found, and pack the best into what a model can read at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace

from chyme.answers.conversation import FoundPassage
from chyme.model import Form

MOST_PASSAGES = 12
MOST_OF_A_FILE = 4  # unless few files were found
SHORTEST = 120  # characters that are worth packing when the rest of a passage does not fit
_OVERLAP = 0.5  # of the shorter of two spans, from which on they are the same text


def fuse(searches: Sequence[Sequence[Sequence[FoundPassage]]]) -> list[FoundPassage]:
    """The passages of several searches, best first. A search is a list of files, a file a list of its passages."""
    scores: dict[tuple[int, str, int], float] = defaultdict(float)
    known: dict[tuple[int, str, int], FoundPassage] = {}
    for files in searches:
        for rank, passages in enumerate(files):
            for position, found in enumerate(passages):
                key = found.file_id, found.passage.source, found.passage.place.start
                scores[key] += 1 / (8 + rank + 3 * position)
                known.setdefault(key, found)
    ordered = sorted(known, key=lambda key: -scores[key])
    distinct: list[FoundPassage] = []
    for key in ordered:
        if not any(_is_same_text(known[key], other) for other in distinct):
            distinct.append(known[key])
    written = [found for found in distinct if found.form is not Form.SUMMARY]
    return written or distinct  # a summary is no place in a file


def pack(passages: Sequence[FoundPassage], characters: int, without: Collection[str] = ()) -> list[FoundPassage]:
    """The best passages whose texts have no more characters together; none of the files `without`.

    The last one may be cut at a word. Several files share the room.
    """
    allowed = [found for found in passages if found.path not in without]
    several = len({found.file_id for found in allowed}) > MOST_PASSAGES // MOST_OF_A_FILE
    counts: dict[int, int] = defaultdict(int)
    packed: list[FoundPassage] = []
    for found in allowed:
        room = characters - sum(len(one.passage.text) for one in packed)
        if len(packed) == MOST_PASSAGES or room < SHORTEST:
            break
        if several and counts[found.file_id] == MOST_OF_A_FILE:
            continue
        text = found.passage.text
        if len(text) > room:
            text = text[:room].rpartition(" ")[0]
        if text.strip():
            packed.append(replace(found, passage=replace(found.passage, text=text)))
            counts[found.file_id] += 1
    return packed


def _is_same_text(one: FoundPassage, other: FoundPassage) -> bool:
    if one.passage.text == other.passage.text:
        return True
    if one.file_id != other.file_id or one.passage.source != other.passage.source:
        return False
    a, b = one.passage.place, other.passage.place
    shared = min(a.end, b.end) - max(a.start, b.start)
    return shared > _OVERLAP * max(1, min(a.end - a.start, b.end - b.start))
