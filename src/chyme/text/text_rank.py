"""Ranks texts by how well they represent the others: a random walk from texts to their terms and back."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence

_DAMPING = 0.85
_STEPS = 25  # no visible change after that


def ranks(texts: Sequence[Collection[str]]) -> list[float]:
    """The share of each text, by the terms it has in common with others; a term of a single text connects nothing.

    The walk goes through the terms, so its cost grows with the number of words, not with the pairs of texts.
    """
    bags = [frozenset(terms) for terms in texts]
    spread = Counter(term for bag in bags for term in bag)
    weight = {term: math.log(1 + len(bags) / count) for term, count in spread.items() if count > 1}
    linked = [[term for term in bag if term in weight] for bag in bags]
    totals = [sum(weight[term] for term in terms) for terms in linked]
    rank = [1.0 / max(len(bags), 1)] * len(bags)
    rest = (1 - _DAMPING) / max(len(bags), 1)
    for _ in range(_STEPS):
        term_rank = dict.fromkeys(weight, 0.0)
        for share, terms, total in zip(rank, linked, totals, strict=True):
            for term in terms:
                term_rank[term] += share * weight[term] / total
        rank = [rest + _DAMPING * sum(term_rank[term] / spread[term] for term in terms) for terms in linked]
    return [share / math.log(2 + len(bag)) for share, bag in zip(rank, bags, strict=True)]
