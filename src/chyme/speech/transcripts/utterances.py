"""Split a sequence of words into readable segments: one sentence each, or a part of a long one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chyme.model import Segment, Word

LONGEST, LETTERS = 15.0, 200  # maximum seconds and characters of a segment
PAUSE = 1.0  # seconds of silence that always end a segment
SHORTEST = 0.05  # seconds; anything shorter is not a separate segment
_ENDS = tuple(".?!…。？！؟۔।")
_BREAKS = tuple(",;:–—，、；：،")
_CLOSING = "\"'”’»)]」』"
_ABBREVIATED = "mr mrs ms dr prof st sr jr vs vol dept capt lt sgt messrs mme mlle hr fr bzw ca dipl hl sra srta dott"
_ABBREVIATIONS = frozenset(_ABBREVIATED.split()) | {"e.g", "i.e", "z.b", "d.h", "u.a"}


@dataclass(frozen=True, slots=True)
class SpokenWord:
    """A word, and whether a space precedes it in the text."""

    word: Word
    space_before: bool = True


def utterances(words: Sequence[SpokenWord]) -> list[Segment]:
    """Segments in order: none overlaps another, each has a minimum duration, and together they contain all words."""
    runs: list[list[SpokenWord]] = [[]]
    for index, word in enumerate(words):
        runs[-1].append(word)
        if index + 1 < len(words) and _is_boundary(word.word, words[index + 1].word):
            runs.append([])
    parts = [part for run in runs if run for part in _split_sentence(run)]
    return [_make_segment(part) for part in _merge_short(parts)]


def _is_boundary(word: Word, following: Word) -> bool:
    """Whether a sentence ends between two words, or there is a pause."""
    if following.start - word.end >= PAUSE:
        return True
    bare = word.word.rstrip(_CLOSING)
    if not bare.endswith(_ENDS) or following.word[:1].islower():
        return False
    core = bare.rstrip(".").lower()
    initial = len(core) == 1 and core.isalpha() and core not in "iay"
    return not (bare.endswith(".") and (core in _ABBREVIATIONS or initial))


def _split_sentence(run: list[SpokenWord]) -> list[list[SpokenWord]]:
    """Cut a sentence that is too long: after a comma or at a pause, preferably in the middle."""
    if len(run) < 2 or (run[-1].word.end - run[0].word.start <= LONGEST and len(_join_words(run)) <= LETTERS):
        return [run]
    best_cut = max(range(1, len(run)), key=lambda cut: _cut_score(run, cut))
    return [*_split_sentence(run[:best_cut]), *_split_sentence(run[best_cut:])]


def _cut_score(run: list[SpokenWord], cut: int) -> float:
    before, after = run[cut - 1].word, run[cut].word
    comma = 1.0 if before.word.rstrip(_CLOSING).endswith(_BREAKS) else 0.0
    return comma + min(max(after.start - before.end, 0.0), 1.0) - 2.0 * abs(cut / len(run) - 0.5)


def _merge_short(parts: list[list[SpokenWord]]) -> list[list[SpokenWord]]:
    """Merge parts that take no time with the part before or after them."""
    merged: list[list[SpokenWord]] = []
    for part in parts:
        if merged and (_is_short(part) or _is_short(merged[-1])):
            merged[-1] = [*merged[-1], *part]
        else:
            merged.append(part)
    return merged


def _is_short(part: list[SpokenWord]) -> bool:
    return part[-1].word.end - part[0].word.start < SHORTEST


def _make_segment(part: list[SpokenWord]) -> Segment:
    words = tuple(spoken.word for spoken in part)
    start, end = words[0].start, words[-1].end
    if end - start < SHORTEST:  # only when nothing else is said in the whole file
        start, end = max(0.0, end - SHORTEST), max(end, SHORTEST)
    return Segment(start, end, _join_words(part), None, words)


def _join_words(part: list[SpokenWord]) -> str:
    return "".join(
        (" " if spoken.space_before and index else "") + spoken.word.word for index, spoken in enumerate(part)
    )
