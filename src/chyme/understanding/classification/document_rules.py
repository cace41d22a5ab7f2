"""Classify a document without a model, from its metadata, its text and its name."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from chyme.files.extensions import ARCHIVES
from chyme.text.common_words import general_words
from chyme.text.markdown_blocks import BlockType
from chyme.text.markdown_lines import shorten_text
from chyme.text.sentences import word_count
from chyme.text.sized_lines import SizedLine
from chyme.understanding.classification.data_descriptions import (
    TAB_SEPARATED,
    Table,
    is_data,
    is_tabbed,
    parse_delimited_table,
    parse_markdown_table,
)
from chyme.understanding.classification.document_shapes import PLACEHOLDER, WITHOUT_TOPICS, shape_tags
from chyme.understanding.classification.document_types import document_type_tags, title_names_type
from chyme.understanding.classification.result import EVIDENCE_LENGTH, LOCAL, MAX_TAGS, Candidate, Classification
from chyme.understanding.classification.source_text import MAX_CHARS, SourceText, read_source_text
from chyme.understanding.classification.summary_sentence import choose_sentence
from chyme.understanding.dates.choice import choose_date, date_evidence
from chyme.understanding.summaries.bills import BILLS
from chyme.understanding.summaries.facts import DocumentFacts
from chyme.understanding.summaries.spoken_text import SUBTITLES
from chyme.understanding.tags.name_topics import find_column_topics, find_title_topics
from chyme.understanding.tags.names import normalise_tag
from chyme.understanding.tags.phrases import generic_nouns
from chyme.understanding.tags.topics import Topic, find_topics
from chyme.understanding.titles.candidates import (
    MIN_CONFIDENCE,
    Title,
    find_company,
    find_titles,
    first_line,
    text_comparison_key,
)
from chyme.understanding.titles.cleanup import comparison_key, is_filler, is_junk
from chyme.understanding.titles.generic_headings import is_generic_heading

if TYPE_CHECKING:
    from chyme.documents.properties.reader import Properties

RULES_VERSION = 5  # raise it when a rule changes the result
_BEGINNING = 20_000  # characters read when only the title is wanted
_TOPICS, _MIN_TOPICS = 4, 2  # topics of a document, and beside the author's keywords
_SUBJECTS = 5  # topics and keywords together
_TABLE_TOPICS = 4
_MAX_KEYWORDS = 5  # of the author's keywords that become tags
_MANY_KEYWORDS = 15  # more than this are meant for search engines
_KEYWORD_WORDS, _KEYWORD_LENGTH = 4, 40
_SENDER_LENGTH = 60  # characters of the name of who wrote a bill
_HEADER = 4_000  # characters in which an e-mail names its sender and recipients
_CORRESPONDENT = re.compile(r"^\*\*(?:From|To|Cc|Reply-To|Sender)(?::\*\*|\*\*:) (.{1,400})", re.MULTILINE)
_NOTE_AUTHOR = re.compile(r"^> ([^\W\d_][^:\n]{1,60}): ", re.MULTILINE)  # of a comment or a stamp
_ENOUGH_TEXT = 60  # characters of text from which on the detected language beats the stated one


def classify_document_by_rules(
    texts: Mapping[str, str],
    properties: Properties | None,
    *,
    mime: str,
    name: str,
    language: str | None,
    language_confidence: float,
    dates: Sequence[Candidate] = (),
    scanned: Sequence[SizedLine] = (),
) -> Classification:
    """Classify a document. `texts` are the contents of its outputs by name, with its own text as FILE.

    `scanned` are the lines of its first page, if that was read from a picture.
    """
    source = read_source_text(texts, properties, scanned=scanned)
    if mime == "text/plain" and is_tabbed(source.text):
        mime = TAB_SEPARATED
    confidence: dict[str, float] = {}
    evidence: dict[str, str] = {}

    def note(field: str, score: float, text: str) -> None:
        confidence[field] = round(score, 2)
        evidence[field] = shorten_text(text, EVIDENCE_LENGTH)

    chosen_language = _choose_language(source, language, language_confidence)
    if chosen_language:
        note("language", *chosen_language[1:])
    code = chosen_language[0] if chosen_language else None
    is_spoken = source.spoken or mime in SUBTITLES
    topics = find_topics(source.blocks, None, code, 3) if is_spoken else []
    title = _choose_title(source, name, mime, properties, topics if source.spoken else ())
    if title:
        note("title", title.confidence, title.evidence)
    title_text = title.text if title else None
    day = choose_date(dates)
    if day:
        note("date", day.confidence, date_evidence(day))
    types = document_type_tags(source.text, _real_title(title), mime)
    facts = DocumentFacts(
        title_text,
        mime,
        code,
        [sort for sort, _ in types],
        _find_sender(source, types),
        properties.author if properties else "",
        day.date if day and day.where == source.where else "",
        _real_title(title) is not None,
        [topic.tag for topic in topics],
    )
    summary = choose_sentence(source, facts)
    if summary:
        note("summary", summary.confidence, summary.evidence)
    types += shape_tags(source, _real_title(title), name, mime, [sort for sort, _ in types], properties)
    tags = _choose_tags(source, title, mime, code, types, _find_people(source, properties))
    if tags:
        note("tags", sum(topic.score for topic in tags) / len(tags), ", ".join(topic.tag for topic in tags))
    return Classification(
        title_text,
        summary.text if summary else None,
        day.date if day else None,
        code,
        tuple(topic.tag for topic in tags),
        confidence,
        evidence,
        tuple(dates),
        LOCAL,
    )


def own_title(texts: Mapping[str, str], mime: str, language: str | None = None) -> str | None:
    """The title in a document's text or metadata, by the same rules; the file name does not count."""
    source = read_source_text(texts, None, _BEGINNING)
    if mime == "text/plain" and is_tabbed(source.text):
        mime = TAB_SEPARATED
    topics = find_topics(source.blocks, None, language, 3) if source.spoken else []
    title = _choose_title(source, "", mime, None, topics)
    return title.text if title else None


def plain_text(texts: Mapping[str, str]) -> str:
    """The running text without markup, sampled from its whole length, for detecting the language."""
    blocks = read_source_text(texts).blocks
    return "\n".join(block.text for block in blocks if block.sort is not BlockType.MENU)[:MAX_CHARS]


def _choose_language(source: SourceText, language: str | None, confidence: float) -> tuple[str, float, str] | None:
    """The language, its confidence, and the evidence."""
    stated = source.metadata.language
    has_enough_text = sum(len(block.text) for block in source.blocks[:50]) >= _ENOUGH_TEXT
    if language and (has_enough_text or not stated):
        return language, confidence, f"the words of {source.where}" if source.where else "its words"
    return (stated, 0.5, f"{source.metadata.where}: {stated}") if stated and source.text.strip() else None


def _choose_title(
    source: SourceText, name: str, mime: str, properties: Properties | None, topics: Sequence[Topic]
) -> Title | None:
    names = [topic.tag for topic in topics]
    generator = properties.generator if properties else ""
    best = next(
        iter(find_titles(source, name, mime, generator, [names[0].capitalize(), *names[1:]] if names else ())), None
    )
    return best if best and best.confidence >= MIN_CONFIDENCE else None


def _real_title(title: Title | None) -> str | None:
    """The title, unless it is only the file name, a heading that names nothing, or stands for placeholder text."""
    if title is None or title.where == "name" or is_filler(title.evidence) or is_generic_heading(title.text):
        return None
    return title.text


def _find_sender(source: SourceText, types: Sequence[tuple[str, float]]) -> str:
    """Who wrote a bill or a letter: the company in its letterhead; of a bill also its first line without a number."""
    bill_type = next((sort for sort, _ in types if sort in BILLS), "")
    if not bill_type:
        return find_company(source) if any(sort == "letter" for sort, _ in types) else ""
    company = find_company(source)
    if company:
        return company
    first = first_line(source.text)
    is_name = 0 < len(first) <= _SENDER_LENGTH and not any(map(str.isdecimal, first))
    return first if is_name and not title_names_type(first, bill_type) and not is_junk(first) else ""


def _choose_tags(
    source: SourceText,
    title: Title | None,
    mime: str,
    language: str | None,
    types: Sequence[tuple[str, float]],
    people: Sequence[str],
) -> list[Topic]:
    """Tags for the kind of document, the author's keywords and the topics; none twice."""
    named = _real_title(title)
    type_topics = [Topic(tag, score) for tag, score in types]
    if source.spoken:
        type_topics.append(Topic("recording", 0.9))
    keywords = _keywords(source)
    count = max(_MIN_TOPICS, min(_TOPICS, _SUBJECTS - len(keywords)))
    sorts = frozenset(tag for tag, _ in types)
    table = _find_table(source, mime)
    has_subjects = not (is_data(mime) or table or mime in ARCHIVES or sorts & WITHOUT_TOPICS)
    subjects = find_topics(source.blocks, named, language, count, people) if has_subjects else []
    if table and not sorts & WITHOUT_TOPICS:
        name = title.text if title and (named or is_data(mime)) else table.caption
        subjects += find_column_topics(name, table.names, language, _TABLE_TOPICS, is_file_name=not named)
    if named and PLACEHOLDER not in sorts and mime not in ARCHIVES:
        titled = [
            topic
            for topic in find_title_topics(named, language, people, _TOPICS)
            if not _only_names_kind(topic.tag, sorts, language)
        ]
        subjects = _add_title_topics(subjects, titled, len(keywords))
    chosen: list[Topic] = []
    for topic in (*type_topics, *keywords, *subjects):
        if not any(_repeats(topic.tag, other.tag) for other in chosen) and not any(
            _repeats(other.tag, topic.tag) for other in chosen if other not in type_topics
        ):
            chosen.append(topic)
    return chosen[:MAX_TAGS]


def _only_names_kind(tag: str, kinds: Collection[str], language: str | None) -> bool:
    """Whether a phrase says what kind of document it is and nothing else: `invoice number`."""
    others = frozenset(tag.split()) - frozenset(" ".join(kinds).split())
    return others <= generic_nouns(language) | general_words(language)


def _add_title_topics(subjects: Sequence[Topic], titled: Sequence[Topic], others: int) -> list[Topic]:
    """The subjects, with phrases of the title in place of their last word, and others if there are few subjects."""
    whole = {topic.tag.rpartition(" ")[2]: topic.tag for topic in titled}
    found = [Topic(whole.get(topic.tag, topic.tag), topic.score) for topic in subjects]
    if others + len(found) < _MIN_TOPICS:
        found += [topic for topic in titled if " " in topic.tag or not subjects][:_MIN_TOPICS]
    return found


def _find_table(source: SourceText, mime: str) -> Table | None:
    """The table that the file is, if it is one."""
    if mime in ("text/csv", TAB_SEPARATED):
        return parse_delimited_table(source.text)
    return parse_markdown_table(source.text) if "sheet" in mime or "excel" in mime else None


def _find_people(source: SourceText, properties: Properties | None) -> list[str]:
    """Who wrote, sent or received the document, as far as its metadata say."""
    names = [properties.author] if properties else []
    if source.where == "doc-to-markdown":
        names += [match[1].partition("<")[0] for match in _CORRESPONDENT.finditer(source.whole[:_HEADER])]
        names += [author for author in _NOTE_AUTHOR.findall(source.whole[:_HEADER]) if author.istitle()]
    return [name for name in names if name]


def _repeats(tag: str, other: str) -> bool:
    """Whether every word of a tag is in another tag, in singular or plural."""
    words, others = ({comparison_key(word).removesuffix("s") for word in text.split()} for text in (tag, other))
    return words <= others or comparison_key(tag) == comparison_key(other)


def _keywords(source: SourceText) -> list[Topic]:
    """The author's keywords, unless they are many or not in the text: then they come from a template."""
    text = text_comparison_key(source.text[:50_000])
    general, generic = general_words("en"), generic_nouns("en")
    words = [
        " ".join(word.partition("--")[0].lower().strip(" #.!?\"'").split()).removesuffix(" inc")
        for word in source.metadata.keywords
    ]
    fitting = [
        word
        for word in dict.fromkeys(words)
        if 2 < len(word) <= _KEYWORD_LENGTH
        and word_count(word) <= _KEYWORD_WORDS
        and word not in general
        and word not in generic
        and normalise_tag(word) is not None
        and any(letter.isalpha() for letter in word)
        and not any(sign in word for sign in "=<>{}/\\:")
    ]
    in_text = [word for word in fitting if comparison_key(word) and comparison_key(word) in text]
    chosen = in_text
    if not chosen and source.metadata.where == "properties" and len(fitting) <= _MAX_KEYWORDS:
        chosen = [
            word for word in fitting if any(comparison_key(part) in text for part in word.split() if len(part) > 3)
        ]
    return [Topic(word, 0.8) for word in chosen[: _MAX_KEYWORDS if len(words) <= _MANY_KEYWORDS else 3]]
