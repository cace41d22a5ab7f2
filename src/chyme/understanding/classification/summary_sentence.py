"""Summarise a document in one sentence: a good one of its own, otherwise a plain description."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from chyme.model import Segment
from chyme.text.action_phrases import is_question
from chyme.text.markdown_blocks import Block, BlockType, blocks_of
from chyme.text.markdown_lines import shorten_text
from chyme.text.sentences import sentences_of, word_count
from chyme.understanding.classification.data_descriptions import TABLES, describe_data, is_data
from chyme.understanding.classification.result import SUMMARY_LENGTH
from chyme.understanding.classification.source_text import SourceText
from chyme.understanding.summaries.bills import describe_bill
from chyme.understanding.summaries.candidates import Candidate, read_candidates
from chyme.understanding.summaries.composition import (
    describe_fields,
    describe_form,
    describe_log,
    describe_minutes,
    describe_outline,
    describe_questions,
    describe_recipe,
    describe_remainder,
    part_names,
)
from chyme.understanding.summaries.contracts import describe_contract
from chyme.understanding.summaries.descriptions import choose_description, first_description
from chyme.understanding.summaries.facts import Composed, DocumentFacts
from chyme.understanding.summaries.introductions import introduce, is_section_heading, speaks_of_title
from chyme.understanding.summaries.mails import MAILBOX, MAILS, describe_mail, forwarded_text, written_text
from chyme.understanding.summaries.markup_languages import read_markup
from chyme.understanding.summaries.plain_lines import (
    capitalise_sentences,
    is_lower_case,
    is_preformatted,
    plain_lines,
    separate_short_lines,
)
from chyme.understanding.summaries.refusals import has_refused_phrase, is_filler, is_refused
from chyme.understanding.summaries.self_reference import names_document
from chyme.understanding.summaries.sheets import describe_sheets
from chyme.understanding.summaries.shortening import shorten_sentence, strip_marks
from chyme.understanding.summaries.slides import describe_slides
from chyme.understanding.summaries.spoken_text import (
    SUBTITLES,
    describe_subtitles,
    is_transcript,
    spoken_lines,
    strip_fillers,
)
from chyme.understanding.summaries.stories import describe_story, is_story
from chyme.understanding.summaries.tables import describe_delimited, describe_tables
from chyme.understanding.summaries.weighing import purpose_weight, weigh_sentences
from chyme.understanding.summaries.word_positions import find_words
from chyme.understanding.titles.cleanup import comparison_key

_MIN_WORDS = 5  # words of a sentence that may serve as a summary
_SHORT_WORDS = 8  # a shorter sentence is joined with the next one
_MAX_COUNTED = 5_000_000  # characters in which rows are counted
_SMALL = 45  # words of a document that can be quoted rather than summarised
_FIRST_BLOCKS = 100  # blocks whose words are counted
_LONG, _MIN_PARTS = 40_000, 3  # characters and headings from which on the headings say more than a sentence
_RANDOM = 2.5  # weight below which a sentence that does not speak of the title's subject is left out
_USABLE, _STRONG = 1.6, 3.0  # weights from which a sentence says enough, and says more than a description
_VAGUE = 0.35  # confidence of a description that only quotes or lists
_SURE = 0.5  # confidence from which a description beats a sentence that is only usable
_LINES = ("text/plain", "application/pdf")  # texts in which a line may be a heading without being marked as one
_TITLE_SHARE = 1.25  # a sentence that begins with the title must be longer by that
_HEAD = 20_000  # characters in which such lines are looked for
_ENDED = re.compile(r"[.!?。！？؟।][\"'”»’)\]」』]{0,3}$")
_MAX_JOINED, _SHORT_LINE = 3, 36  # lines of a sentence, and average characters below which they are rather rows


@dataclass(frozen=True, slots=True)
class SummarySentence:
    """The sentence, and the confidence that it says what the document is about."""

    text: str
    confidence: float
    evidence: str


def choose_sentence(source: SourceText, facts: DocumentFacts) -> SummarySentence | None:
    """The best summary; None if there is none."""
    data = _describe_data(source, facts) if is_data(facts.mime) else None
    if data:
        return _composed(data)
    source, facts = read_markup(source, facts)
    if is_section_heading(source, facts.title or ""):
        facts = replace(facts, is_named=False)
    known = _from_description(source, facts) or _from_recording(source)
    if known:
        return known
    structure = _describe_structure(source, facts)
    if structure and structure.confidence > _SURE:
        return _composed(structure)
    found = _choose(source, facts)
    if found and facts.mime in (*MAILS, *SUBTITLES):
        structure = (
            describe_mail(source.whole, facts.mime, found[0])
            if facts.mime in MAILS
            else describe_subtitles(source.whole, facts, found[0])
        )
        return _composed(structure) if structure else _quoted(*found, facts)
    return _choose_by_strength(source, facts, found, structure)


def _choose_by_strength(
    source: SourceText, facts: DocumentFacts, found: tuple[str, float] | None, structure: Composed | None
) -> SummarySentence | None:
    """A strong sentence, a good description, a sentence that is only usable, a plain description: the first of them."""
    is_quotable = _is_quotable(source, facts, found or ("", 0.0))
    is_told = found and not purpose_weight(found[0]) and facts.kind in ("", "book") and is_story(source.text)
    is_said = found and (facts.kind != "book" or names_document(found[0]))
    if found and found[1] >= _STRONG and is_said and not (is_told or is_quotable):
        return _quoted(*found, facts)
    parts = part_names(source, facts)
    has_parts = len(parts) >= _MIN_PARTS and (len(source.whole) > _LONG or facts.kind == "book")
    described = structure or describe_contract(source.text, facts) or describe_slides(source, facts, parts)
    if not described and facts.kind in ("", "book") and not has_parts:
        described = describe_story(source, facts)
    described = described or describe_fields(source, facts) or describe_outline(source, facts)
    is_sure = described and described.confidence >= _SURE and (structure or facts.is_structured or not facts.kind)
    is_random = found and facts.is_named and found[1] < _RANDOM and not speaks_of_title(found[0], facts)
    if found and not (is_sure or has_parts or is_quotable or is_random):
        return _quoted(*found, facts)
    weak = first_description(source, facts)
    if weak:
        return _introduced(weak, 0.5, weak, facts)
    if is_quotable and not parts and not (described and described.confidence > _VAGUE):
        described = describe_remainder(source, facts)
    described = described or describe_remainder(source, facts)
    return _composed(described) if described else None


def _is_quotable(source: SourceText, facts: DocumentFacts, found: tuple[str, float]) -> bool:
    """Whether a document is so short that its words are told as they are, unless it is prose with a good sentence."""
    blocks = [block for block in source.blocks[:_FIRST_BLOCKS] if block.sort is not BlockType.HEADING]
    counts = [(word_count(block.text), _ENDED.search(block.text) is not None) for block in blocks]
    words, prose = sum(count for count, _ in counts), sum(count for count, is_ended in counts if is_ended)
    if words >= (_SMALL if facts.is_named else 2 * _SMALL) or source.spoken:
        return False
    sentence, weight = found
    is_poor = word_count(sentence) < _SHORT_WORDS or (weight < _RANDOM and not speaks_of_title(sentence, facts))
    return is_poor or (2 * prose < words and not purpose_weight(sentence))


def _describe_data(source: SourceText, facts: DocumentFacts) -> Composed | None:
    if facts.mime in TABLES:
        return describe_delimited(source.whole, facts)
    data = describe_data(source.whole, facts.mime)
    return Composed(data, 0.8) if data else None


def _composed(composed: Composed) -> SummarySentence:
    return SummarySentence(shorten_text(composed.text, SUMMARY_LENGTH), composed.confidence, composed.text)


def _quoted(text: str, weight: float, facts: DocumentFacts) -> SummarySentence:
    sentence = shorten_sentence(text, SUMMARY_LENGTH)
    return _introduced(sentence, 0.65 if weight >= _STRONG else 0.5, text, facts)


def _introduced(sentence: str, confidence: float, evidence: str, facts: DocumentFacts) -> SummarySentence:
    return SummarySentence(introduce(sentence, facts), confidence, evidence)


def _from_description(source: SourceText, facts: DocumentFacts) -> SummarySentence | None:
    """The description that the document brings along, unless it says nothing."""
    description = choose_description(source, facts)
    return _introduced(description, 0.75, source.metadata.description, facts) if description else None


def _from_recording(source: SourceText) -> SummarySentence | None:
    """The first sentence of a recording's summary that says something without the words that only begin it."""
    if not source.spoken or not source.summary:
        return None
    takeaway = " ".join(next((part for part in source.summary.split("\n\n") if part.strip()), "").split())[:4000]
    for sentence in sentences_of([Segment(0.0, 0.0, takeaway)], [takeaway]):
        plain = strip_fillers(sentence.text)
        if word_count(plain) >= _MIN_WORDS and not is_question(plain) and not has_refused_phrase(plain):
            return SummarySentence(shorten_sentence(plain, SUMMARY_LENGTH), 0.6, takeaway)
    return None


def _describe_structure(source: SourceText, facts: DocumentFacts) -> Composed | None:
    """A description of what is no prose: a bill, a table, a spreadsheet, a mail, subtitles, a form."""
    if "sheet" in facts.mime or "excel" in facts.mime:
        return describe_sheets(source.whole[:_MAX_COUNTED])
    if facts.mime in (*MAILS, MAILBOX):
        return describe_mail(source.whole, facts.mime)
    if facts.mime in SUBTITLES:
        return describe_subtitles(source.whole, facts)
    if facts.mime == "text/plain" and (log := describe_log(source)):
        return log
    bill = describe_bill(source.text, facts)
    if bill:
        return bill
    tables = describe_tables(source.whole[:_MAX_COUNTED], facts)
    if tables:
        return tables
    return (
        describe_minutes(source, facts)
        or describe_questions(source, facts)
        or describe_form(source.text, facts)
        or describe_recipe(source, facts)
    )


def _choose(source: SourceText, facts: DocumentFacts) -> tuple[str, float] | None:
    """The sentence that says best what the document is or does, and its weight."""
    blocks = _prose_blocks(source, facts.mime)
    if is_filler(" ".join(block.text for block in blocks[:20])[:2_000]):
        return None
    is_spoken = source.spoken or facts.mime in SUBTITLES or is_transcript(source.text)
    clean = strip_fillers if is_spoken else strip_marks
    read = read_candidates(blocks, facts.title, facts.language)
    names = frozenset((facts.title or "").split())
    candidates = [
        candidate
        for candidate in (replace(one, text=_without_title(clean(one.text), facts.title or "")) for one in read)
        if not is_refused(candidate.text, facts.language, names) and not _repeats(candidate.text, facts.title or "")
    ]
    weights = weigh_sentences(candidates, facts.title, facts.language)
    ranked = sorted(zip(weights, candidates, strict=True), key=lambda pair: -pair[0])
    for weight, candidate in ranked[:5]:
        if weight < _USABLE:
            break
        text = _join_short(candidate, facts.language)
        is_whole = _ENDED.search(shorten_sentence(text, SUMMARY_LENGTH)) is not None
        if is_whole and not _is_flattened(candidate.text, source.text):
            return text, weight
    return None


def _without_title(sentence: str, title: str) -> str:
    """The sentence without a title that stands before it on the same line."""
    rest = sentence[len(title) :].lstrip(" .:–—-")
    is_glued = bool(title) and sentence[: len(title)].casefold() == title.casefold() and word_count(rest) > _MIN_WORDS
    return rest if is_glued and not rest[:1].islower() and sentence[len(title) : len(title) + 1] == " " else sentence


def _repeats(sentence: str, title: str) -> bool:
    """Whether a sentence says no more than the title."""
    said, named = comparison_key(sentence), comparison_key(title)
    return said in named or (bool(named) and said.startswith(named) and len(said) < _TITLE_SHARE * len(named))


def _prose_blocks(source: SourceText, mime: str) -> Sequence[Block]:
    """The blocks of what was written: of a mail without quotes, of lines without the short ones above a paragraph."""
    if mime in MAILS:
        return blocks_of(written_text(source.text) or forwarded_text(source.text))
    if is_transcript(source.text):
        return blocks_of(spoken_lines(source.text[:_HEAD]))
    if is_preformatted(source.blocks):
        return blocks_of(plain_lines(source.text[:_HEAD]))
    if is_lower_case(source.text):
        return blocks_of(capitalise_sentences(source.text[:_HEAD]))
    if mime in _LINES:
        head = source.text[:_HEAD]
        separated = separate_short_lines(head)
        if separated != head:
            return blocks_of(separated)
    return source.blocks


def _join_short(candidate: Candidate, language: str | None) -> str:
    """The sentence; a short one together with the next."""
    text = candidate.text
    if word_count(text) >= _SHORT_WORDS or not candidate.following or is_refused(candidate.following, language):
        return text
    return f"{text} {candidate.following}"


def _is_flattened(sentence: str, text: str) -> bool:
    """Whether it is not a sentence but joined short lines: an address, rows of a table."""
    start, end = find_words(sentence.split(), text)
    if "\n" not in text[start:end]:
        return False
    lines = [line for line in text[start:end].split("\n") if line.strip()]
    line_start = text.rfind("\n", 0, start) + 1
    mean_length = (end - line_start) / len(lines)
    max_lines = _MAX_JOINED if _ENDED.search(sentence) else 1
    return len(lines) > max_lines and mean_length < _SHORT_LINE
