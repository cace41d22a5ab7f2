"""When each word of a transcript's text is spoken."""

from __future__ import annotations

from itertools import pairwise

import pytest

from chyme.model import Segment, Word
from chyme.speech.transcripts.word_timestamps import TimedWord, timed_words


def words_of(*words: str) -> tuple[Word, ...]:
    """A second for each word."""
    return tuple(Word(word, float(at), at + 1.0, 1.0) for at, word in enumerate(words))


def test_words_that_stand_in_the_text_have_their_own_times() -> None:
    segment = Segment(0, 3, " Good old  morning.", words=words_of("Good", "old", "morning."))
    assert timed_words(segment) == [TimedWord(1, 5, 0, 1), TimedWord(6, 9, 1, 2), TimedWord(11, 19, 2, 3)]


def test_signs_without_blanks_are_words_as_they_were_recognised() -> None:
    assert timed_words(Segment(0, 2, "早安。", words=words_of("早", "安。"))) == [
        TimedWord(0, 1, 0, 1),
        TimedWord(1, 3, 1, 2),
    ]


def test_a_corrected_text_takes_the_times_over_in_order() -> None:
    words = timed_words(Segment(0, 4, "Good morning Ada", words=words_of("um", "good", "morning", "Ada")))
    assert [segment[:2] for segment in words] == [(0, 4), (5, 12), (13, 16)]
    assert words[0].start == 0 and words[-1].end == 4
    assert all(word.start <= word.end <= after.start + 1e-9 for word, after in pairwise(words))


@pytest.mark.parametrize("segment", [Segment(0, 1, "", words=words_of("a")), Segment(0, 1, "a"), Segment(0, 1, "  ")])
def test_without_words_there_are_no_times(segment: Segment) -> None:
    assert timed_words(segment) == []
