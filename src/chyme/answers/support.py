"""Hold a sentence against passages: do its numbers, names and words stand there, and do they say so or the opposite?

This finds invented facts, not every wrong conclusion: a sentence that joins words of a passage wrongly passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from chyme.answers.statement_words import Statement, all_keys, statement_of
from chyme.text.function_words import language_of
from chyme.text.sentences import sentence_spans

Span = tuple[int, int]
Similarity = Callable[[str, str], float | None]

ENOUGH = 0.6  # share of the sentence's words that must stand in the passages
ENOUGH_IF_NEAR = 0.4  # share that is enough where a passage's sentence means nearly the same
NEAR = 0.75  # cosine from which two sentences mean nearly the same
_WIDEST = 3  # sentences side by side that support one sentence together
_CONTRIBUTES = 0.3  # share from which on a further passage is cited, too
_MOST_CITED = 3
_LONGEST = 4000  # characters of a passage that are compared


@dataclass(frozen=True, slots=True)
class Verdict:
    """The passages that support a sentence, each with the characters that do; none if it is not supported."""

    places: tuple[tuple[int, Span], ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class _Evidence:
    """The part of one passage that has most of a sentence's words."""

    index: int
    span: Span
    text: str
    keys: frozenset[str]
    statement: Statement


def hold_against(
    sentence: str,
    passages: Sequence[str],
    cited: Sequence[int] = (),
    similarity: Similarity | None = None,
    headings: Sequence[str] = (),
) -> Verdict:
    """Which of the passages support the sentence: those it cites, by their indices, or else others that do.

    `headings`: what stands over each passage, such as the file's title; names and words in it count.
    """
    claim = statement_of(sentence)
    if not all_keys(claim):
        return Verdict(reason="it states nothing that could be checked")
    found = [_best_part(claim, index, text, headings) for index, text in enumerate(passages)]
    named = [found[index] for index in dict.fromkeys(cited) if 0 <= index < len(found)]
    verdict = _judge(claim, sentence, named, similarity) if named else None
    if verdict is not None and verdict.places:
        return verdict
    elsewhere = _judge(claim, sentence, found, similarity)
    return elsewhere if elsewhere.places or verdict is None else verdict


def _best_part(claim: Statement, index: int, passage: str, headings: Sequence[str]) -> _Evidence:
    """The fewest sentences side by side that have most of the claim's keys."""
    text = passage[:_LONGEST]
    spans = sentence_spans(text) or [(0, len(text))]
    statements = [statement_of(text[start:end]) for start, end in spans]
    wanted = all_keys(claim)
    above = statement_of(headings[index]) if index < len(headings) else None
    extra = (all_keys(above) if above else frozenset()) & wanted
    best: tuple[tuple[int, int, int], int, int] | None = None
    for first in range(len(spans)):
        keys: frozenset[str] = frozenset()
        for last in range(first, min(first + _WIDEST, len(spans))):
            keys |= all_keys(statements[last]) & wanted
            score = (len(keys), first - last, -first)
            if best is None or score > best[0]:
                best = (score, first, last)
    assert best is not None
    _, first, last = best
    span = spans[first][0], spans[last][1]
    keys = frozenset[str]().union(*(all_keys(one) for one in statements[first : last + 1])) & wanted
    opposite = max(
        range(first, last + 1), key=lambda at: (len(all_keys(statements[at]) & wanted), not statements[at].negated)
    )
    return _Evidence(index, span, text[span[0] : span[1]], keys | extra, statements[opposite])


def _judge(claim: Statement, sentence: str, evidence: Sequence[_Evidence], similarity: Similarity | None) -> Verdict:
    wanted = all_keys(claim)
    ordered = sorted(evidence, key=lambda one: -len(one.keys))
    chosen = [one for at, one in enumerate(ordered) if at == 0 or len(one.keys) >= _CONTRIBUTES * len(wanted)][
        :_MOST_CITED
    ]
    keys = frozenset[str]().union(*(one.keys for one in chosen)) if chosen else frozenset()
    texts = " ".join(one.text for one in chosen).lower()
    for number in sorted(claim.numbers):
        if f"#{number}" not in keys:
            return Verdict(reason=f"the number {number} does not stand there")
    if claim.names - keys and language_of(texts) != "de":  # German nouns have a capital, too
        return Verdict(reason="a name in it does not stand there")
    if any(address not in texts for address in claim.addresses):
        return Verdict(reason="an address in it does not stand there")
    share = len(keys) / len(wanted)
    if share < ENOUGH:
        near = similarity(sentence, chosen[0].text) if similarity and share >= ENOUGH_IF_NEAR and chosen else None
        if near is None or near < NEAR:
            return Verdict(reason="the passages do not say that")
    best = chosen[0]
    if claim.negated is not best.statement.negated and not _says_both(claim, best):
        return Verdict(reason="the passage seems to say the opposite")
    return Verdict(tuple((one.index, one.span) for one in _needed(chosen)))


def _needed(chosen: Sequence[_Evidence]) -> list[_Evidence]:
    """The best passage, and those that add something to the ones before them."""
    needed: list[_Evidence] = []
    known: frozenset[str] = frozenset()
    for one in chosen:
        if not needed or one.keys - known:
            needed.append(one)
            known |= one.keys
    return needed


def _says_both(claim: Statement, evidence: _Evidence) -> bool:
    """Whether a clause of the passage without (or with) a negation, as the claim has it, has enough of its words."""
    wanted = all_keys(claim)
    clauses = [statement_of(clause) for clause in _clauses(evidence.text)]
    same = [all_keys(clause) & wanted for clause in clauses if clause.negated is claim.negated]
    return len(frozenset[str]().union(*same)) >= ENOUGH * len(evidence.keys)


def _clauses(text: str) -> list[str]:
    for mark in ";:.!?—–()":
        text = text.replace(mark, ",")
    return [clause for clause in text.replace(" but ", ",").replace(" aber ", ",").split(",") if clause.strip()]
