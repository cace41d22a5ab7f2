"""Whether what somebody gives back is a correction of what was said, and nothing else."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

from chyme.speech.transcripts.cleanup_rules import strip_fillers
from chyme.text.function_words import language_of, words_in
from chyme.text.unspaced_scripts import IDEOGRAPH

_ALIKE = 0.5  # the share of words, or of pairs of letters, that must have stayed
_LONGER, _SHORTER = 1.4, 0.6  # in letters, against the text without fillers
_ROOM = 12  # letters a short text may grow or shrink by, whatever its length
_ORDERED = 300  # words up to which their order is compared; beyond, only which there are
_NUMBERS = re.compile(r"\d+")
_UNWRITTEN = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+")


def check_numbering(expected: Sequence[int], got: Sequence[int]) -> str | None:
    """What is wrong with the numbers of an answer, said so that it can be put right; None when they fit."""
    if list(got) == list(expected):
        return None
    wanted, counted = set(expected), Counter(got)
    missing = [number for number in expected if number not in counted]
    extra = sorted(set(got) - wanted)
    twice = sorted(number for number, times in counted.items() if times > 1)
    if missing:
        return f"segments {_listed(missing)} are missing: do not merge segments"
    if extra:
        return f"there are no segments {_listed(extra)}: do not add any"
    if twice:
        return f"segments {_listed(twice)} came more than once: do not split segments"
    return "the segments are not in their order: keep it"


def check_correction(said: str, given: str, language: str | None) -> str | None:
    """Why `given` is not `said` with its mistakes corrected; None when it is."""
    meant = strip_fillers(said, language)
    given = clean_line(given)
    if not given:
        return None if not meant else "was emptied, though it says something"
    if _NUMBERS.findall(said) != _NUMBERS.findall(given):
        return "has other numbers than were said"
    length = max(len(meant), 1)
    if len(given) > max(length, len(said)) * _LONGER + _ROOM:
        return "is much longer than what was said"
    if len(given) < length * _SHORTER - _ROOM:
        return "leaves out much of what was said"
    spoken, now = language_of(meant), language_of(given)
    if spoken and now and spoken != now:
        return "is in another language than what was said"
    if _alike(meant or said, given) < _ALIKE:
        return "has too few words in common with what was said"
    return None


def clean_line(text: str) -> str:
    """What may be kept of a text from outside: one line, no control characters."""
    return " ".join(_UNWRITTEN.sub(" ", text).split())


def _alike(said: str, given: str) -> float:
    """From 0 to 1: the words that stayed, in their order, or the pairs of letters where a word was misheard."""
    one, other = words_in(said), words_in(given)
    if not one or not other:
        return 1.0 if not one and not other else 0.0
    letters = _shared(_pairs("".join(one)), _pairs("".join(other)))
    if IDEOGRAPH.search(said):
        return letters
    if max(len(one), len(other)) > _ORDERED:
        return _shared(Counter(one), Counter(other))
    words = SequenceMatcher(None, one, other, autojunk=False).ratio()
    short = max(len(one), len(other)) <= 4  # one misheard word is half of it
    return max(words, letters) if short else max(words, letters - 0.25)


def _pairs(letters: str) -> Counter[str]:
    return Counter(letters[at : at + 2] for at in range(max(len(letters) - 1, 1)))


def _shared(one: Counter[str], other: Counter[str]) -> float:
    return 2 * (one & other).total() / max(one.total() + other.total(), 1)


def _listed(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:10]))
    return shown + (" …" if len(numbers) > 10 else "")
