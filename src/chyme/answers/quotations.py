"""Answer without a model: the sentences of the passages that have most of what the question asks about."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from chyme.answers.statement_words import all_keys, statement_of
from chyme.answers.support import Similarity, Span
from chyme.text.common_words import general_words
from chyme.text.sentences import sentence_spans
from chyme.text.stemmer import fold, stem

MOST_QUOTED = 4
ENOUGH = 0.6  # share of what the question asks about that must stand in a sentence or beside it
ENOUGH_IF_NEAR = 0.15  # the same, where the sentence is near in meaning
NEAR = 0.5  # cosine from which a sentence is near to a question
_OF_BEST = 0.7  # share of the best score that others must have
_COMPARED = 12  # sentences whose meaning is compared
_LONGEST = 600  # characters of one quotation
_SHORTEST = 3  # words


@dataclass(frozen=True, slots=True)
class Quotation:
    """A sentence of a passage, by the index of the passage and its characters there."""

    index: int
    span: Span
    score: float


def quote(
    question: str, passages: Sequence[str], headings: Sequence[str], similarity: Similarity | None = None
) -> list[Quotation]:
    """The sentences that answer best, best first; none if nothing seems to answer.

    A word counts by how rare it is in the passages. Words in a heading, or beside the sentence, count for half.
    """
    asked = all_keys(statement_of(question))
    asked = (asked - {stem(fold(word)) for word in general_words("en")}) or asked
    if not asked:
        return []
    keys = [[all_keys(statement_of(text[start:end])) for start, end in sentence_spans(text)] for text in passages]
    spread = Counter(key for one in keys for key in frozenset[str]().union(*one) & asked)
    weights = {key: math.log(2 + len(passages) / (0.5 + spread[key])) for key in asked}
    total = sum(weights.values())
    candidates: list[tuple[float, float, Quotation]] = []  # score, share of the question nearby
    for index, text in enumerate(passages):
        above = all_keys(statement_of(headings[index])) & asked
        for at, span in enumerate(sentence_spans(text)):
            sentence = text[span[0] : span[1]]
            if sentence.startswith("#") or (len(sentence.split()) < _SHORTEST and sentence.isascii()):
                continue  # a heading says what follows is about, and answers nothing
            own = keys[index][at] & asked
            beside = (frozenset[str]().union(*keys[index][max(0, at - 1) : at + 2]) & asked) | above
            near = sum(weights[key] for key in own | beside) / total
            score = sum(weights[key] for key in own) / total + 0.5 * sum(weights[key] for key in beside - own) / total
            score -= 0.01 * index  # the better found passage first
            candidates.append((score, near, Quotation(index, _shorten(text, span), score)))
    candidates.sort(key=lambda one: -one[0])
    chosen: list[Quotation] = []
    for score, near, quotation in candidates[:_COMPARED]:
        text = passages[quotation.index][quotation.span[0] : quotation.span[1]]
        close = similarity(question, text) if similarity is not None and near >= ENOUGH_IF_NEAR else None
        if near >= ENOUGH or (close is not None and close >= NEAR):
            chosen.append(Quotation(quotation.index, quotation.span, score + (0.5 * close if close else 0.0)))
    chosen.sort(key=lambda one: -one.score)
    distinct: dict[str, Quotation] = {}
    for one in chosen:
        distinct.setdefault(" ".join(passages[one.index][one.span[0] : one.span[1]].split()).casefold(), one)
    return [one for one in distinct.values() if one.score >= _OF_BEST * chosen[0].score][:MOST_QUOTED]


def _shorten(text: str, span: Span) -> Span:
    """At most so many characters, to a whole word."""
    start, end = span
    if end - start <= _LONGEST:
        return span
    return start, start + (
        text.rfind(" ", start, start + _LONGEST) - start if " " in text[start : start + _LONGEST] else _LONGEST
    )
