"""When each word of a transcript's text is said, also where the text was corrected."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from chyme.model import Segment

_WORD = re.compile(r"\S+")


class TimedWord(NamedTuple):
    """Some letters of a segment's text, and when they are said."""

    first: int  # characters into the text
    last: int  # behind the last one
    start: float
    end: float


def timed_words(segment: Segment) -> list[TimedWord]:
    """The words of the text in order. Where they are not those heard, the heard ones' times are stretched over them."""
    letters = [at for at, letter in enumerate(segment.text) if not letter.isspace()]
    heard = [("".join(word.word.split()), word.start, word.end) for word in segment.words]
    heard = [word for word in heard if word[0]]
    if not letters or not heard:
        return []
    if "".join(word for word, _, _ in heard) == "".join(segment.text[at] for at in letters):
        words, passed = [], 0
        for text, start, end in heard:
            words.append(TimedWord(letters[passed], letters[passed + len(text) - 1] + 1, start, end))
            passed += len(text)
        return words
    stretch = sum(len(word) for word, _, _ in heard) / len(letters)
    words, passed = [], 0
    for found in _WORD.finditer(segment.text):
        first, passed = passed, passed + len(found[0])
        words.append(
            TimedWord(found.start(), found.end(), _when(heard, first * stretch), _when(heard, passed * stretch))
        )
    return words


def _when(heard: Sequence[tuple[str, float, float]], letters: float) -> float:
    """The second at which so many letters have been said."""
    passed = 0
    for text, start, end in heard:
        if letters < passed + len(text):
            return start + (end - start) * max(letters - passed, 0.0) / len(text)
        passed += len(text)
    return heard[-1][2]
