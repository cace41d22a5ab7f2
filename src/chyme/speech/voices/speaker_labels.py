"""Assign the turns of the speakers to the segments of a transcript."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, groupby

from chyme.model import Segment, Turn, Word

MAX_DISTANCE = 1.5  # seconds: a word outside all turns belongs to the nearest one, unless that is further away
MAX_STRAY_SECONDS = 0.6  # seconds: a single word this short amid another's words belongs to the other
SHIFT_WORDS, SHIFT_SECONDS = 2, 0.8  # a change of speakers moves at most this far, to the end of a sentence
_ENDS = tuple(".?!…。？！؟।")
_CLOSING = "\"'”’»)]」』"
_OPENING = {"Ps", "Pi"}  # brackets and quotation marks that belong to the following word


def label_segments(segments: Sequence[Segment], turns: Sequence[Turn]) -> tuple[Segment, ...]:
    """Return the segments with their speakers, split where the speaker changes. The text stays exactly the same."""
    if not turns:
        return tuple(segments)
    index = _TurnIndex(turns)
    return tuple(part for segment in segments for part in _split_segment(segment, index))


class _TurnIndex:
    """Quickly finds the speaker at a given time, among many turns."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._turns = sorted(turns, key=lambda turn: (turn.start, turn.end))
        self._latest_ends = list(accumulate((turn.end for turn in self._turns), max))  # latest end of all turns so far

    def speaker(self, start: float, end: float) -> str | None:
        """The one who speaks most of this time, or nearest to it; None when that is too far away."""
        first = bisect_right(self._latest_ends, start)
        seconds: dict[str, float] = {}
        index = first
        while index < len(self._turns) and self._turns[index].start < end:
            turn = self._turns[index]
            overlap = min(end, turn.end) - max(start, turn.start)
            if overlap > 0:
                seconds[turn.speaker] = seconds.get(turn.speaker, 0.0) + overlap
            index += 1
        if seconds:
            return max(seconds, key=seconds.__getitem__)
        nearby = self._turns[max(0, first - 1) : index + 1]
        gap, speaker = min((max(turn.start - end, start - turn.end, 0.0), turn.speaker) for turn in nearby)
        return speaker if gap <= MAX_DISTANCE else None


def _split_segment(segment: Segment, index: _TurnIndex) -> Iterator[Segment]:
    words = segment.words
    speakers = _smooth_speakers(words, [index.speaker(word.start, word.end) for word in words])
    positions = _word_positions(segment.text, words)
    if len(set(speakers)) < 2 or positions is None:
        only_speaker = speakers[0] if len(set(speakers)) == 1 else None
        yield replace(segment, speaker=only_speaker or index.speaker(segment.start, segment.end))
        return
    runs = list(_speaker_runs(speakers))
    cuts = [0, *(_cut_position(segment.text, positions[first - 1][1], positions[first][0]) for first, _ in runs[1:])]
    previous_end = segment.start
    for number, (first, after) in enumerate(runs):
        is_last = number == len(runs) - 1
        start = segment.start if number == 0 else min(max(previous_end, words[first].start), segment.end)
        previous_end = segment.end if is_last else min(max(start, words[after - 1].end), segment.end)
        text = segment.text[cuts[number] : None if is_last else cuts[number + 1]]
        text = text if is_last else text.rstrip()
        yield Segment(start, previous_end, text, speakers[first], words[first:after])


def _smooth_speakers(words: Sequence[Word], detected: Sequence[str | None]) -> list[str | None]:
    """The speaker of each word, without the errors of a method that works in steps of a second."""
    speakers = list(detected)
    for index, speaker in enumerate(speakers):
        if speaker is None and index:
            speakers[index] = speakers[index - 1]
    for index in range(len(speakers) - 2, -1, -1):
        if speakers[index] is None:
            speakers[index] = speakers[index + 1]
    for first, after in list(_speaker_runs(speakers))[1:-1]:
        is_stray = after - first == 1 and words[first].end - words[first].start <= MAX_STRAY_SECONDS
        if is_stray and speakers[first - 1] == speakers[after]:
            speakers[first] = speakers[after]
    for first, _ in list(_speaker_runs(speakers))[1:]:
        _shift_change(words, speakers, first)
    return speakers


def _shift_change(words: Sequence[Word], speakers: list[str | None], change: int) -> None:
    """Move a change of speakers to the nearest end of a sentence, if one is close."""
    before, after = speakers[change - 1], speakers[change]
    nearby = range(max(0, change - SHIFT_WORDS), min(len(words), change + SHIFT_WORDS) + 1)
    ends = [
        index
        for index in nearby
        if _sentence_ends(words, index) and _seconds_between(words, change, index) <= SHIFT_SECONDS
    ]
    for index in sorted(ends, key=lambda index: (abs(index - change), -index)):
        moved = speakers[min(index, change) : max(index, change)]
        if all(speaker == (before if index < change else after) for speaker in moved):
            speakers[min(index, change) : max(index, change)] = [after if index < change else before] * len(moved)
            return


def _sentence_ends(words: Sequence[Word], index: int) -> bool:
    return index in (0, len(words)) or words[index - 1].word.rstrip(_CLOSING).endswith(_ENDS)


def _seconds_between(words: Sequence[Word], start: int, end: int) -> float:
    """Seconds of the words between two indices."""
    first, last = min(start, end), max(start, end)
    return words[last - 1].end - words[first].start if last > first else 0.0


def _speaker_runs(speakers: Sequence[str | None]) -> Iterator[tuple[int, int]]:
    """Yield runs of one speaker as index of the first word and index after the last."""
    first = 0
    for _, group in groupby(speakers):
        after = first + sum(1 for _ in group)
        yield first, after
        first = after


def _word_positions(text: str, words: Sequence[Word]) -> list[tuple[int, int]] | None:
    """Where each word is in the text; None when they do not all occur in this order."""
    positions, end = [], 0
    for word in words:
        start = text.find(word.word, end)
        if start < 0:
            return None
        end = start + len(word.word)
        positions.append((start, end))
    return positions


def _cut_position(text: str, after: int, before: int) -> int:
    """Where to cut between two words: after the space, before an opening bracket, or directly at the next word."""
    for index in range(before, after, -1):
        if text[index - 1].isspace():
            return index
    while before > after and unicodedata.category(text[before - 1]) in _OPENING:
        before -= 1
    return before
