"""Summarise a document in one sentence: a good one of its own, otherwise a plain description."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from chyme.model import Segment
from chyme.text.action_phrases import is_question
from chyme.text.markdown_blocks import Block, blocks_of
from chyme.text.markdown_lines import shorten_text
from chyme.text.sentences import sentences_of, word_count
from chyme.understanding.classification.data_descriptions import (
    describe_data,
    describe_table,
    is_data,
    parse_markdown_table,
)
from chyme.understanding.classification.result import SUMMARY_LENGTH
from chyme.understanding.classification.source_text import SourceText
from chyme.understanding.summaries.candidates import Candidate, read_candidates
from chyme.understanding.summaries.composition import (
    describe_bill,
    describe_fields,
    describe_form,
    describe_log,
    describe_minutes,
    describe_outline,
    describe_questions,
    describe_recipe,
    describe_remainder,
)
from chyme.understanding.summaries.facts import Composed, DocumentFacts
from chyme.understanding.summaries.mails import MAILBOX, MAILS, describe_mail, forwarded_text, written_text
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
from chyme.understanding.summaries.spoken_text import (
    SUBTITLES,
    describe_subtitles,
    is_transcript,
    spoken_lines,
    strip_fillers,
)
from chyme.understanding.summaries.weighing import weigh_sentences
from chyme.understanding.titles.cleanup import comparison_key, same_words

_MIN_WORDS = 5  # words of a sentence that may serve as a summary
_SHORT_WORDS = 8  # a shorter sentence is joined with the next one
_MAX_COUNTED = 5_000_000  # characters in which rows are counted
_USABLE, _STRONG = 1.6, 3.0  # weights from which a sentence says enough, and says more than a description
_FIRST_BLOCKS = 40  # blocks in which the rest of a description that was cut is looked for
_SURE = 0.5  # confidence from which a description beats a sentence that is only usable
_LINES = ("text/plain", "application/pdf")  # texts in which a line may be a heading without being marked as one
_TITLE_SHARE = 1.25  # a sentence that begins with the title must be longer by that
_HEAD = 20_000  # characters in which such lines are looked for
_ENDED = re.compile(r"[.!?。！？؟।][\"'”»’)\]」』]{0,3}$")
_CUT = re.compile(r"\s?(?:\.\.\.|…|\[\.\.\.\]|\[…\])$")
_MAX_TRIES = 50  # places with the first word of a sentence that are looked at one by one
_MAX_JOINED, _SHORT_LINE = 3, 36  # lines of a sentence, and average characters below which they are rather rows


@dataclass(frozen=True, slots=True)
class SummarySentence:
    """The sentence, and the confidence that it says what the document is about."""

    text: str
    confidence: float
    evidence: str


def choose_sentence(source: SourceText, facts: DocumentFacts) -> SummarySentence | None:
    """The best summary; None if there is none."""
    if is_data(facts.mime):
        data = describe_data(source.whole, facts.mime)
        if data:
            return _composed(Composed(data, 0.8))
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
        return _composed(structure) if structure else _quoted(*found)
    if found and found[1] >= _STRONG and (facts.kind != "book" or names_document(found[0])):
        return _quoted(*found)
    described = structure or describe_fields(source, facts) or describe_outline(source, facts)
    is_better = described and described.confidence >= _SURE and (structure or facts.is_structured or not facts.kind)
    if found and not is_better:
        return _quoted(*found)
    described = described or describe_remainder(source, facts)
    return _composed(described) if described else None


def _composed(composed: Composed) -> SummarySentence:
    return SummarySentence(shorten_text(composed.text, SUMMARY_LENGTH), composed.confidence, composed.text)


def _quoted(text: str, weight: float) -> SummarySentence:
    sentence = shorten_sentence(text, SUMMARY_LENGTH)
    return SummarySentence(sentence, 0.65 if weight >= _STRONG else 0.5, text)


def _from_description(source: SourceText, facts: DocumentFacts) -> SummarySentence | None:
    """The description that the document brings along, unless it says nothing."""
    description = _first_sentence(source.metadata.description)
    if not description or same_words(description, facts.title or "") or is_filler(description):
        return None
    text = " ".join(block.text for block in source.blocks[:_FIRST_BLOCKS])
    return SummarySentence(_complete(description, text), 0.75, source.metadata.description)


def _complete(description: str, text: str) -> str:
    """A description that was cut in the middle of a sentence, completed from the text if that has the sentence."""
    if not _CUT.search(description):
        return description
    beginning = _CUT.sub("", description).split()
    start, end = find_words(beginning[:-1], text) if len(beginning) > _MIN_WORDS else (0, 0)
    rest = " ".join(text[start : end + 600].split())
    sentences = sentences_of([Segment(0.0, 0.0, rest)], [rest]) if end else []
    whole = sentences[0].text if sentences else ""
    is_whole = len(whole) > len(" ".join(beginning[:-1])) and _ENDED.search(whole) is not None
    return shorten_sentence(whole, SUMMARY_LENGTH) if is_whole else description


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


def _first_sentence(text: str) -> str:
    line = " ".join(text.split())
    if not line or has_refused_phrase(line[:SUMMARY_LENGTH]) or word_count(line[:2000]) < _MIN_WORDS:
        return ""
    sentences = [sentence.text for sentence in sentences_of([Segment(0.0, 0.0, line[:4000])], [line[:4000]])]
    first = sentences[0] if sentences else ""
    if word_count(first) < _SHORT_WORDS and len(sentences) > 1:
        first = f"{first} {sentences[1]}"
    return shorten_sentence(first, SUMMARY_LENGTH) if word_count(first) >= _MIN_WORDS else ""


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
    table = parse_markdown_table(source.text) and parse_markdown_table(source.whole[:_MAX_COUNTED])
    if table:
        return Composed(describe_table(table), 0.7)
    return (
        describe_bill(facts)
        or describe_minutes(source, facts)
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


def find_words(words: Sequence[str], text: str) -> tuple[int, int]:
    """Where these words first stand in the text, with any white space between them; (0, 0) if they do not.

    To compile an expression for a sentence takes longer than everything else about it, so that is only done for a text
    that repeats the first word many times.
    """
    first, *others = words
    start = text.find(first)
    for _ in range(_MAX_TRIES):
        if start < 0:
            return 0, 0
        end = _end_of_words(others, text, start + len(first))
        if end is not None:
            return start, end
        start = text.find(first, start + 1)
    match = re.compile(r"\s++".join(map(re.escape, words))).search(text, start) if start >= 0 else None
    return match.span() if match else (0, 0)


def _end_of_words(words: Sequence[str], text: str, end: int) -> int | None:
    """Where these words end if they follow one another from here, each after white space; None if they do not."""
    for word in words:
        at = end
        while text[at : at + 1].isspace():
            at += 1
        if at == end or not text.startswith(word, at):
            return None
        end = at + len(word)
    return end
