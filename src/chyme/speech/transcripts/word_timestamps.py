"""When each word of a transcript's text is said, even where the text was corrected."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from chyme.model import Segment

_WORD = re.compile(r"\S+")


class TimedWord(NamedTuple):
    """Some characters of a segment's text, and when they are said."""

    first: int  # index of the first character
    last: int  # index after the last character
    start: float
    end: float


def timed_words(segment: Segment) -> list[TimedWord]:
    """The words of the text in order. Where they differ from the recognised ones, the latter's times are stretched."""
    positions = [index for index, letter in enumerate(segment.text) if not letter.isspace()]
    recognised = [("".join(word.word.split()), word.start, word.end) for word in segment.words]
    recognised = [word for word in recognised if word[0]]
    if not positions or not recognised:
        return []
    if "".join(word for word, _, _ in recognised) == "".join(segment.text[index] for index in positions):
        words, passed = [], 0
        for text, start, end in recognised:
            words.append(TimedWord(positions[passed], positions[passed + len(text) - 1] + 1, start, end))
            passed += len(text)
        return words
    stretch = sum(len(word) for word, _, _ in recognised) / len(positions)
    words, passed = [], 0
    for match in _WORD.finditer(segment.text):
        first, passed = passed, passed + len(match[0])
        words.append(
            TimedWord(
                match.start(),
                match.end(),
                _second_at(recognised, first * stretch),
                _second_at(recognised, passed * stretch),
            )
        )
    return words


def _second_at(recognised: Sequence[tuple[str, float, float]], letters: float) -> float:
    """The second at which so many letters have been said."""
    passed = 0
    for text, start, end in recognised:
        if letters < passed + len(text):
            return start + (end - start) * max(letters - passed, 0.0) / len(text)
        passed += len(text)
    return recognised[-1][2]
