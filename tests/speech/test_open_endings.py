"""Words that were lost at the end of a sound are taken from a second hearing, if both agree on what comes before."""

from __future__ import annotations

import numpy
import pytest

from chyme.speech.recognition.hallucination_filter import WhisperWord
from chyme.speech.recognition.open_endings import TAIL_FRAMES, lost_words, may_have_lost_words

FRAMES = TAIL_FRAMES + 200
LOUD = numpy.full((80, FRAMES), 0.8, numpy.float32)


def words(text: str, start: float = 0.0, probability: float = 0.9) -> tuple[WhisperWord, ...]:
    return tuple(
        WhisperWord(f" {word}", start + at * 0.5, start + at * 0.5 + 0.4, probability)
        for at, word in enumerate(text.split())
    )


def test_only_a_sentence_that_is_cut_off_while_somebody_speaks_may_have_lost_words() -> None:
    quiet_end = LOUD.copy()
    quiet_end[:, -30:] = 0.1
    assert may_have_lost_words("ask not what", LOUD)
    assert not may_have_lost_words("ask not what", quiet_end)
    assert not may_have_lost_words("Ask not.", LOUD)
    assert not may_have_lost_words("“Ask not!”", LOUD)
    assert not may_have_lost_words("", LOUD)
    assert not may_have_lost_words("ask not what", LOUD[:, :TAIL_FRAMES])


def test_words_after_those_that_both_hearings_share_are_added_at_their_time() -> None:
    added = lost_words(words("and so ask not what", 1.0), words("ask not What, your country"), shift=2.0)
    assert [word.text for word in added] == [" your", " country"]
    assert [word.start for word in added] == pytest.approx([3.5, 4.0])
    assert [word.end for word in added] == pytest.approx([3.9, 4.4])


def test_added_words_never_begin_before_the_last_word_ends() -> None:
    first = words("ask not what", 10.0)
    (added,) = lost_words(first, words("not what your"), shift=0.0)
    assert first[-1].end <= added.start <= added.end


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ("ask not what", "ask not what"),
        ("ask not what", "tell me your name"),
        ("ask not what", "what your country"),
        ("what", "what your"),
        ("ask not what", "ask not what you can do for your country"),
        ("ask not what", ""),
    ],
)
def test_nothing_is_added_where_the_hearings_do_not_agree(first: str, again: str) -> None:
    assert lost_words(words(first), words(again), 0.0) == ()


def test_words_that_are_not_sure_are_not_added() -> None:
    assert lost_words(words("ask not what"), words("not what your", probability=0.2), 0.0) == ()
