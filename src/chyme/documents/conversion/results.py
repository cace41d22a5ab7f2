"""What every converter returns and the limits every converter keeps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from chyme.errors import UnreadableFile
from chyme.model import Place

MB = 1024 * 1024
_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(```|~~~)", re.MULTILINE)
_MARKUP = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|[*`]+")
_ROW = re.compile(r"^\|.*(?: {3}|-{4}).*$", re.MULTILINE)
RUN_LENGTH, RUN_KEPT = 1000, 200
_RUN = re.compile(rf"[A-Za-z0-9+/=]{{{RUN_LENGTH + 1},}}")
_PADDING = re.compile(r" {2,}")
_RULE = re.compile(r"-{4,}")
_WORD = re.compile(r"\w+")
HEADING_LENGTH = 200


@dataclass(frozen=True, slots=True)
class ConversionLimits:
    """How far a document may go; each field is the name of its setting."""

    document_bytes: int = 500 * MB
    archive_ratio: int = 100
    archive_entries: int = 10_000
    nesting: int = 100
    pdf_pages: int = 2_000
    ocr_pages: int = 200  # scanned pages of one document that are read from their pictures
    html_bytes: int = 50 * MB
    text_chars: int = 10_000_000


@dataclass(frozen=True, slots=True)
class ConversionResult:
    """A document as markdown, where its parts stand, and what was left out."""

    markdown: str
    places: tuple[Place, ...] = ()
    notes: tuple[str, ...] = ()
    withheld: bool = False  # it shows writing that nobody here can read: worth telling even where there is no text


def truncate(found: ConversionResult, most: int) -> ConversionResult:
    """The beginning of a text that is too long, cut at the end of a line, and a note that says so."""
    text = found.markdown
    if len(text) <= most:
        return found
    end = max(text.rfind("\n", 0, most), most // 2)
    places = tuple(replace(place, end=min(place.end, end)) for place in found.places if place.start < end)
    note = f"the first {end:,} of {len(text):,} characters are kept; raise text_chars to keep more"
    return replace(found, markdown=text[:end].rstrip(), places=places, notes=(*found.notes, note))


def compact_tables(markdown: str) -> str:
    """Tables without the spaces and dashes that make their columns equally wide."""
    return _ROW.sub(lambda row: _RULE.sub("---", _PADDING.sub(" ", row[0])), markdown)


def cut_long_runs(markdown: str) -> tuple[str, tuple[str, ...]]:
    """The text with endless runs of letters cut, and the note that says so: pictures written as base64, filled cells.

    Nobody searches for them, and one workbook held 57 MB. Scripts that write no spaces are no such runs.
    """
    text, count = _RUN.subn(lambda run: run[0][:RUN_KEPT] + "…", markdown)
    return text, (f"runs of more than {RUN_LENGTH:,} letters without a space are cut: {count:,}",) if count else ()


def join_pages(
    pages: Sequence[tuple[int, str]],
    notes: Iterable[str] = (),
    lines: Mapping[int, Sequence[Place]] | None = None,
) -> ConversionResult:
    """One document from numbered pages; each place knows its page and the heading above it.

    `lines` holds, by page, where its lines stand in the page's own text.
    """
    parts: list[str] = []
    boxes: list[Place] = []
    starts: list[tuple[int, int]] = []
    cut: tuple[str, ...] = ()
    length = 0
    for number, page in pages:
        markdown, more = cut_long_runs(compact_tables(page.strip()))
        cut = cut or more
        if not markdown:
            continue
        if parts:
            length += 2
        starts.append((length, number))
        if markdown == page:  # else the lines have moved
            boxes += [
                replace(place, start=place.start + length, end=place.end + length)
                for place in (lines or {}).get(number, ())
            ]
        parts.append(markdown)
        length += len(markdown)
    text = "\n\n".join(parts)
    return ConversionResult(text, (*places_in(text, starts), *boxes), (*notes, *cut))


def build_unpaged_result(markdown: str, notes: Iterable[str] = ()) -> ConversionResult:
    """One document without pages; each place knows the heading above it."""
    text, cut = cut_long_runs(compact_tables(markdown.strip()))
    return ConversionResult(text, places_in(text), (*notes, *cut))


def places_in(markdown: str, pages: Sequence[tuple[int, int]] = ()) -> tuple[Place, ...]:
    """Cut the text where a page or a heading begins. `pages` holds (start, number), in order."""
    if not markdown:
        return ()
    changes: dict[int, tuple[int | None, str | None]] = {}
    for start, heading in headings_in(markdown):
        changes[start] = (None, heading)
    for start, number in pages:
        changes[start] = (number, changes.get(start, (None, None))[1])
    page: int | None = None
    heading_above: str | None = None
    starts = sorted(changes)
    places: list[Place] = []
    for at, start in enumerate(starts):
        number_here, heading_here = changes[start]
        page = number_here if number_here is not None else page
        heading_above = heading_here or heading_above
        end = starts[at + 1] if at + 1 < len(starts) else len(markdown)
        places.append(Place(start, end, page=page, heading=heading_above))
    return tuple(places)


def headings_in(markdown: str) -> list[tuple[int, str]]:
    """Where headings begin and what they say; `#` lines inside code are none."""
    fences = [fence.start() for fence in _FENCE.finditer(markdown)]
    code = list(zip(fences[::2], [*fences[1::2], len(markdown)][: len(fences[::2])], strict=False))
    found: list[tuple[int, str]] = []
    block = 0
    for heading in _HEADING.finditer(markdown):
        while block < len(code) and code[block][1] < heading.start():
            block += 1
        if block < len(code) and code[block][0] < heading.start():
            continue
        title = _MARKUP.sub(r"\1", heading[2]).strip()
        if title:
            found.append((heading.start(), title[:HEADING_LENGTH]))
    return found


def count_words(text: str) -> int:
    """How many words a text holds; the measure by which converters are compared."""
    return sum(1 for _ in _WORD.finditer(text))


def broken_file_error(name: str, what: str, cause: str = "") -> UnreadableFile:
    """The error for a file that no reader here can make sense of."""
    because = f" ({cause})" if cause else ""
    return UnreadableFile(
        f"{name}: {what} is broken or incomplete{because}; open it in its own program and save it anew"
    )


def encrypted_file_error(name: str, what: str) -> UnreadableFile:
    """The error for a file that asks for a password."""
    return UnreadableFile(f"{name}: {what} is encrypted; save a copy without password")
