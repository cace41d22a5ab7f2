"""What was probably meant by words that stand nowhere in the vault."""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection

from chyme.decide.query import Term, expression, plain_word
from chyme.decide.spelling import correctable, lookups, nearest
from chyme.store import dictionary, matches

_TRIED, _FREQUENT = 12, 200


def corrections(db: Connection, terms: Sequence[Term]) -> dict[str, str]:
    """For words that stand nowhere: the nearest word that stands somewhere, the more frequent one of equals."""
    instead: dict[str, str] = {}
    for term in terms:
        word = plain_word(term)
        if word is None or not correctable(word) or any(matches.frequency(db, expression([term]), 1)):
            continue
        if term.prefix and dictionary.beginning_with(db, word, 1):
            continue
        near = nearest(word, dictionary.spelt_like(db, lookups(word)))[:_TRIED]
        counted = [
            (-errors, sum(matches.frequency(db, expression([Term(known)]), _FREQUENT)), -place, known)
            for place, (errors, known) in enumerate(near)
        ]
        standing = [candidate for candidate in counted if candidate[1]]
        if standing:
            instead[term.text] = max(standing)[-1]
    return instead
