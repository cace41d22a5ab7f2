"""Weigh sentences by how well they say what a document is or does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from chyme.text.action_phrases import is_question
from chyme.text.function_words import empty_words
from chyme.text.sentences import ranks, terms_of, word_count
from chyme.text.word_lists import WordList
from chyme.understanding.summaries.candidates import Candidate
from chyme.understanding.summaries.phrases import PhraseList, plain_words
from chyme.understanding.summaries.self_reference import names_document

_GOOD_WORDS = range(8, 46)
_START_LENGTH = 60  # characters in which a sentence shows how it begins
_PROSE = 25  # words from which on a paragraph is prose
_FADING = 7  # sentences after which an early position counts half
_DEFINES = re.compile(
    r"^.{2,120}?\b(?:(?:is|are|was|were) (?:a|an|the|one of)|(?:ist|sind|war) (?:ein|eine|der|die|das)"
    r"|(?:est|sont) (?:un|une|le|la)|(?:es|son) (?:un|una|el|la)|è (?:un|una|il|la)"
    r"|é (?:um|uma|o|a)|is (?:een|de|het))\b"
)
_PURPOSES, _STARTS = WordList(__package__, "purpose_phrases"), WordList(__package__, "sentence_starts")
_THIS_YEAR = ("this year", "this month", "this week", "this summer", "this spring", "this autumn", "this winter")
_QUOTATIONS = tuple("\"“„«‘'")
_PURPOSE_WEIGHTS = {
    "paper": 2.2,
    "court": 1.6,
    "letter": 1.6,
    "agreement": 1.5,
    "law": 1.6,
    "notice": 0.5,
}
_CLEAR_PURPOSE = 1.5  # a weight from which a sentence may refer to the one before it
_SPEECH_WEIGHT = 1.0
_SECTION_WEIGHTS = {"lead": 1.0, "opening": 0.4}


def weigh_sentences(candidates: Sequence[Candidate], title: str | None, language: str | None) -> list[float]:
    """A weight for each sentence: from about 1.6 on it says enough, from about 3 on it says what the document is."""
    empty = empty_words(language)
    title_terms = frozenset(terms_of(title or "", empty))
    bags = [frozenset(terms_of(candidate.text, empty)) for candidate in candidates]
    shares = ranks(bags)
    highest = max(shares, default=0.0) or 1.0
    return [
        _weigh(candidate, number, title_terms & bags[number], len(title_terms), shares[number] / highest)
        for number, candidate in enumerate(candidates)
    ]


def _weigh(candidate: Candidate, number: int, shared: frozenset[str], title_terms: int, rank: float) -> float:
    text = candidate.text
    words = word_count(text)
    weight = 1.5 * _FADING / (_FADING + number) + 0.3 * (number == 0)
    weight += 1.2 * len(shared) / max(title_terms, 2) + 0.5 * rank
    weight += _SECTION_WEIGHTS.get(candidate.section, 0.0)
    weight += 0.4 * (candidate.paragraph_words >= _PROSE) + 0.2 * candidate.opens - 0.5 * candidate.is_item
    weight += 0.4 if words in _GOOD_WORDS else -0.6 if words < _GOOD_WORDS.start else -0.2
    purpose = purpose_weight(text)
    weight += purpose
    weight += 0.8 * bool(shared and _DEFINES.match(text))
    starts = _starts().groups_at_start(plain_words(text[:_START_LENGTH]))
    if _refers_back(text, starts):
        weight -= 1.0 if purpose >= _CLEAR_PURPOSE else 2.0
    weight -= text[:1].isdecimal()
    is_address = "address" in starts or text.startswith(_QUOTATIONS)
    return weight - 2.0 * is_question(text) - (0.6 if purpose else 1.2) * is_address - 1.5 * ("step" in starts)


def stands_alone(sentence: str) -> bool:
    """Whether a sentence can be understood by itself, and is no question and no small talk."""
    starts = _starts().groups_at_start(plain_words(sentence[:_START_LENGTH]))
    return not (is_question(sentence) or _refers_back(sentence, starts) or "address" in starts)


def _refers_back(sentence: str, starts: set[str]) -> bool:
    plain = plain_words(sentence[:_START_LENGTH])
    return "back" in starts and not names_document(sentence) and not plain.startswith(_THIS_YEAR)


def purpose_weight(sentence: str) -> float:
    """How clearly a sentence says what the document is, does, asks for or decides."""
    plain = plain_words(sentence)
    found = [_PURPOSE_WEIGHTS[name] for name in _purposes().groups_in(plain) if name in _PURPOSE_WEIGHTS]
    if plain.startswith(_spoken_openings()):
        found.append(_SPEECH_WEIGHT)
    return max([*found, 2.0 if names_document(sentence) else 0.0])


@cache
def _purposes() -> PhraseList:
    return PhraseList(_PURPOSES.sections)


@cache
def _spoken_openings() -> tuple[str, ...]:
    return tuple(_PURPOSES.sections["speech"])


@cache
def _starts() -> PhraseList:
    return PhraseList(_STARTS.sections)
