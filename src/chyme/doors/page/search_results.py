"""What a search found, as the page shows it: each file with its best passages, why, where, and the way there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from chyme.doors.page import hit_address
from chyme.doors.page.rendering import encode_path, format_time
from chyme.model import Kind, Place
from chyme.search.file_list import Card
from chyme.search.query.parser import replace_word
from chyme.search.results import Hit, Piece, SearchResult
from chyme.search.snippets import Snippet
from chyme.text.control_characters import printable

MATCH_REASONS = {
    "words": ("words", "Your words stand in it"),
    "meaning": ("meaning", "It means something near to what you asked"),
    "name": ("name", "Its name matches"),
}
FROM_THE_PICTURE = ("image-ocr", "video-ocr")
MARKDOWN = ("doc-to-markdown", "url-crawl-content")
MARKDOWN_NAMES = (".md", ".markdown")
_SIGNS = re.compile(r"(?<!\S)(?:(?:#{1,6}|>|[-*])\s+)+")  # of headings, quotes and lists; a snippet is one line


@dataclass(frozen=True, slots=True)
class Passage:
    """A bit of a file that answers."""

    address: str
    where: tuple[str, ...]
    parts: tuple[tuple[str, bool], ...]  # words, and whether they are marked
    cut_before: bool
    cut_after: bool


@dataclass(frozen=True, slots=True)
class ResultFile:
    """A file that answers."""

    hit: Hit
    card: Card | None  # None when it went just now
    address: str
    why: tuple[tuple[str, str], ...]
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class ResultPage:
    """One page of what was found, and what there is to say about all of it."""

    files: tuple[ResultFile, ...]
    total: int
    exact: bool
    ms: float
    corrected: Mapping[str, str]
    suggested: Mapping[str, str]
    notes: tuple[str, ...]
    next: int | None  # where the next page begins


def only_by_meaning(result: SearchResult) -> bool:
    """Whether no word of the question stands in any of the hits, or in their names."""
    return all(hit.why == ("meaning",) for hit in result.hits)


def result_page(
    result: SearchResult, cards: Sequence[Card], words: str, offset: int, labels: Mapping[str, str]
) -> ResultPage:
    """The result for people. `words` are carried along as they were searched, so that a file's page can mark them."""
    for typed, instead in result.corrected.items():
        words = replace_word(words, typed, instead)
    by_path = {card.path: card for card in cards}
    files = tuple(_file(hit, by_path.get(hit.path), words, labels) for hit in result.hits)
    behind = offset + len(result.hits)
    more = bool(result.hits) and behind < result.total
    return ResultPage(
        files,
        result.total,
        result.total_is_exact,
        result.ms,
        result.corrected,
        result.suggested,
        result.notes,
        behind if more else None,
    )


def _file(hit: Hit, card: Card | None, words: str, labels: Mapping[str, str]) -> ResultFile:
    address = f"/file/{encode_path(hit.path)}"
    passages = [_passage(piece, hit, address, words, labels) for piece in hit.passages]
    if not passages and hit.snippet.text:
        named = _told(address + hit_address.hit_query(hit, words), (), hit.snippet, _is_markdown(hit, ""))
        passages = [replace(named, parts=tuple((printable(bit), marked) for bit, marked in named.parts))]
    why = tuple(MATCH_REASONS[reason] for reason in hit.why if reason in MATCH_REASONS)
    return ResultFile(hit, card, address + hit_address.hit_query(hit, words), why, tuple(passages))


def _passage(piece: Piece, hit: Hit, address: str, words: str, labels: Mapping[str, str]) -> Passage:
    to = address + hit_address.place_query(piece.place, piece.source, words)
    where = describe_place(piece.place, piece.source, hit, piece.person)
    source = labels.get(piece.source) if not where and piece.source not in MARKDOWN else None
    return _told(to, where or ((source,) if source else ()), piece.snippet, _is_markdown(hit, piece.source))


def _told(address: str, where: tuple[str, ...], snippet: Snippet, markdown: bool) -> Passage:
    parts = snippet.parts()
    if markdown:  # with a word before it, what begins a part is no sign: C#
        parts = [(_without_signs(words, begins=not at), marked) for at, (words, marked) in enumerate(parts)]
    return Passage(address, where, tuple(part for part in parts if part[0]), snippet.cut_before, snippet.cut_after)


def _is_markdown(hit: Hit, source: str) -> bool:
    return source in MARKDOWN or hit.path.lower().endswith(MARKDOWN_NAMES)


def _without_signs(words: str, begins: bool) -> str:
    return _SIGNS.sub("", words) if begins else _SIGNS.sub("", f"x{words}")[1:]


def describe_place(place: Place, source: str, hit: Hit, person: str | None) -> tuple[str, ...]:
    """Page 3; 12:04 and who speaks; in the picture; under which heading."""
    told: list[str] = []
    if place.page is not None:
        told.append(f"page {place.page}")
    if place.seconds is not None:
        told.append(format_time(place.seconds))
    if (place.box is not None and hit.kind is Kind.IMAGE) or source in FROM_THE_PICTURE:
        told.append("in the picture")
    if person or place.speaker:
        told.append(person or str(place.speaker).replace("-", " "))
    if place.heading and place.page is None and place.heading != hit.title:
        told.append(place.heading)
    return tuple(told)
