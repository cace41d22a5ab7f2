"""The result that every converter returns and the limits that every converter applies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from chyme.errors import LimitReached, UnreadableFile
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
    """Limits for one document; each field is the name of its setting."""

    document_bytes: int = 500 * MB
    archive_ratio: int = 100
    archive_entries: int = 10_000
    archive_bytes: int = 200 * MB  # unpacked and read of the files in one archive
    archive_seconds: float = 240.0  # for the files in one archive
    nesting: int = 100
    pdf_pages: int = 2_000
    ocr_pages: int = 200  # scanned pages of one document that are read from their pictures
    embedded_pictures: int = 100  # pictures inside one document that are examined for writing; 0 reads none
    embedded_pixels: int = 200_000_000  # of all of them together
    embedded_seconds: float = 60.0
    html_bytes: int = 50 * MB
    text_chars: int = 10_000_000


@dataclass(frozen=True, slots=True)
class ConversionResult:
    """A document as markdown, the places of its parts, and notes about what was left out."""

    markdown: str
    places: tuple[Place, ...] = ()
    notes: tuple[str, ...] = ()
    title: str = ""  # that the document has apart from its text
    has_unreadable_text: bool = False  # it shows writing that cannot be read here: worth a note even without text


def check_size(name: str, data: bytes, limits: ConversionLimits) -> None:
    """Raise if the file is empty or too large."""
    if not data:
        raise UnreadableFile(f"{name}: file is empty (0 bytes); copy it here again from where it came")
    if len(data) > limits.document_bytes:
        raise LimitReached(
            f"{name}: file is larger than {limits.document_bytes // MB:,} MB; raise document_bytes to read it"
        )


def truncate(result: ConversionResult, max_chars: int) -> ConversionResult:
    """The beginning of a text that is too long, cut at the end of a line, with a note that says so."""
    text = result.markdown
    if len(text) <= max_chars:
        return result
    end = max(text.rfind("\n", 0, max_chars), max_chars // 2)
    places = tuple(replace(place, end=min(place.end, end)) for place in result.places if place.start < end)
    note = f"the first {end:,} of {len(text):,} characters are kept; raise text_chars to keep more"
    return replace(result, markdown=text[:end].rstrip(), places=places, notes=(*result.notes, note))


def compact_tables(markdown: str) -> str:
    """Tables without the spaces and dashes that pad their columns."""
    return _ROW.sub(lambda row: _RULE.sub("---", _PADDING.sub(" ", row[0])), markdown)


def cut_long_runs(markdown: str) -> tuple[str, tuple[str, ...]]:
    """The text with endless runs of letters (base64 pictures, filled cells) cut, and the note that says so.

    They are useless for search, and one workbook held 57 MB of them. Scripts without spaces are not affected.
    """
    text, count = _RUN.subn(lambda run: run[0][:RUN_KEPT] + "…", markdown)
    return text, (f"runs of more than {RUN_LENGTH:,} letters without a space are cut: {count:,}",) if count else ()


def join_pages(
    pages: Sequence[tuple[int, str]],
    notes: Iterable[str] = (),
    lines: Mapping[int, Sequence[Place]] | None = None,
) -> ConversionResult:
    """One document from numbered pages; each place knows its page and the heading above it.

    `lines` holds, by page, the places of its lines in the page's own text.
    """
    parts: list[str] = []
    boxes: list[Place] = []
    starts: list[tuple[int, int]] = []
    cut_note: tuple[str, ...] = ()
    length = 0
    for number, page in pages:
        markdown, page_note = cut_long_runs(compact_tables(page.strip()))
        cut_note = cut_note or page_note
        if not markdown:
            continue
        if parts:
            length += 2
        starts.append((length, number))
        if markdown == page:  # otherwise the lines have moved
            boxes += [
                replace(place, start=place.start + length, end=place.end + length)
                for place in (lines or {}).get(number, ())
            ]
        parts.append(markdown)
        length += len(markdown)
    text = "\n\n".join(parts)
    return ConversionResult(text, (*places_in(text, starts), *boxes), (*notes, *cut_note))


def build_unpaged_result(markdown: str) -> ConversionResult:
    """One document without pages; each place knows the heading above it."""
    text, cut_note = cut_long_runs(compact_tables(markdown.strip()))
    return ConversionResult(text, places_in(text), cut_note)


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
    for i, start in enumerate(starts):
        number_here, heading_here = changes[start]
        page = number_here if number_here is not None else page
        heading_above = heading_here or heading_above
        end = starts[i + 1] if i + 1 < len(starts) else len(markdown)
        places.append(Place(start, end, page=page, heading=heading_above))
    return tuple(places)


def headings_in(markdown: str) -> list[tuple[int, str]]:
    """Where headings begin and their text; `#` lines inside code are ignored."""
    fences = [fence.start() for fence in _FENCE.finditer(markdown)]
    code = list(zip(fences[::2], [*fences[1::2], len(markdown)][: len(fences[::2])], strict=False))
    headings: list[tuple[int, str]] = []
    block = 0
    for heading in _HEADING.finditer(markdown):
        while block < len(code) and code[block][1] < heading.start():
            block += 1
        if block < len(code) and code[block][0] < heading.start():
            continue
        title = _MARKUP.sub(r"\1", heading[2]).strip()
        if title:
            headings.append((heading.start(), title[:HEADING_LENGTH]))
    return headings


def count_words(text: str) -> int:
    """How many words a text has; the measure by which converters are compared."""
    return sum(1 for _ in _WORD.finditer(text))


def broken_file_error(name: str, what: str, cause: str = "") -> UnreadableFile:
    """The error for a file that no converter can read."""
    reason = f" ({cause})" if cause else ""
    return UnreadableFile(
        f"{name}: {what} is broken or incomplete{reason}; open it in its own program and save it anew"
    )


def encrypted_file_error(name: str, what: str) -> UnreadableFile:
    """The error for a file that needs a password."""
    return UnreadableFile(f"{name}: {what} is encrypted; save a copy without password")
