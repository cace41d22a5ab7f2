"""Telling the speakers of one file apart by how its windows sound. Nobody says how many there are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chyme.model import Turn, Voice
from chyme.speech.voices.linkage import cluster_vectors
from chyme.speech.voices.window import Window

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]
    Numbers = NDArray[numpy.int64]

LONG = 1.0  # shorter windows sound like nobody in particular: they are given to somebody, and found no speaker
TOUCHING = 0.05  # windows further apart than this belong to different stretches of speech


@dataclass(frozen=True, slots=True)
class Rules:
    """When voices are two. The likenesses are cosines and belong to the model: other vectors need other rules."""

    alike: float = 0.40  # groups of windows less alike than this, on average over all pairs, are not joined
    same: float = 0.65  # two groups whose means are this alike are one person after all
    least_seconds: float = 2.0  # whoever speaks less than this in all is noise, laughter or two people at once …
    least_part: float = 0.002  # … and in a long file whoever speaks less than this part of it
    sure_at_once: float = 3.3  # seconds: this much in one go …
    sure_seconds: float = 8.0  # … or this much in all …
    sure_part: float = 0.05  # … if it is this part of the file, makes a speaker
    unsure: float = 0.35  # whoever speaks less must be less like the others than this: a change sounds like both sides
    change: float = 0.10  # how much better another speaker must fit, for speakers change seldom


def separate_speakers(windows: Sequence[Window], rules: Rules | None = None) -> list[Turn]:
    """Who speaks when, in order: speaker-1, speaker-2 … as they appear. No turns overlap."""
    rules = rules or Rules()
    heard = sorted(filter(_sound, windows), key=lambda one: one.start)
    if not heard:
        return []
    vectors = _unit(_matrix(heard))
    speaker = _smoothed(heard, vectors @ _speakers(heard, vectors, rules).T, rules.change)
    return list(_turns(heard, speaker.tolist()))


def voices_of(windows: Sequence[Window], turns: Sequence[Turn], model: str) -> tuple[Voice, ...]:
    """How each speaker sounds: the mean of the windows that lie within their turns; and how long they spoke."""
    seconds: dict[str, float] = {}
    for turn in turns:
        seconds[turn.speaker] = seconds.get(turn.speaker, 0.0) + turn.end - turn.start
    heard: dict[str, list[tuple[float, Window]]] = {}
    for part, speaker, window in _shares([one for one in windows if _sound(one)], turns):
        heard.setdefault(speaker, []).append((part, window))
    return tuple(
        Voice(speaker, spoken, model, _mean(heard[speaker])) for speaker, spoken in seconds.items() if speaker in heard
    )


def _speakers(heard: Sequence[Window], vectors: Floats, rules: Rules) -> Floats:
    """One vector of length 1 for each speaker there is."""
    import numpy

    long = numpy.array([one.end - one.start >= LONG for one in heard])
    chosen = numpy.flatnonzero(long if long.any() else ~long)
    group = cluster_vectors(vectors[chosen], rules.alike)
    means, spoken, at_once = _groups([heard[at] for at in chosen.tolist()], vectors[chosen], group)
    total = float(spoken.sum())
    least = max(rules.least_seconds, rules.least_part * total)
    enough = max(rules.sure_seconds, rules.sure_part * total)
    found: list[int] = []
    for one in numpy.argsort(-spoken, kind="stable").tolist():
        sure = at_once[one] >= rules.sure_at_once or spoken[one] >= enough
        alike = float((means[found] @ means[one]).max(initial=-1.0))
        if not found or (spoken[one] >= least and alike < (rules.same if sure else rules.unsure)):
            found.append(one)
    return means[found]


def _groups(heard: Sequence[Window], vectors: Floats, group: Numbers) -> tuple[Floats, Floats, Floats]:
    """Of each group its mean, the seconds spoken, and the most spoken at once."""
    import numpy

    count = int(group.max()) + 1
    spoken, at_once = numpy.zeros(count, numpy.float32), numpy.zeros(count, numpy.float32)
    before, since = -1, 0.0
    for at, (own, one) in enumerate(zip(_own_seconds(heard), group.tolist(), strict=True)):
        spoken[one] += own
        if one != before or _apart(heard, at):
            since = heard[at].start
        before = one
        at_once[one] = max(at_once[one], heard[at].end - since)
    means = numpy.zeros((count, vectors.shape[1]), numpy.float32)
    numpy.add.at(means, group, vectors)
    return _unit(means), spoken, at_once


def _own_seconds(heard: Sequence[Window]) -> Iterator[float]:
    """How much of each window is not in the one before."""
    before = float("-inf")
    for one in heard:
        yield max(0.0, one.end - max(one.start, before))
        before = max(before, one.end)


def _smoothed(heard: Sequence[Window], fits: Floats, change: float) -> Numbers:
    """The speaker of each window on the best path through all of them, where every change costs something."""
    import numpy

    count = len(heard)
    came_from = numpy.zeros(fits.shape, numpy.int64)
    total = fits[0].astype(numpy.float64)
    stay = numpy.arange(fits.shape[1])
    for at in range(1, count):
        best = int(total.argmax())
        cost = change / 2 if _apart(heard, at) else change
        changes = total[best] - cost > total
        came_from[at] = numpy.where(changes, best, stay)
        total = numpy.where(changes, total[best] - cost, total) + fits[at]
    speaker = numpy.zeros(count, numpy.int64)
    speaker[-1] = total.argmax()
    for at in range(count - 1, 0, -1):
        speaker[at - 1] = came_from[at, speaker[at]]
    return speaker


def _turns(heard: Sequence[Window], speakers: Sequence[int]) -> Iterator[Turn]:
    """A window speaks for the time around its middle; neighbours of one speaker are one turn."""
    names: dict[int, str] = {}
    start, name = heard[0].start, ""
    end = start
    for at, (one, speaker) in enumerate(zip(heard, speakers, strict=True)):
        label = names.setdefault(speaker, f"speaker-{len(names) + 1}")
        apart = at > 0 and _apart(heard, at)
        if name and (label != name or apart):
            if end > start:
                yield Turn(start, end, name)
            start = max(end, one.start) if apart else end
        name = label
        last = at == len(heard) - 1 or _apart(heard, at + 1)
        end = max(end, one.end if last else _middle(one, heard[at + 1]))
    if end > start:
        yield Turn(start, end, name)


def _sound(window: Window) -> bool:
    """Whether it says anything: it has a length, and a vector that points somewhere."""
    return window.end > window.start and any(window.vector) and math.isfinite(sum(window.vector))


def _apart(heard: Sequence[Window], at: int) -> bool:
    return heard[at].start - heard[at - 1].end > TOUCHING


def _middle(one: Window, other: Window) -> float:
    return (one.start + one.end + other.start + other.end) / 4


def _shares(windows: Sequence[Window], turns: Sequence[Turn]) -> Iterator[tuple[float, str, Window]]:
    """Each window with the speaker of most of it, and how much of it is theirs."""
    ordered = sorted(turns, key=lambda turn: turn.start)
    first = 0
    for window in sorted(windows, key=lambda one: one.start):
        while first < len(ordered) and ordered[first].end <= window.start:
            first += 1
        own: dict[str, float] = {}
        for turn in ordered[first:]:
            if turn.start >= window.end:
                break
            shared = min(turn.end, window.end) - max(turn.start, window.start)
            own[turn.speaker] = own.get(turn.speaker, 0.0) + shared
        if own:
            speaker = max(own, key=own.__getitem__)
            yield own[speaker] / (window.end - window.start), speaker, window


def _mean(heard: Sequence[tuple[float, Window]]) -> tuple[float, ...]:
    """Over clean windows: long ones that hold nobody else; over whatever there is, if none is."""
    clean = [one for part, one in heard if part > 0.99 and one.end - one.start >= LONG]
    vectors = _unit(_matrix(clean or [one for _, one in heard]))
    return tuple(_unit(vectors.mean(axis=0, keepdims=True))[0].tolist())


def _matrix(windows: Sequence[Window]) -> Floats:
    import numpy

    matrix = numpy.empty((len(windows), len(windows[0].vector)), numpy.float32)
    for at, one in enumerate(windows):
        matrix[at] = one.vector
    return matrix


def _unit(vectors: Floats) -> Floats:
    import numpy

    length = numpy.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Floats = vectors / numpy.maximum(length, 1e-9)
    return scaled
