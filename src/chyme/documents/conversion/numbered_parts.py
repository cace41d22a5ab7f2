"""Join the parts of a container (mails, appointments, contacts) into one document: each part has its number as page."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from chyme.documents.conversion.results import (
    HEADING_LENGTH,
    ConversionLimits,
    ConversionResult,
    compact_tables,
    cut_long_runs,
)
from chyme.files.machine_names import without_extension
from chyme.files.name_words import name_to_words, strip_markup
from chyme.model import Place

PART_CHARS = 1_000_000  # of one part: no single mail hides all others
_LEADING_MARKS = re.compile(r"^[#>\s]+")


@dataclass(frozen=True, slots=True)
class Part:
    """One part: the heading by which a hit names it, and its text without that heading."""

    heading: str
    markdown: str


def join_parts(
    title: str, intro: str, parts: Iterable[Part], count: int, names: tuple[str, str], limits: ConversionLimits
) -> ConversionResult:
    """One document with the title as its first heading; each place knows the part's number and heading.

    `count` is how many parts there are, `names` are the words for one part and for several. Parts beyond the limit of
    characters are not asked for.
    """
    texts = ["\n\n".join(filter(None, [f"# {one_line(title)}" if title else "", intro]))]
    places: list[Place] = []
    notes: dict[str, None] = {}
    if texts[0]:
        places.append(Place(0, len(texts[0]), heading=one_line(title) or None))
    length = len(texts[0])
    for number, part in enumerate(parts, 1):
        heading = one_line(part.heading)
        body = part.markdown.strip()
        if len(body) > PART_CHARS:
            body = body[:PART_CHARS]
            notes[f"{names[1]} of more than {PART_CHARS:,} characters are cut there"] = None
        markdown, cut_notes = cut_long_runs(compact_tables(f"## {heading}\n\n{body}".rstrip()))
        if length + len(markdown) > limits.text_chars:
            notes[_left_out(number - 1, count, names)] = None
            break
        notes.update(dict.fromkeys(cut_notes))
        start = length + 2 if length else 0
        length = start + len(markdown)
        places.append(Place(start, length, page=number, heading=heading))
        texts.append(markdown)
    return ConversionResult("\n\n".join(filter(None, texts)), tuple(places), tuple(notes))


def one_line(text: str) -> str:
    """A text as a heading: on one line, without marks at its beginning, not too long."""
    return _LEADING_MARKS.sub("", " ".join(text[: 2 * HEADING_LENGTH].split()))[:HEADING_LENGTH].strip()


def title_from_name(name: str) -> str:
    """The title of a container that has none: its file name in words, without markup."""
    return one_line(name_to_words(strip_markup(without_extension(name)))) or one_line(name)


def _left_out(kept: int, total: int, names: tuple[str, str]) -> str:
    return f"the first {kept:,} of {total:,} {names[1]} are kept; raise text_chars to keep more"
