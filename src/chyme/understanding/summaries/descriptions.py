"""Take the summary from the description that a document brings along, if it says something."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chyme.model import Segment
from chyme.text.function_words import empty_words
from chyme.text.markdown_blocks import Block
from chyme.text.sentences import sentences_of, terms_of, word_count
from chyme.understanding.classification.result import SUMMARY_LENGTH
from chyme.understanding.classification.source_text import SourceText
from chyme.understanding.summaries.facts import DocumentFacts
from chyme.understanding.summaries.refusals import has_refused_phrase, is_filler
from chyme.understanding.summaries.shortening import shorten_sentence
from chyme.understanding.summaries.weighing import stands_alone
from chyme.understanding.summaries.word_positions import find_words
from chyme.understanding.titles.cleanup import same_words

_MIN_WORDS, _SHORT_WORDS = 5, 8  # words of a sentence that may serve, and below which it is joined with the next one
_MAX_READ, _MAX_SENTENCES = 4_000, 3  # characters and sentences of a description that are read
_RELATED_TEXT = 20_000  # characters of the text that a description must share a word with
_MAX_JOINED = 4  # short sentences that are joined
_FIRST_BLOCKS = 40  # blocks in which the rest of a description that was cut is looked for
_CUT = re.compile(r"\s?(?:\.\.\.|…|\[\.\.\.\]|\[…\])$")
_ENDED = re.compile(r"[.!?。！？؟।][\"'”»’)\]」』]{0,3}$")
_OFFICE_BREAK = re.compile(r"_x000[adAD]_")
_READING_TIME = re.compile(
    r"^\d{1,2} (?:min(?:ute)?s?(?: read)?|minut[eo]s?(?: de (?:leitura|lectura|lecture))?)\s+", re.IGNORECASE
)


def choose_description(source: SourceText, facts: DocumentFacts) -> str:
    """The first sentence of the document's own description that can be understood by itself; empty if none can."""
    return next((sentence for sentence in _sentences(source, facts) if stands_alone(sentence)), "")


def first_description(source: SourceText, facts: DocumentFacts) -> str:
    """The first sentence of the description, though it speaks to the reader or of the writer alone."""
    return next(iter(_sentences(source, facts)), "")


def _sentences(source: SourceText, facts: DocumentFacts) -> list[str]:
    description = _OFFICE_BREAK.sub(" ", source.metadata.description[:_MAX_READ])
    line = _READING_TIME.sub("", " ".join(description.split()))
    if word_count(line) < _MIN_WORDS or same_words(line, facts.title or "") or is_filler(line):
        return []
    if not _is_related(line, source, facts):
        return []
    sentences = [sentence.text for sentence in sentences_of([Segment(0.0, 0.0, line)], [line])]
    found: list[str] = []
    for number in range(min(len(sentences), _MAX_SENTENCES)):
        joined = _join_short(sentences[number:])
        if has_refused_phrase(joined):
            break
        if word_count(joined) >= _MIN_WORDS and not same_words(joined, facts.title or ""):
            found.append(shorten_sentence(_complete(joined, source.blocks[:_FIRST_BLOCKS]), SUMMARY_LENGTH))
    return found


def _is_related(description: str, source: SourceText, facts: DocumentFacts) -> bool:
    """Whether a description shares a word with its document: that of a template or a program does not."""
    if source.metadata.where != "properties" or not source.text.strip():
        return True
    empty = empty_words(facts.language)
    known = terms_of(f"{source.metadata.title} {facts.title or ''} {source.text[:_RELATED_TEXT]}", empty)
    return not frozenset(terms_of(description, empty)).isdisjoint(known)


def _join_short(sentences: Sequence[str]) -> str:
    """The first sentence; a short one together with as many as make a whole one."""
    joined = ""
    for sentence in sentences[:_MAX_JOINED]:
        joined = f"{joined} {sentence}".strip()
        if word_count(joined) >= _SHORT_WORDS:
            break
    return joined


def _complete(description: str, blocks: Sequence[Block]) -> str:
    """A description that was cut in the middle of a sentence, completed from the text if that has the sentence."""
    if not _CUT.search(description):
        return description
    text = " ".join(block.text for block in blocks)
    beginning = _CUT.sub("", description).split()
    start, end = find_words(beginning[:-1], text) if len(beginning) > _MIN_WORDS else (0, 0)
    rest = " ".join(text[start : end + 600].split())
    sentences = sentences_of([Segment(0.0, 0.0, rest)], [rest]) if end else []
    whole = sentences[0].text if sentences else ""
    is_whole = len(whole) > len(" ".join(beginning[:-1])) and _ENDED.search(whole) is not None
    return whole if is_whole else description
