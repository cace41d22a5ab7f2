"""Who said which words: the turns of the speakers laid over the segments of a transcript."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, groupby

from chyme.model import Segment, Turn, Word

NEAR = 1.5  # seconds: a word in no turn belongs to the nearest one, unless that is further away than this
SHORT = 0.6  # seconds: one word this short amid another's words is the other's
SHIFT_WORDS, SHIFT_SECONDS = 2, 0.8  # a change of speakers moves this far at most, to the end of a sentence
_ENDS = tuple(".?!…。？！؟।")
_CLOSING = "\"'”’»)]」』"
_OPENING = {"Ps", "Pi"}  # brackets and quotation marks that belong to what follows


def label_segments(segments: Sequence[Segment], turns: Sequence[Turn]) -> tuple[Segment, ...]:
    """The segments with their speakers, split where the speaker changes. Not one letter of the text changes."""
    if not turns:
        return tuple(segments)
    spoken = _Turns(turns)
    return tuple(part for segment in segments for part in _parts(segment, spoken))


class _Turns:
    """Finds who speaks at some time, among many turns, quickly."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._turns = sorted(turns, key=lambda turn: (turn.start, turn.end))
        self._over = list(accumulate((turn.end for turn in self._turns), max))  # from here on all before are over

    def speaker(self, start: float, end: float) -> str | None:
        """Who speaks most of this time; else who speaks nearest to it; None when that is far away."""
        first = bisect_right(self._over, start)
        seconds: dict[str, float] = {}
        at = first
        while at < len(self._turns) and self._turns[at].start < end:
            turn = self._turns[at]
            shared = min(end, turn.end) - max(start, turn.start)
            if shared > 0:
                seconds[turn.speaker] = seconds.get(turn.speaker, 0.0) + shared
            at += 1
        if seconds:
            return max(seconds, key=seconds.__getitem__)
        near = self._turns[max(0, first - 1) : at + 1]
        gap, speaker = min((max(turn.start - end, start - turn.end, 0.0), turn.speaker) for turn in near)
        return speaker if gap <= NEAR else None


def _parts(segment: Segment, spoken: _Turns) -> Iterator[Segment]:
    words = segment.words
    speakers = _settled(words, [spoken.speaker(word.start, word.end) for word in words])
    places = _places(segment.text, words)
    if len(set(speakers)) < 2 or places is None:
        known = speakers[0] if len(set(speakers)) == 1 else None
        yield replace(segment, speaker=known or spoken.speaker(segment.start, segment.end))
        return
    runs = list(_runs(speakers))
    cuts = [0, *(_cut(segment.text, places[first - 1][1], places[first][0]) for first, _ in runs[1:])]
    over = segment.start
    for number, (first, after) in enumerate(runs):
        last = number == len(runs) - 1
        start = segment.start if number == 0 else min(max(over, words[first].start), segment.end)
        over = segment.end if last else min(max(start, words[after - 1].end), segment.end)
        text = segment.text[cuts[number] : None if last else cuts[number + 1]]
        text = text if last else text.rstrip()
        yield Segment(start, over, text, speakers[first], words[first:after])


def _settled(words: Sequence[Word], heard: Sequence[str | None]) -> list[str | None]:
    """The speaker of each word, without the slips of a method that hears a second at a time."""
    speakers = list(heard)
    for at, speaker in enumerate(speakers):
        if speaker is None and at:
            speakers[at] = speakers[at - 1]
    for at in range(len(speakers) - 2, -1, -1):
        if speakers[at] is None:
            speakers[at] = speakers[at + 1]
    for first, after in list(_runs(speakers))[1:-1]:
        island = after - first == 1 and words[first].end - words[first].start <= SHORT
        if island and speakers[first - 1] == speakers[after]:
            speakers[first] = speakers[after]
    for first, _ in list(_runs(speakers))[1:]:
        _shift(words, speakers, first)
    return speakers


def _shift(words: Sequence[Word], speakers: list[str | None], change: int) -> None:
    """Moves a change of speakers to the nearest end of a sentence, where one is close."""
    before, after = speakers[change - 1], speakers[change]
    nearby = range(max(0, change - SHIFT_WORDS), min(len(words), change + SHIFT_WORDS) + 1)
    ends = [at for at in nearby if _sentence_ends(words, at) and _between(words, change, at) <= SHIFT_SECONDS]
    for at in sorted(ends, key=lambda at: (abs(at - change), -at)):
        moved = speakers[min(at, change) : max(at, change)]
        if all(one == (before if at < change else after) for one in moved):
            speakers[min(at, change) : max(at, change)] = [after if at < change else before] * len(moved)
            return


def _sentence_ends(words: Sequence[Word], at: int) -> bool:
    return at in (0, len(words)) or words[at - 1].word.rstrip(_CLOSING).endswith(_ENDS)


def _between(words: Sequence[Word], one: int, other: int) -> float:
    """Seconds of the words from one index up to another."""
    first, last = min(one, other), max(one, other)
    return words[last - 1].end - words[first].start if last > first else 0.0


def _runs(speakers: Sequence[str | None]) -> Iterator[tuple[int, int]]:
    """Neighbours of one speaker, as index of the first and index after the last."""
    first = 0
    for _, group in groupby(speakers):
        after = first + sum(1 for _ in group)
        yield first, after
        first = after


def _places(text: str, words: Sequence[Word]) -> list[tuple[int, int]] | None:
    """Where each word stands in the text; None when they are not all there in this order."""
    places, at = [], 0
    for word in words:
        start = text.find(word.word, at)
        if start < 0:
            return None
        at = start + len(word.word)
        places.append((start, at))
    return places


def _cut(text: str, after: int, before: int) -> int:
    """Where to cut between two words: behind the blank, or before an opening bracket, or right at the next word."""
    for at in range(before, after, -1):
        if text[at - 1].isspace():
            return at
    while before > after and unicodedata.category(text[before - 1]) in _OPENING:
        before -= 1
    return before
