"""Classify a document without a model: each field from what the document says of itself, its text and its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from chyme.model import Kind
from chyme.speech.transcripts.summary import shorten_text
from chyme.text.general_words import general_words
from chyme.text.markdown_blocks import BlockType
from chyme.text.sentences import word_count
from chyme.understanding.classification.data_descriptions import TAB_SEPARATED, is_code, is_data, is_tabbed
from chyme.understanding.classification.document_types import document_type_tags, title_names_type
from chyme.understanding.classification.result import EVIDENCE_LENGTH, LOCAL, MOST_TAGS, Candidate, Classification
from chyme.understanding.classification.source_text import (
    FILE,
    MAX_CHARS,
    TEXTS,
    DocumentProperties,
    SourceText,
    read_json,
    read_source_text,
    running_text,
    text_in,
)
from chyme.understanding.classification.summary_sentence import choose_sentence
from chyme.understanding.dates.document_date import choose_date, find_dates, from_name, from_stamp, rank_dates
from chyme.understanding.tags.topics import Topic, find_topics
from chyme.understanding.titles.candidates import MIN_CONFIDENCE, Title, find_company, find_titles, text_comparison_key
from chyme.understanding.titles.placeholders import comparison_key, same_words

__all__ = [
    "FILE",
    "RULES_VERSION",
    "TEXTS",
    "DocumentProperties",
    "classify_document_by_rules",
    "dates_of",
    "own_title",
    "plain_text",
]

RULES_VERSION = 2  # raise it when a rule changes what comes out
_BEGINNING = 20_000  # characters looked at for a title alone
_TOPICS = 7
_KEYWORDS = 5  # of those the author gave
_MANY_KEYWORDS = 15  # from which on they are there for search engines
_KEYWORD_WORDS, _KEYWORD_LENGTH = 4, 40
_SHORT = 60  # characters of text from which on a guess at the language beats what the document says
_MAIL = ("message/rfc822", "application/vnd.ms-outlook")


def classify_document_by_rules(
    texts: Mapping[str, str],
    properties: DocumentProperties | None,
    *,
    kind: Kind,
    mime: str,
    name: str,
    language: str | None,
    language_confidence: float,
    dates: Sequence[Candidate] = (),
) -> Classification:
    """All that can be told of a document. `texts` are the contents of its outputs by name, FILE its own text."""
    found = read_source_text(texts, properties)
    if mime == "text/plain" and is_tabbed(found.text):
        mime = TAB_SEPARATED
    confidence: dict[str, float] = {}
    evidence: dict[str, str] = {}

    def note(field: str, sure: float, read: str) -> None:
        confidence[field] = round(sure, 2)
        evidence[field] = shorten_text(read, EVIDENCE_LENGTH)

    spoken_in = _language(found, language, language_confidence)
    if spoken_in:
        note("language", *spoken_in[1:])
    tongue = spoken_in[0] if spoken_in else None
    named = find_topics(found.blocks, None, tongue, 3) if found.spoken else []
    title = _title(found, name, mime, properties, named)
    if title:
        note("title", title.confidence, title.evidence)
    shown = title.text if title else None
    taken = choose_date(dates)
    if taken:
        note("date", taken.confidence, taken.text)
    sorts = document_type_tags(found.text, _telling(title), mime)
    bill = next((sort for sort, _ in sorts if sort in ("invoice", "receipt")), "")
    sender = _sender(found, title, bill) if bill else ""
    summary = choose_sentence(found, shown, mime, tongue, bill, sender, taken.date if taken else "")
    if summary:
        note("summary", summary.confidence, summary.evidence)
    tags = _tags(found, title, mime, tongue, sorts)
    if tags:
        note("tags", sum(one.score for one in tags) / len(tags), ", ".join(one.tag for one in tags))
    return Classification(
        shown,
        summary.text if summary else None,
        taken.date if taken else None,
        tongue,
        tuple(one.tag for one in tags),
        confidence,
        evidence,
        tuple(dates),
        LOCAL,
    )


def own_title(texts: Mapping[str, str], mime: str, language: str | None = None) -> str | None:
    """The title that a document bears in its own text or metadata, by the same rules; its name does not count."""
    found = read_source_text(texts, None, _BEGINNING)
    if mime == "text/plain" and is_tabbed(found.text):
        mime = TAB_SEPARATED
    named = find_topics(found.blocks, None, language, 3) if found.spoken else []
    title = _title(found, "", mime, None, named)
    return title.text if title else None


def plain_text(texts: Mapping[str, str], most: int = MAX_CHARS) -> str:
    """The running text in plain words, from the whole of it: by this its language is told."""
    return "\n".join(one.text for one in read_source_text(texts, None, most).blocks if one.sort is not BlockType.MENU)[
        :most
    ]


def dates_of(
    texts: Mapping[str, str],
    properties: DocumentProperties | None,
    *,
    kind: Kind,
    mime: str,
    name: str,
    language: str | None,
    today: date,
) -> tuple[Candidate, ...]:
    """Every date the file may be of, the likeliest first: from its text, its properties, its previews and its name."""
    found: list[Candidate | None] = [from_name(name, today)]
    for where in TEXTS[:6]:
        if texts.get(where, "").strip():
            if not is_data(mime):
                found += find_dates(running_text(where, texts[where]), language, where, today)
            break
    if properties is not None:
        made = "mail" if mime in _MAIL else "published" if mime == "text/html" or kind is Kind.TEXT else "properties"
        found += [
            from_stamp(properties.created or "", made, today),
            from_stamp(properties.modified or "", "modified", today),
        ]
    page, picture = read_json(texts.get("url-metadata")), read_json(texts.get("image-preview"))
    found += [
        from_stamp(text_in(page, "published_date"), "published", today),
        from_stamp(text_in(page, "modified_date"), "modified", today),
        from_stamp(text_in(picture, "taken"), "exif", today),
        from_stamp(_recorded(texts), "properties", today),
    ]
    sort = "mail" if mime in _MAIL else "page" if kind is Kind.URL or mime == "text/html" else str(kind)
    return rank_dates([one for one in found if one is not None], sort, today)


def _recorded(texts: Mapping[str, str]) -> str:
    told = read_json(texts.get("media-preview"))
    tags = told.get("tags")
    return text_in(told, "recorded") or (text_in(tags, "date") if isinstance(tags, dict) else "")


def _language(found: SourceText, language: str | None, sure: float) -> tuple[str, float, str] | None:
    """The language, how sure it is, and by what."""
    said = found.said.language
    enough = sum(len(block.text) for block in found.blocks[:50]) >= _SHORT
    if language and (enough or not said):
        return language, sure, f"the words of {found.where}" if found.where else "its words"
    return (said, 0.5, f"{found.said.where}: {said}") if said and found.text.strip() else None


def _title(
    found: SourceText, name: str, mime: str, properties: DocumentProperties | None, named: Sequence[Topic]
) -> Title | None:
    told = [one.tag for one in named]
    generator = properties.generator if properties else ""
    best = next(
        iter(find_titles(found, name, mime, generator, [told[0].capitalize(), *told[1:]] if told else ())), None
    )
    return best if best and best.confidence >= MIN_CONFIDENCE else None


def _telling(title: Title | None) -> str | None:
    """The title, if the document has one besides its name."""
    return title.text if title and title.where != "name" else None


def _sender(found: SourceText, title: Title | None, bill: str) -> str:
    """Who wrote a bill: the company in its letterhead, or the line it is called by, unless that is a number."""
    told = find_company(found)
    if told or title is None or title.where != found.where:
        return told
    opens = same_words(title.text, found.blocks[0].text[: len(title.text)]) if found.blocks else False
    return (
        title.text
        if opens and not title_names_type(title.text, bill) and not any(map(str.isdecimal, title.text))
        else ""
    )


def _tags(
    found: SourceText, title: Title | None, mime: str, language: str | None, sorted_as: Sequence[tuple[str, float]]
) -> list[Topic]:
    """What kind of document it is, what its author calls it, and what it is about; no tag twice."""
    telling = _telling(title)
    sorts = [Topic(tag, score) for tag, score in sorted_as]
    if found.spoken:
        sorts.append(Topic("recording", 0.9))
    given = _keywords(found)
    subjects = [] if is_code(mime) else find_topics(found.blocks, telling, language, _TOPICS - min(len(given), 4))
    if is_data(mime):
        subjects = []
    told: list[Topic] = []
    for one in (*sorts, *given, *subjects):
        if not any(_says_again(one.tag, other.tag) for other in told):
            told.append(one)
    return told[:MOST_TAGS]


def _says_again(tag: str, other: str) -> bool:
    """Whether every word of a tag stands in another, one or many of it."""
    words, others = ({comparison_key(word).removesuffix("s") for word in one.split()} for one in (tag, other))
    return words <= others or comparison_key(tag) == comparison_key(other)


def _keywords(found: SourceText) -> list[Topic]:
    """The author's own, unless they are many or stand nowhere in the text: then they are somebody's template."""
    text = text_comparison_key(found.text[:50_000])
    general = general_words("en")
    plain = [" ".join(word.lower().strip(" #.!\"'").split()).removesuffix(" inc") for word in found.said.keywords]
    fitting = [
        word
        for word in dict.fromkeys(plain)
        if 2 < len(word) <= _KEYWORD_LENGTH
        and word_count(word) <= _KEYWORD_WORDS
        and word not in general
        and any(letter.isalpha() for letter in word)
        and not any(sign in word for sign in "=<>{}/\\:")
    ]
    inside = [word for word in fitting if comparison_key(word) and comparison_key(word) in text]
    told = inside
    if not told and found.said.where == "properties" and len(fitting) <= _KEYWORDS:
        told = fitting  # few words that somebody chose
    return [Topic(word, 0.8) for word in told[: _KEYWORDS if len(plain) <= _MANY_KEYWORDS else 3]]
