"""Corrections for words of a question that are nowhere in the vault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from sqlite3 import Connection

from chyme.search.query.parser import Term, expression, plain_word
from chyme.search.query.spelling import is_certain_correction, is_correctable, lookups, nearest
from chyme.search.tables import dictionary, keyword_queries
from chyme.text.common_words import is_common_word, stop_words
from chyme.text.stemmer import fold

_MAX_TRIED, _MAX_FREQUENCY = 12, 200
_CLEARLY_MORE = 2  # times as frequent: then it is the likely one of two equally near words


@dataclass(frozen=True, slots=True)
class Corrections:
    """For words of a question that are in no file: a word that is in some file."""

    certain: Mapping[str, str] = field(default_factory=dict)  # searched instead
    possible: Mapping[str, str] = field(default_factory=dict)  # only suggested; hardly ever if there are other words

    def as_suggestions(self) -> Corrections:
        """All of them as suggestions only."""
        return Corrections({}, {**self.certain, **self.possible})


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A word of the vault that is spelt much like a typed one."""

    word: str
    errors: int
    frequency: int


def find_corrections(db: Connection, terms: Sequence[Term]) -> Corrections:
    """The nearest word of the vault for each word that is in no file; of equally near ones the more frequent.

    A word is never replaced by a stop word: that would find nothing that was meant.
    """
    certain: dict[str, str] = {}
    possible: dict[str, str] = {}
    for term in terms:
        word = plain_word(term)
        if word is None or term.as_typed or not is_correctable(word) or _is_known(db, term, word):
            continue
        found = _candidates(db, word)
        sure = [candidate for candidate in found if is_certain_correction(word, candidate.word, alone=len(terms) == 1)]
        best = _best(sure)
        if best and not is_common_word(word) and not _is_ambiguous(best, sure) and not _may_be_a_name(term, best.word):
            certain[term.text] = best.word
        elif best or (len(terms) == 1 and (best := _best(found))):
            possible[term.text] = best.word
    return Corrections(certain, possible)


def _is_known(db: Connection, term: Term, word: str) -> bool:
    # The words are asked first: FTS5 merges all words with a prefix before it gives the first match.
    if term.prefix and dictionary.find_by_prefix(db, word, 1):
        return True
    return any(keyword_queries.frequency(db, expression([term]), 1))


def _candidates(db: Connection, word: str) -> list[_Candidate]:
    """Words within reach that are in some file, nearest first."""
    near = nearest(word, dictionary.find_similar(db, lookups(word)))[:_MAX_TRIED]
    candidates = [
        _Candidate(other, errors, sum(keyword_queries.frequency(db, expression([Term(other)]), _MAX_FREQUENCY)))
        for errors, other in near
    ]
    return [candidate for candidate in candidates if candidate.frequency and candidate.word not in stop_words()]


def _best(candidates: Sequence[_Candidate]) -> _Candidate | None:
    return min(candidates, key=lambda candidate: (candidate.errors, -candidate.frequency), default=None)


def _is_ambiguous(best: _Candidate, candidates: Sequence[_Candidate]) -> bool:
    """Whether another word is as near and not much rarer. Words that begin with each other are forms of one word."""
    return any(
        other.errors == best.errors
        and other.frequency * _CLEARLY_MORE > best.frequency
        and not (other.word.startswith(best.word) or best.word.startswith(other.word))
        for other in candidates
    )


def _may_be_a_name(term: Term, other: str) -> bool:
    """Whether a capitalised word differs by more than swapped letters: Martin is not Martina."""
    return term.text[:1].isupper() and term.text[1:].islower() and sorted(fold(term.text)) != sorted(other)
