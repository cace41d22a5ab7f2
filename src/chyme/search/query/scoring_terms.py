"""Which passages are worth scoring when a question's words stand almost everywhere.

Finding a word's passages costs next to nothing, scoring each by BM25 thirty times as much. Where the words together
match more passages than may be scored, only those with at least one of the rarer words are (the frequent words still
count in their scores), or else those with all words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chyme.search.query.parser import Term, expression

MOST_SCORED = 20_000
ENOUGH = 200


@dataclass(frozen=True, slots=True)
class TermCount:
    """A term and in how many passages it stands."""

    term: Term
    passages: int


def scoring_expressions(counted: Sequence[TermCount], everything: int, most: int = MOST_SCORED) -> list[str]:
    """Expressions to score by, the first to be taken that matches at least ENOUGH passages; the last in any case.

    BM25 gives nothing for a word in more than half of all passages, so such words go first.
    """
    telling = [one for one in counted if one.passages * 2 <= everything] or list(counted)
    terms = [one.term for one in telling]
    if sum(one.passages for one in telling) <= most:
        return [expression(terms)]
    rare = _rarest(telling, most)
    few, many = expression(rare), expression([term for term in terms if term not in rare])
    # One branch for each passage, so that no word counts twice.
    with_rare = [f"(({few}) AND ({many})) OR (({few}) NOT ({many}))"] if few and many else []
    together = [" AND ".join(f"({expression([term])})" for term in terms)] if len(terms) > 1 else []
    return [*with_rare, *together, expression(terms)]


def _rarest(counted: Sequence[TermCount], most: int) -> list[Term]:
    rare: list[Term] = []
    for one in sorted(counted, key=lambda one: one.passages):
        most -= one.passages
        if most < 0:
            break
        rare.append(one.term)
    return rare
