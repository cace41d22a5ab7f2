"""The texts by which a file is found: its own, and those that were made from it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from chyme.digester import Source
from chyme.files.link_files import link_note_of
from chyme.model import Form, Kind
from chyme.search.query.spelling import words_of
from chyme.text.decoding import read_text
from chyme.text.digest_text import ReadableText, extract_text, replace_unwritable
from chyme.text.passages import markdown_headings, without_notes
from chyme.text.unspaced_scripts import segment

TEXT_LIMIT = 5_000_000  # characters of one file
FILE = "file"  # the source name of passages from the file itself
# Every output of these forms is searched, those of plug-ins too.
SEARCHED_FORMS = frozenset(
    {
        *(Form.TEXT, Form.TRANSCRIPT, Form.SUMMARY, Form.CAPTION, Form.OBJECTS),
        *(Form.PAGE_FACTS, Form.PICTURE_FACTS, Form.MEDIA_FACTS),
    }
)
_MARKDOWN_NAMES = (".md", ".markdown", ".mdown", ".mkd")
_WORD_BOUNDARIES = re.compile(r"(?<=[a-zà-ÿ])(?=[A-ZÀ-Þ])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")


@dataclass(frozen=True, slots=True)
class Texts:
    """Each text with its source, in order, cut to the remaining room; and notes on what was left out."""

    found: tuple[tuple[str, ReadableText], ...]
    notes: tuple[str, ...] = ()


def texts_of(source: Source, names: Sequence[str], limit: int) -> Texts:
    """The file's own text, if it is a text file, and the texts of the named outputs, up to `limit` characters."""
    found: list[tuple[str, ReadableText]] = []
    notes: list[str] = []
    remaining = limit
    for name, text in _all_texts(source, names, limit, notes):
        cut_off = ReadableText(text.text[:remaining], text.places)
        if len(cut_off.text) < len(text.text):
            notes.append(f"first {limit:,} characters indexed; the limit ended in {name}")
        remaining -= len(cut_off.text)
        found.append((name, cut_off))
    return Texts(tuple(found), tuple(notes))


def _all_texts(source: Source, names: Sequence[str], limit: int, notes: list[str]) -> list[tuple[str, ReadableText]]:
    texts: list[tuple[str, ReadableText]] = []
    if source.file.kind is Kind.TEXT:
        decoded = read_text(source, limit)
        text = replace_unwritable(decoded.text)
        if decoded.truncated:
            notes.append(f"first {limit:,} bytes of the file indexed")
        markdown = source.file.name.lower().endswith(_MARKDOWN_NAMES)
        texts.append((FILE, ReadableText(text, markdown_headings(text) if markdown else ())))
    elif source.file.kind is Kind.URL:
        note = link_note_of(source)
        if note is not None and note.text:
            texts.append((FILE, ReadableText(replace_unwritable(note.text))))
    corrected: set[str] = set()
    for name in names:
        output = source.output(name)
        if output is None or not output.content:
            continue
        if name in corrected:
            continue  # the correction says the same at the same places
        if output.corrects is not None:
            corrected.add(output.corrects)
        readable = extract_text(output)
        if output.form is Form.TEXT:  # it ends with chyme's notes about it
            readable = replace(readable, text=without_notes(readable.text))
        texts.append((name, readable))
    return texts


@dataclass(frozen=True, slots=True)
class NameTerms:
    """Name, title, tags and summary ready for the index, and their words."""

    name: str
    title: str
    tags: str
    summary: str
    words: tuple[str, ...]


def name_terms(name: str, title: str | None, tags: Iterable[str], summary: str | None) -> NameTerms:
    """Prepare these fields. HolidayPhotos2024.jpg is also found as holiday, photos and 2024."""
    split_name = _WORD_BOUNDARIES.sub(" ", name)
    full_name = name if split_name == name else f"{name} {split_name}"
    texts = [full_name, title or "", " ".join(tags), summary or ""]
    name_, title_, tags_, summary_ = (segment(text) or text for text in texts)
    return NameTerms(name_, title_, tags_, summary_, tuple(sorted(words_of([split_name, *texts[1:]]))))
