"""Search results as the page shows them: each file with its best passages, why and where it matched, and a link."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from chyme.answers.conversation import Citation
from chyme.doors.page.rendering import encode_path
from chyme.files.part_labels import has_named_parts, label_page
from chyme.model import Form, Kind, Place
from chyme.search.file_list import Card
from chyme.search.query.parser import replace_word
from chyme.search.results import TAG_REASON, Hit, Piece, SearchResult
from chyme.search.snippets import Snippet
from chyme.speech.transcripts.json_format import format_speaker_label
from chyme.text.display import format_time, printable

MATCH_REASONS = {
    "words": ("words", "Your words stand in it"),
    "meaning": ("meaning", "It means something near to what you asked"),
    "name": ("name", "Its name matches"),
}
MARKDOWN_NAMES = (".md", ".markdown")
# Markdown signs of headings, quotes, lists and strong words; a snippet is one line.
_SIGNS = re.compile(r"(?<!\S)(?:(?:#{1,6}|>|[-*])\s+)+|(?<!\S)\*\*(?=\w)|(?<=[\w:.,!?)])\*\*(?!\S)")
FILE = "file"  # the source of passages that are in the file itself


@dataclass(frozen=True, slots=True)
class Passage:
    """A matching passage of a file."""

    address: str
    where: tuple[str, ...]
    parts: tuple[tuple[str, bool], ...]  # text, and whether it is marked
    cut_before: bool
    cut_after: bool


@dataclass(frozen=True, slots=True)
class ResultFile:
    """A matching file."""

    hit: Hit
    card: Card | None  # None when the file has just disappeared
    address: str
    why: tuple[tuple[str, str], ...]
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class ResultPage:
    """One page of results, and notes about all of them."""

    files: tuple[ResultFile, ...]
    total: int
    exact: bool
    ms: float
    corrected: Mapping[str, str]
    suggested: Mapping[str, str]
    notes: tuple[str, ...]
    next: int | None  # offset of the next page


def only_by_meaning(result: SearchResult) -> bool:
    """Whether no word of the query stands in any of the hits, or in their names."""
    return not any({"words", "name", "filter"}.intersection(hit.why) for hit in result.hits)


def result_page(
    result: SearchResult, cards: Sequence[Card], words: str, offset: int, labels: Mapping[str, str]
) -> ResultPage:
    """Return the results for people. `words` are passed on as searched, so that a file's page can mark them."""
    for typed, replacement in result.corrected.items():
        words = replace_word(words, typed, replacement)
    by_path = {card.path: card for card in cards}
    files = tuple(_create_file(hit, by_path.get(hit.path), words, labels) for hit in result.hits)
    next_offset = offset + len(result.hits)
    has_more = bool(result.hits) and next_offset < result.total
    return ResultPage(
        files,
        result.total,
        result.total_is_exact,
        result.ms,
        result.corrected,
        result.suggested,
        result.notes,
        next_offset if has_more else None,
    )


def _create_file(hit: Hit, card: Card | None, words: str, labels: Mapping[str, str]) -> ResultFile:
    address = f"/file/{encode_path(hit.path)}"
    passages = [_place_passage(piece, hit, address, words, labels) for piece in hit.passages]
    if not passages and hit.snippet.text:
        passage = _create_passage(address + hit_query(hit, words), (), hit.snippet, _is_markdown(hit, Form.DATA))
        passages = [replace(passage, parts=tuple((printable(text), marked) for text, marked in passage.parts))]
    why = tuple(MATCH_REASONS[reason] for reason in hit.why if reason in MATCH_REASONS)
    why += tuple(
        (printable(reason), "Its tag means something near to what you asked")
        for reason in hit.why
        if reason.startswith(TAG_REASON)
    )
    return ResultFile(hit, card, address + hit_query(hit, words), why, tuple(passages))


def _place_passage(piece: Piece, hit: Hit, address: str, words: str, labels: Mapping[str, str]) -> Passage:
    passage_address = address + place_query(piece.place, highlighted_source(hit, piece), words)
    where = describe_place(piece.place, piece.form, hit, piece.person)
    source = labels.get(piece.source) if not where and not _is_text(hit, piece.form) else None
    return _create_passage(
        passage_address, where or ((source,) if source else ()), piece.snippet, _is_markdown(hit, piece.form)
    )


def _create_passage(address: str, where: tuple[str, ...], snippet: Snippet, markdown: bool) -> Passage:
    parts = snippet.parts()
    if markdown:  # after a word, a part does not begin with a sign: C#
        parts = [(_without_signs(words, at_start=not index), marked) for index, (words, marked) in enumerate(parts)]
    return Passage(address, where, tuple(part for part in parts if part[0]), snippet.cut_before, snippet.cut_after)


def _is_text(hit: Hit, form: Form) -> bool:
    """Whether a passage is from the text of a document or page, not from words in a picture."""
    return form is Form.TEXT and hit.kind is not Kind.IMAGE


def _is_markdown(hit: Hit, form: Form) -> bool:
    return _is_text(hit, form) or hit.path.lower().endswith(MARKDOWN_NAMES)


def _without_signs(words: str, at_start: bool) -> str:
    return _SIGNS.sub("", words) if at_start else _SIGNS.sub("", f"x{words}")[1:]


def citation_address(citation: Citation) -> str:
    """Return the address that shows a cited place, below the vault's own."""
    query = place_query(citation.place, highlighted_source(citation, citation))
    return f"/file/{encode_path(citation.path)}{query}"


def citation_label(citation: Citation) -> str:
    """Return the title of a cited file, and the place in words."""
    where = describe_place(citation.place, citation.form, citation, citation.person)
    return printable(" · ".join((citation.title, *where)))


def describe_place(place: Place, form: Form, hit: Hit | Citation, person: str | None) -> tuple[str, ...]:
    """Describe a place: page 3; 12:04 and the speaker; in the picture; under which heading."""
    parts: list[str] = []
    if place.page is not None and (label := label_page(hit.path, place.page)):
        parts.append(label)
    if place.seconds is not None:
        parts.append(format_time(place.seconds))
    if hit.kind is Kind.IMAGE and (place.box is not None or form is Form.TEXT):
        parts.append("in the picture")
    if person or place.speaker:
        parts.append(person or format_speaker_label(str(place.speaker)))
    if place.heading and (place.page is None or has_named_parts(hit.path)) and place.heading != hit.title:
        parts.append(place.heading)
    return tuple(parts)


def hit_query(hit: Hit, question: str = "") -> str:
    """Return the query string for the page of the hit's file; empty when there is no place to show."""
    piece = next((piece for piece in hit.passages if piece.place == hit.place), None)
    source = highlighted_source(hit, piece) if piece else None
    return place_query(hit.place, source, question) if hit.place else place_query(None, None, question)


def highlighted_source(hit: Hit | Citation, piece: Piece | Citation) -> str | None:
    """The source of a passage whose characters the page of a file can highlight; None for others."""
    shown = piece.source == FILE or (piece.form is Form.TEXT and hit.kind is not Kind.IMAGE)
    return piece.source if shown else None


def place_query(place: Place | None, source: str | None, question: str = "") -> str:
    """Return the same for one passage."""
    parameters: dict[str, object] = {}
    if place is not None:
        if place.page is not None:
            parameters["page"] = place.page
        if place.seconds is not None:
            parameters["t"] = round(place.seconds, 2)
        if place.box is not None:
            parameters["box"] = ",".join(f"{edge:.4f}" for edge in place.box)
        if source is not None:
            parameters |= {"start": place.start, "end": place.end, "source": source}
    if question:
        parameters["q"] = question
    return f"?{urlencode(parameters)}" if parameters else ""
