"""Find words that were lost at the end of a sound that stops in the middle of a sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from chyme.speech.recognition.hallucination_filter import WhisperWord

TAIL_FRAMES = 300  # frames at the end that are listened to again: with less before it, a last word is understood better
_LAST_FRAMES = 8
_CUT_OFF = 0.3  # below the usual loudness, in the model's units: about 12 dB
_ANCHOR = 2  # words that both hearings must share before the lost ones
_MOST_LOST = 4
_SURE = 0.3  # probability of a word that may be added
_ENDS = tuple(".!?…。！？")
_CLOSING = "\"'”»’) "
_LETTERS = re.compile(r"[\W_]+")


def may_have_lost_words(text: str, features: Any) -> bool:
    """Whether a sentence is left open and the sound stops while somebody speaks. `features`: the sound, by frames."""
    if not text or text.rstrip(_CLOSING).endswith(_ENDS) or features.shape[-1] <= TAIL_FRAMES:
        return False
    import numpy

    loudness = features.max(axis=0)
    return bool(numpy.mean(loudness[-_LAST_FRAMES:]) > numpy.median(loudness) - _CUT_OFF)


def lost_words(first: Sequence[WhisperWord], again: Sequence[WhisperWord], shift: float) -> tuple[WhisperWord, ...]:
    """The words after the last of the first hearing, by a second hearing of the end, which begins at `shift` seconds.

    None unless both agree on the words before.
    """
    anchor = [_normalise(word.text) for word in first[-_ANCHOR:]]
    heard = [_normalise(word.text) for word in again]
    if len(anchor) < _ANCHOR or not all(anchor):
        return ()
    for position in range(len(heard) - _ANCHOR, -1, -1):
        if heard[position : position + _ANCHOR] == anchor:
            added = again[position + _ANCHOR :]
            break
    else:
        return ()
    if not 1 <= len(added) <= _MOST_LOST or any(word.probability < _SURE for word in added):
        return ()
    end = first[-1].end
    moved = []
    for word in added:
        start = max(end, word.start + shift)
        end = max(start, word.end + shift)
        moved.append(replace(word, start=start, end=end))
    return tuple(moved)


def _normalise(text: str) -> str:
    return _LETTERS.sub("", text).casefold()
