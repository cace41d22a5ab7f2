"""Classify a picture without a model: by the words in it, the things in it, and what it tells about itself."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from chyme.files.machine_names import is_machine_made, without_extension
from chyme.pictures.captions import words_in
from chyme.speech.transcripts.summary import shorten_text
from chyme.text.sentences import word_count
from chyme.understanding.classification.document_types import document_type_tags
from chyme.understanding.classification.result import (
    EVIDENCE_LENGTH,
    LOCAL,
    MOST_TAGS,
    SUMMARY_LENGTH,
    TITLE_LENGTH,
    Candidate,
    Classification,
)
from chyme.understanding.classification.source_text import Json, read_json, read_source_text, text_in
from chyme.understanding.classification.source_text import words_in as list_in
from chyme.understanding.dates.document_date import choose_date
from chyme.understanding.tags.topics import find_topics
from chyme.understanding.titles.candidates import MIN_CONFIDENCE, Title, find_titles
from chyme.understanding.titles.placeholders import comparison_key, is_file_name, is_junk, same_words

_SURE = 0.5  # of a thing in the picture, from which on it is worth a tag
_THINGS = 5
_A_PAGE = 25  # words from which on a picture is a page that can be read
_SORTS = (
    ("screenshot", "screenshot"),
    ("photograph", "photo"),
    ("page of text", "scan"),
    ("page with text", "scan"),
    ("drawing or diagram", "drawing"),
)
_LEAD = re.compile(
    r"^(?:this (?:image|picture|photo(?:graph)?) (?:shows|depicts|is of)|the (?:image|picture) shows)\s+", re.I
)
_PLAIN = re.compile(
    r"^(?:an?|the)? ?(?:dark |plain |black-and-white |blurry |\w+ish )*(?:\w+ )?"
    r"(?:photo(?:graph)?|picture|image|drawing or diagram|drawing|screenshot|piece of text|page (?:of|with) text)"
    r"(?:, mostly \w+)?\.?$",
    re.IGNORECASE,
)
_OF = re.compile(r"^an? (?:[\w-]+ ){0,3}?(?:photograph|photo|picture|image) of ", re.IGNORECASE)
_QUOTE = re.compile(r"; it (?:says|begins) “.*$")


def classify_picture_by_rules(
    *,
    preview: str | None,
    ocr: str | None,
    caption: str | None,
    objects: str | None,
    name: str,
    language: str | None = None,
    language_confidence: float = 0.0,
    dates: Sequence[Candidate] = (),
) -> Classification:
    """All that can be told of a picture from the contents of its outputs."""
    about, told = read_json(preview), read_json(caption)
    text = text_in(told, "text")
    composed = told.get("composed") is True
    confidence: dict[str, float] = {}
    evidence: dict[str, str] = {}

    def note(field: str, sure: float, read: str) -> None:
        confidence[field] = round(sure, 2)
        evidence[field] = shorten_text(read, EVIDENCE_LENGTH)

    readable = words_in(ocr or "")
    seen = any(content is not None for content in (preview, ocr, caption, objects))
    title = _title(about, ocr or "", text, composed, name if seen else "")  # a name says nothing of what nobody can see
    if title:
        note("title", title.confidence, title.evidence)
    told_by = text_in(about, "description") or ("" if _PLAIN.match(text) else text)  # "A picture." says nothing
    summary = shorten_text(told_by, SUMMARY_LENGTH) or None
    if summary:
        note("summary", 0.5 if composed else 0.7, summary)
    taken = choose_date(dates)
    if taken:
        note("date", taken.confidence, taken.text)
    spoken_in = language if readable else None
    if spoken_in:
        note("language", language_confidence, readable)
    tags = _tags(about, ocr or "", text, read_json(objects), spoken_in)
    if tags:
        note("tags", sum(score for _, score in tags) / len(tags), ", ".join(tag for tag, _ in tags))
    return Classification(
        title.text if title else None,
        summary,
        taken.date if taken else None,
        spoken_in,
        tuple(tag for tag, _ in tags),
        confidence,
        evidence,
        tuple(dates),
        LOCAL,
    )


def own_picture_title(preview: str | None, ocr: str | None) -> str | None:
    """The title that a picture bears in its metadata or in the words on it; its name and its caption do not count."""
    title = _title(read_json(preview), ocr or "", "", False, "")
    return title.text if title else None


def _title(about: Json, ocr: str, caption: str, composed: bool, name: str) -> Title | None:
    found: list[Title] = []
    own = text_in(about, "title") or text_in(about, "description")
    stem = without_extension(name)
    if own and not is_file_name(own) and not same_words(own, stem):
        found.append(Title(own, 0.85, "image-preview", own))
    if ocr:
        read = find_titles(read_source_text({"image-ocr": ocr}), name, "image")
        short = word_count(words_in(ocr)) < _A_PAGE
        found += [one for one in read if one.where != "name"][:1]
        if short and words_in(ocr) and word_count(words_in(ocr)) >= 2:
            found.append(Title(words_in(ocr), 0.42, "image-ocr", words_in(ocr)))
    shown = _QUOTE.sub("", _LEAD.sub("", caption)).rstrip(".")
    if shown and not _PLAIN.match(shown):
        shown = _OF.sub("", shown) if composed else shown
        found.append(Title(shown[:1].upper() + shown[1:], 0.45 if composed else 0.65, "image-captioning", caption))
    if name and not is_machine_made(name):
        spaced = " ".join(stem.replace("_", " ").split())
        found.append(Title(spaced, 0.4, "name", name))
    told = [Title(shorten_text(one.text, TITLE_LENGTH), one.confidence, one.where, one.evidence) for one in found]
    fitting = [one for one in told if one.confidence >= MIN_CONFIDENCE and not is_junk(one.text)]
    return max(fitting, key=lambda one: one.confidence, default=None)


def _tags(about: Json, ocr: str, caption: str, objects: Json, language: str | None) -> list[tuple[str, float]]:
    """What sort of picture it is, the photographer's own words, the things in it, and what its words are about."""
    found: list[tuple[str, float]] = []
    found += [(tag, 0.8) for words, tag in _SORTS if words in caption[:60].lower()][:1]
    if not found and about.get("camera") and about.get("taken"):
        found.append(("photo", 0.7))
    found += [(word.lower().strip(), 0.85) for word in list_in(about, "keywords")[:5]]
    found += _things(objects)
    text = read_source_text({"image-ocr": ocr}) if ocr else None
    if text and word_count(words_in(ocr)) >= _A_PAGE // 2:
        found += document_type_tags(text.text, None, "image")
        found += [(one.tag, one.score) for one in find_topics(text.blocks, None, language, 4)]
    distinct: dict[str, tuple[str, float]] = {}
    for tag, score in found:
        if 1 < len(tag) <= 40 and comparison_key(tag):
            distinct.setdefault(comparison_key(tag), (tag, score))
    return list(distinct.values())[:MOST_TAGS]


def _things(objects: Json) -> list[tuple[str, float]]:
    rows = objects.get("objects")
    sure: dict[str, float] = {}
    counts: Counter[str] = Counter()
    for row in rows if isinstance(rows, list) else ():
        if not isinstance(row, dict):
            continue
        name, confidence = text_in(row, "name").lower(), row.get("confidence")
        score = float(confidence) if isinstance(confidence, int | float) else 0.6
        if name and score >= _SURE:
            sure[name] = max(sure.get(name, 0.0), score)
            counts[name] += 1
    best = sorted(sure, key=lambda name: (-sure[name], -counts[name]))
    return [(name, min(0.9, sure[name])) for name in best[:_THINGS]]
