"""Choose which passages to score if the words of a question are almost everywhere.

Finding the passages of a word costs next to nothing; scoring one by BM25 costs thirty times as much. If the words
together match more passages than may be scored, only those with at least one of the rarer words are scored (the
frequent words still count in their scores), or else those with all words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chyme.search.query.parser import Term, expression

MOST_SCORED = 20_000
ENOUGH = 200


@dataclass(frozen=True, slots=True)
class TermCount:
    """A term and the number of passages that contain it."""

    term: Term
    passages: int


def scoring_expressions(counted: Sequence[TermCount], all_passages: int, max_scored: int = MOST_SCORED) -> list[str]:
    """Expressions to score by: use the first that matches at least ENOUGH passages, otherwise the last.

    BM25 gives nothing for a word in more than half of all passages, so such words are dropped first.
    """
    useful = [term_count for term_count in counted if term_count.passages * 2 <= all_passages] or list(counted)
    terms = [term_count.term for term_count in useful]
    if sum(term_count.passages for term_count in useful) <= max_scored:
        return [expression(terms)]
    rare = _select_rarest(useful, max_scored)
    few, many = expression(rare), expression([term for term in terms if term not in rare])
    # One branch for each passage, so that no word counts twice.
    with_rare = [f"(({few}) AND ({many})) OR (({few}) NOT ({many}))"] if few and many else []
    with_all = [" AND ".join(f"({expression([term])})" for term in terms)] if len(terms) > 1 else []
    return [*with_rare, *with_all, expression(terms)]


def _select_rarest(counted: Sequence[TermCount], remaining: int) -> list[Term]:
    rare: list[Term] = []
    for term_count in sorted(counted, key=lambda term_count: term_count.passages):
        remaining -= term_count.passages
        if remaining < 0:
            break
        rare.append(term_count.term)
    return rare
