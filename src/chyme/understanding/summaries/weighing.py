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
_PROSE = 25  # words from which on a paragraph is prose
_FADING = 7  # sentences after which an early position counts half
_REFERS_BACK = re.compile(
    r"^(?:it|this(?! (?:year|month|week|summer|spring|autumn|winter))|that|these|those|they|he|she|however|but|and|so|thus|therefore|hence|moreover|furthermore|in addition"
    r"|instead|besides|then|otherwise|also|such|as a result|for example|for instance|in this|on the other hand|in fact"
    r"|consequently|similarly|likewise|nevertheless|nonetheless|meanwhile|additionally|finally|second(?:ly)?|third(?:ly)?"
    r"|next|again|still|yet|accordingly|specifically|indeed|in contrast|by contrast|conversely|both|neither|another|other"
    r"|the (?:latter|former|above|same)|his|her|their|its|dies\w*|er|sie|es|aber|und|jedoch|daher|deshalb|außerdem|dabei"
    r"|zudem|il|elle|ils|cela|mais|et|donc|ello|esto|pero|y|además|questo|ma|inoltre|dit|maar|isto|mas|따라서|그러나|しかし"
    r"|また|但是|因此|\d[\d.]*)\b",
    re.IGNORECASE,
)
_DEFINES = re.compile(
    r"^.{2,120}?\b(?:(?:is|are|was|were) (?:a|an|the|one of)|(?:ist|sind|war) (?:ein|eine|der|die|das)|(?:est|sont) (?:un|une"
    r"|le|la)|(?:es|son) (?:un|una|el|la)|è (?:un|una|il|la)|é (?:um|uma|o|a)|is (?:een|de|het))\b"
)
_SPOKEN_TO = re.compile(r"^(?:you|your|i|my|me|ich|du|je|yo|please|note|bitte|remember|imagine|let)\b|^[\"“„«‘']", re.IGNORECASE)
_STEP = re.compile(r"^(?:click|press|select|choose|open|turn|add|remove|insert|enter|type|go to|make sure|check|use|set|put|run|install|visit|download|call|write|read|see|keep|do not|do)\b", re.I)
_PURPOSES = WordList(__package__, "purpose_phrases")
_PURPOSE_WEIGHTS = {"paper": 2.2, "court": 1.6, "letter": 1.6, "agreement": 1.5, "law": 1.6, "speech": 1.0, "notice": 0.5}
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
    weight += purpose_weight(text)
    weight += 0.8 * bool(shared and _DEFINES.match(text))
    if _REFERS_BACK.match(text) and not names_document(text):
        weight -= 2.0
    return weight - 1.2 * is_question(text) - 0.6 * bool(_SPOKEN_TO.match(text)) - 0.8 * bool(_STEP.match(text))


def purpose_weight(sentence: str) -> float:
    """How clearly a sentence says what the document is, does, asks for or decides."""
    plain = plain_words(sentence)
    found = [weight for name, weight in _PURPOSE_WEIGHTS.items() if _purposes(name).is_in(plain)]
    return max([*found, 2.0 if names_document(sentence) else 0.0])


@cache
def _purposes(name: str) -> PhraseList:
    return PhraseList(_PURPOSES.phrases(name))
