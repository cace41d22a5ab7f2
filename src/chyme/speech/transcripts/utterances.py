"""From words one after the other to segments that people can read: a sentence each, or a part of a long one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chyme.model import Segment, Word

LONGEST, LETTERS = 15.0, 200  # seconds and characters of a segment
PAUSE = 1.0  # seconds of silence that always end one
SHORTEST = 0.05  # seconds: what is shorter is no segment of its own
_ENDS = tuple(".?!…。？！؟۔।")
_BREAKS = tuple(",;:–—，、；：،")
_CLOSING = "\"'”’»)]」』"
_ABBREVIATED = "mr mrs ms dr prof st sr jr vs vol dept capt lt sgt messrs mme mlle hr fr bzw ca dipl hl sra srta dott"
_ABBREVIATIONS = frozenset(_ABBREVIATED.split()) | {"e.g", "i.e", "z.b", "d.h", "u.a"}


@dataclass(frozen=True, slots=True)
class SpokenWord:
    """A word, and whether a blank stands before it in the text."""

    word: Word
    blank: bool = True


def utterances(said: Sequence[SpokenWord]) -> list[Segment]:
    """Segments in order: none overlaps another, each lasts some time, together they hold all words."""
    runs: list[list[SpokenWord]] = [[]]
    for at, one in enumerate(said):
        runs[-1].append(one)
        if at + 1 < len(said) and _over(one.word, said[at + 1].word):
            runs.append([])
    parts = [part for run in runs if run for part in _parts(run)]
    return [_segment(part) for part in _lasting(parts)]


def _over(word: Word, following: Word) -> bool:
    """Whether a sentence ends between two words, or somebody paused."""
    if following.start - word.end >= PAUSE:
        return True
    bare = word.word.rstrip(_CLOSING)
    if not bare.endswith(_ENDS) or following.word[:1].islower():
        return False
    core = bare.rstrip(".").lower()
    initial = len(core) == 1 and core.isalpha() and core not in "iay"
    return not (bare.endswith(".") and (core in _ABBREVIATIONS or initial))


def _parts(run: list[SpokenWord]) -> list[list[SpokenWord]]:
    """A sentence, cut where it is too long: behind a comma or in a pause, and rather in the middle."""
    if len(run) < 2 or (run[-1].word.end - run[0].word.start <= LONGEST and len(_text(run)) <= LETTERS):
        return [run]
    at = max(range(1, len(run)), key=lambda cut: _fitness(run, cut))
    return [*_parts(run[:at]), *_parts(run[at:])]


def _fitness(run: list[SpokenWord], cut: int) -> float:
    before, after = run[cut - 1].word, run[cut].word
    comma = 1.0 if before.word.rstrip(_CLOSING).endswith(_BREAKS) else 0.0
    return comma + min(max(after.start - before.end, 0.0), 1.0) - 2.0 * abs(cut / len(run) - 0.5)


def _lasting(parts: list[list[SpokenWord]]) -> list[list[SpokenWord]]:
    """What takes no time goes with what came before it, or with what follows."""
    kept: list[list[SpokenWord]] = []
    for part in parts:
        if kept and (_short(part) or _short(kept[-1])):
            kept[-1] = [*kept[-1], *part]
        else:
            kept.append(part)
    return kept


def _short(part: list[SpokenWord]) -> bool:
    return part[-1].word.end - part[0].word.start < SHORTEST


def _segment(part: list[SpokenWord]) -> Segment:
    words = tuple(one.word for one in part)
    start, end = words[0].start, words[-1].end
    if end - start < SHORTEST:  # only when nothing else was said in the whole file
        start, end = max(0.0, end - SHORTEST), max(end, SHORTEST)
    return Segment(start, end, _text(part), None, words)


def _text(part: list[SpokenWord]) -> str:
    return "".join((" " if one.blank and at else "") + one.word.word for at, one in enumerate(part))
