"""Choose the words of a long question that say most: the rarest in the vault."""

from __future__ import annotations

from dataclasses import replace
from sqlite3 import Connection

from chyme.search.query.parser import Query, Term, expression
from chyme.search.tables import keyword_queries

MOST_TERMS = 40  # words of a question that are searched for
_MAX_COUNTED = 2000  # passages up to which a word is counted; what is in more says about equally little


def choose_rarest(db: Connection, query: Query) -> Query:
    """The question with its rarest words only, in their order, if it has too many; with a note that says so.

    Phrases stay. A word that is nowhere finds nothing, and comes last.
    """
    if len(query.terms) <= MOST_TERMS:
        return query
    distinct = tuple(dict.fromkeys(query.terms))
    if len(distinct) <= MOST_TERMS:
        return replace(query, terms=distinct)

    def rank(term: Term) -> tuple[bool, bool, int]:
        count = sum(keyword_queries.frequency(db, expression([term]), _MAX_COUNTED))
        return not term.phrase, count == 0, count

    chosen = set(sorted(distinct, key=rank)[:MOST_TERMS])
    note = f"only the {MOST_TERMS} rarest words of the question were searched for"
    return replace(query, terms=tuple(term for term in distinct if term in chosen), notes=(*query.notes, note))
