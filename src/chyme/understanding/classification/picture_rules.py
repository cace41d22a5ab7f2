"""Classify a picture without a model, from the words and objects in it and its metadata."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from chyme.files.machine_names import is_machine_made, without_extension
from chyme.pictures.captions_without_model import words_in
from chyme.text.markdown_lines import shorten_text
from chyme.text.sentences import word_count
from chyme.text.sized_lines import SizedLine
from chyme.understanding.classification.document_types import document_type_tags
from chyme.understanding.classification.result import (
    EVIDENCE_LENGTH,
    LOCAL,
    MAX_TAGS,
    SUMMARY_LENGTH,
    TITLE_LENGTH,
    Candidate,
    Classification,
)
from chyme.understanding.classification.source_text import Json, read_json, read_source_text, text_in
from chyme.understanding.classification.source_text import words_in as list_in
from chyme.understanding.dates.choice import choose_date, date_evidence
from chyme.understanding.tags.topics import find_topics
from chyme.understanding.titles.candidates import MIN_CONFIDENCE, Title, find_titles
from chyme.understanding.titles.cleanup import comparison_key, is_file_name, is_junk, same_words

_SEEN = 0.5  # confidence that an object in the picture needs to become a tag
_MAX_OBJECTS = 5
_A_PAGE = 25  # words from which on a picture is a page of text
_KINDS = (
    ("screenshot", "screenshot"),
    ("a receipt", "receipt"),
    ("a letter", "letter"),
    ("a chart", "chart"),
    ("table or chart", "chart"),
    ("a diagram", "diagram"),
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
    r"(?:photo(?:graph)?|picture|image|drawing or diagram|drawing|diagram|table or chart|chart|receipt|letter|"
    r"screenshot|piece of text|page (?:of|with) text)"
    r"(?:, mostly \w+(?: and \w+)?)?\.?$",
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
    lines: Sequence[SizedLine] = (),
) -> Classification:
    """Classify a picture from the contents of its outputs; `lines` are those recognised in it, with their sizes."""
    details, caption_data = read_json(preview), read_json(caption)
    text = text_in(caption_data, "text")
    composed = caption_data.get("composed") is True
    confidence: dict[str, float] = {}
    evidence: dict[str, str] = {}

    def note(field: str, score: float, text_read: str) -> None:
        confidence[field] = round(score, 2)
        evidence[field] = shorten_text(text_read, EVIDENCE_LENGTH)

    words = words_in(ocr or "")
    seen = any(content is not None for content in (preview, ocr, caption, objects))
    title = _choose_title(
        details, ocr or "", text, composed, name if seen else "", lines
    )  # unread: its name proves nothing
    if title:
        note("title", title.confidence, title.evidence)
    description = text_in(details, "description") or ("" if _PLAIN.match(text) else text)  # not just "A picture."
    summary = shorten_text(description, SUMMARY_LENGTH) or None
    if summary:
        note("summary", 0.5 if composed else 0.7, summary)
    day = choose_date(dates)
    if day:
        note("date", day.confidence, date_evidence(day))
    chosen_language = language if words else None
    if chosen_language:
        note("language", language_confidence, words)
    tags = _choose_tags(details, ocr or "", text, read_json(objects), chosen_language)
    if tags:
        note("tags", sum(score for _, score in tags) / len(tags), ", ".join(tag for tag, _ in tags))
    return Classification(
        title.text if title else None,
        summary,
        day.date if day else None,
        chosen_language,
        tuple(tag for tag, _ in tags),
        confidence,
        evidence,
        tuple(dates),
        LOCAL,
    )


def own_picture_title(preview: str | None, ocr: str | None) -> str | None:
    """The title in a picture's metadata or in the words on it; its name and caption do not count."""
    title = _choose_title(read_json(preview), ocr or "", "", False, "")
    return title.text if title else None


def _choose_title(
    details: Json, ocr: str, caption: str, composed: bool, name: str, lines: Sequence[SizedLine] = ()
) -> Title | None:
    titles: list[Title] = []
    own = text_in(details, "title") or text_in(details, "description")
    stem = without_extension(name)
    if own and not is_file_name(own) and not same_words(own, stem):
        titles.append(Title(own, 0.85, "image-preview", own))
    if ocr:
        from_text = find_titles(read_source_text({"image-ocr": ocr}, scanned=lines), name, "image")
        is_short = word_count(words_in(ocr)) < _A_PAGE
        titles += [title for title in from_text if title.where != "name"][:1]
        if is_short and words_in(ocr) and word_count(words_in(ocr)) >= 2:
            titles.append(Title(words_in(ocr), 0.42, "image-ocr", words_in(ocr)))
    subject = _QUOTE.sub("", _LEAD.sub("", caption)).rstrip(".")
    if subject and not _PLAIN.match(subject):
        subject = _OF.sub("", subject) if composed else subject
        titles.append(Title(subject[:1].upper() + subject[1:], 0.45 if composed else 0.65, "image-captioning", caption))
    if name and not is_machine_made(name):
        spaced = " ".join(stem.replace("_", " ").split())
        titles.append(Title(spaced, 0.4, "name", name))
    shortened = [
        Title(shorten_text(title.text, TITLE_LENGTH), title.confidence, title.where, title.evidence) for title in titles
    ]
    usable = [title for title in shortened if title.confidence >= MIN_CONFIDENCE and not is_junk(title.text)]
    return max(usable, key=lambda title: title.confidence, default=None)


def _choose_tags(details: Json, ocr: str, caption: str, objects: Json, language: str | None) -> list[tuple[str, float]]:
    """Tags for the kind of picture, the photographer's keywords, the objects in it, and the topics of its words."""
    found: list[tuple[str, float]] = []
    found += [(tag, 0.8) for words, tag in _KINDS if words in caption[:60].lower()][:1]
    if not found and details.get("camera") and details.get("taken"):
        found.append(("photo", 0.7))
    found += [(word.lower().strip(), 0.85) for word in list_in(details, "keywords")[:5]]
    found += _object_tags(objects)
    text = read_source_text({"image-ocr": ocr}) if ocr else None
    if text and word_count(words_in(ocr)) >= _A_PAGE // 2:
        found += document_type_tags(text.text, None, "image")
        found += [(topic.tag, topic.score) for topic in find_topics(text.blocks, None, language, 4)]
    distinct: dict[str, tuple[str, float]] = {}
    for tag, score in found:
        if 1 < len(tag) <= 40 and comparison_key(tag):
            distinct.setdefault(comparison_key(tag), (tag, score))
    return list(distinct.values())[:MAX_TAGS]


def _object_tags(objects: Json) -> list[tuple[str, float]]:
    rows = objects.get("objects")
    scores: dict[str, float] = {}
    counts: Counter[str] = Counter()
    for row in rows if isinstance(rows, list) else ():
        if not isinstance(row, dict):
            continue
        name, confidence = text_in(row, "name").lower(), row.get("confidence")
        score = float(confidence) if isinstance(confidence, int | float) else 0.6
        if name and score >= _SEEN:
            scores[name] = max(scores.get(name, 0.0), score)
            counts[name] += 1
    best = sorted(scores, key=lambda name: (-scores[name], -counts[name]))
    return [(name, min(0.9, scores[name])) for name in best[:_MAX_OBJECTS]]
