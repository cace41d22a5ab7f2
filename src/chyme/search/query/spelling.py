"""Which words a mistyped word may have meant, by deleting letters on both sides (symmetric delete)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import lru_cache

from chyme.text.stemmer import fold
from chyme.text.unspaced_scripts import IDEOGRAPH, RUNS

SHORTEST, LONGEST = 4, 24
_TWO_ERRORS_FROM = 8  # shorter words have too many neighbours within two errors
_SHORT_WORD = 5  # letters; many words of this length are one letter from a word that means something else
_VOWELS = frozenset("aeiouy")
# A combining mark stays with its letter.
_COMBINING = re.compile(r"[\u0300-\u036f]")
_TOKENS = re.compile(r"[^\W_]+(?:[\u0300-\u036f]+[^\W_]*)*")


def tokens_of(text: str) -> Iterable[re.Match[str]]:
    """The words of a text as the index sees them, with their spans; without runs of unspaced script."""
    return _TOKENS.finditer(_blank_runs(text))


def tokens_beginning_with(letters: Collection[str], text: str) -> Iterable[re.Match[str]]:
    """Of the words of a text, all whose folded form begins with one of these letters, and perhaps some others.

    Most words of a passage are none that were asked for, and need not be folded and stemmed to see that.
    """
    plain = "".join(sorted({letter.lower() + letter.upper() for letter in letters if letter.isascii()}))
    if _COMBINING.search(text):
        return tokens_of(text)
    return _compile_beginnings(plain).finditer(_blank_runs(text))


@lru_cache(maxsize=256)
def _compile_beginnings(letters: str) -> re.Pattern[str]:
    """Words that begin with one of these letters, or with one outside ASCII: that may be folded into any."""
    plain = f"[{re.escape(letters)}]|" if letters else ""
    return re.compile(rf"(?<![^\W_])(?:{plain}[^\W_\x00-\x7f])[^\W_]*")


def _blank_runs(text: str) -> str:
    return RUNS.sub(lambda run: " " * len(run[0]), text) if IDEOGRAPH.search(text) else text


def is_correctable(word: str) -> bool:
    """Whether a folded word is one that people misspell: letters only, neither very short nor very long."""
    return SHORTEST <= len(word) <= LONGEST and word.isalpha()


def words_of(texts: Iterable[str]) -> set[str]:
    """The distinct folded words worth remembering for corrections."""
    seen = {word for text in texts for word in _TOKENS.findall(_blank_runs(text))}
    return {folded for word in seen if is_correctable(folded := fold(word))}


def deletions(word: str) -> set[str]:
    """The word and every spelling of it with one letter left out: what the dictionary stores."""
    return {word, *(word[:i] + word[i + 1 :] for i in range(len(word)))}


def lookups(word: str) -> set[str]:
    """What to look up for a typed word: one letter left out, two if the word is long."""
    once = deletions(word)
    return once if len(word) < _TWO_ERRORS_FROM else once.union(*(deletions(shorter) for shorter in once))


def nearest(word: str, candidates: Iterable[str]) -> list[tuple[int, str]]:
    """Candidates within reach as (errors, candidate), nearest first; at equal distance, same first letter first."""
    reach = 1 if len(word) < _TWO_ERRORS_FROM else 2
    near = [(errors, other) for other in candidates if (errors := distance(word, other)) <= reach]
    return sorted(near, key=lambda found: (found[0], found[1][:1] != word[:1], found[1]))


def distance(word: str, other: str) -> int:
    """The number of letters to insert, delete, change, or swap with their neighbour."""
    previous: list[int] = []
    current = list(range(len(other) + 1))
    for row, letter in enumerate(word, 1):
        next_row = [row]
        for column, other_letter in enumerate(other, 1):
            cost = min(current[column] + 1, next_row[-1] + 1, current[column - 1] + (letter != other_letter))
            swapped = row > 1 and column > 1 and letter == other[column - 2] and word[row - 2] == other_letter
            next_row.append(min(cost, previous[column - 2] + 1) if swapped else cost)
        previous, current = current, next_row
    return current[-1]


def is_certain_correction(word: str, other: str, *, alone: bool) -> bool:
    """Whether a typed word is certainly a misspelling of the other. Either letters were swapped; or it begins with the
    same letter, and it is long and one letter off, or has the same consonants. With other words in the question (not
    `alone`), short words are left alone."""
    if sorted(word) == sorted(other) and distance(word, other) == 1:
        return True
    if word[0] != other[0] or (len(word) <= _SHORT_WORD and not alone):
        return False
    if len(word) > _SHORT_WORD and distance(word, other) == 1:
        return True
    return same_consonants(word, other)


def same_consonants(word: str, other: str) -> bool:
    """Whether two words differ only in vowels, doubled letters or the order of letters."""
    return set(word) - _VOWELS == set(other) - _VOWELS
