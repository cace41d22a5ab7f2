"""What was probably meant by words that stand nowhere in the vault."""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection

from chyme.decide.query import Term, expression, plain_word
from chyme.decide.spelling import correctable, lookups, nearest, surely_meant
from chyme.decide.stop_words import STOP_WORDS
from chyme.store import dictionary, matches

_TRIED, _FREQUENT = 12, 200


def corrections(db: Connection, terms: Sequence[Term], *, surely: bool = False) -> dict[str, str]:
    """For words that stand nowhere: the nearest word that stands somewhere, the more frequent one of equals.

    What is nearest to a small word is left alone: a small word finds nothing that was meant. `surely`: none is replaced
    by what may well be another word (`president` by `present`).
    """
    instead: dict[str, str] = {}
    for term in terms:
        word = plain_word(term)
        if word is None or not correctable(word) or any(matches.frequency(db, expression([term]), 1)):
            continue
        if term.prefix and dictionary.beginning_with(db, word, 1):
            continue
        known = dictionary.spelt_like(db, lookups(word))
        if surely:
            known = [other for other in known if surely_meant(word, other, alone=len(terms) == 1)]
        near = nearest(word, known)[:_TRIED]
        counted = [
            (-errors, sum(matches.frequency(db, expression([Term(other)]), _FREQUENT)), -place, other)
            for place, (errors, other) in enumerate(near)
        ]
        standing = [candidate for candidate in counted if candidate[1]]
        if standing and (best := max(standing)[-1]) not in STOP_WORDS:
            instead[term.text] = best
    return instead
