"""Which words a mistyped word may have meant: by letters left out on both sides (symmetric delete)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from chyme.text.stemmer import fold
from chyme.text.unspaced_scripts import IDEOGRAPH, RUNS

SHORTEST, LONGEST = 4, 24
_TWO_ERRORS_FROM = 8  # shorter words have too many neighbours at two errors
_SHORT = 5  # letters; of such words a good part are one letter from another word that means something else
_VOWELS = frozenset("aeiouy")
# A combining mark stays with its letter.
_TOKENS = re.compile(r"[^\W_]+(?:[\u0300-\u036f]+[^\W_]*)*")


def tokens_of(text: str) -> Iterable[re.Match[str]]:
    """The words of a text as the index sees them, with their spans; runs of unspaced script are none."""
    return _TOKENS.finditer(_without_runs(text))


def _without_runs(text: str) -> str:
    return RUNS.sub(lambda run: " " * len(run[0]), text) if IDEOGRAPH.search(text) else text


def is_correctable(word: str) -> bool:
    """Whether a folded word is one that people misspell: letters only, neither tiny nor endless."""
    return SHORTEST <= len(word) <= LONGEST and word.isalpha()


def words_of(texts: Iterable[str]) -> set[str]:
    """The distinct folded words worth remembering for correction."""
    seen = {word for text in texts for word in _TOKENS.findall(_without_runs(text))}
    return {folded for word in seen if is_correctable(folded := fold(word))}


def deletions(word: str) -> set[str]:
    """The word and every spelling of it with one letter left out: what the dictionary stores."""
    return {word, *(word[:at] + word[at + 1 :] for at in range(len(word)))}


def lookups(word: str) -> set[str]:
    """What to look up for a typed word: one letter left out, two when the word is long."""
    once = deletions(word)
    return once if len(word) < _TWO_ERRORS_FROM else once.union(*(deletions(shorter) for shorter in once))


def nearest(word: str, candidates: Iterable[str]) -> list[tuple[int, str]]:
    """Candidates within reach as (errors, candidate), nearest first; at equal distance, same beginning first."""
    reach = 1 if len(word) < _TWO_ERRORS_FROM else 2
    near = [(errors, other) for other in candidates if (errors := distance(word, other)) <= reach]
    return sorted(near, key=lambda found: (found[0], found[1][:1] != word[:1], found[1]))


def distance(one: str, other: str) -> int:
    """Letters to insert, leave out, change, or swap with their neighbour."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        now = [row]
        for column, against in enumerate(other, 1):
            cost = min(last[column] + 1, now[-1] + 1, last[column - 1] + (letter != against))
            swapped = row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == against
            now.append(min(cost, before[column - 2] + 1) if swapped else cost)
        before, last = last, now
    return last[-1]


def is_certain_correction(word: str, other: str, *, alone: bool) -> bool:
    """Whether a typed word is hardly a word of its own: letters were swapped, or it begins like the other and, unless
    it is of some length and one letter off, has the same consonants. Beside others (not `alone`) a short one is left.
    """
    if sorted(word) == sorted(other) and distance(word, other) == 1:
        return True
    if word[0] != other[0] or (len(word) <= _SHORT and not alone):
        return False
    if len(word) > _SHORT and distance(word, other) == 1:
        return True
    return same_consonants(word, other)


def same_consonants(word: str, other: str) -> bool:
    """Whether two words differ in vowels, in doubled letters or in the order of letters only."""
    return set(word) - _VOWELS == set(other) - _VOWELS
