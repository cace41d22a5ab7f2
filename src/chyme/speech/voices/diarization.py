"""Separate the speakers of one file by the sound of its windows. The number of speakers is unknown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chyme.model import Turn, Voice

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]
    Numbers = NDArray[numpy.int64]

MIN_CLEAR_SECONDS = 1.0  # seconds; shorter windows are too unclear to find speakers by: they are only assigned to one
MAX_GAP = 0.05  # seconds; windows further apart belong to different stretches of speech
MAX_COMPARED = 1500  # items compared pairwise: 9 MB of similarities


@dataclass(frozen=True, slots=True)
class Window:
    """A short stretch of speech and its voice vector; times are seconds into the file."""

    start: float
    end: float
    vector: Sequence[float]  # of length 1; where there are many, an array of float32: a tuple takes eight times as much


@dataclass(frozen=True, slots=True)
class Rules:
    """When two voices count as different. Similarities are cosines; vectors of another model need other rules."""

    alike: float = 0.40  # groups with a lower average similarity over all pairs are not joined
    same: float = 0.65  # two groups whose means are this similar are one person after all
    least_seconds: float = 2.0  # less speech in total is noise, laughter or two people at once …
    least_part: float = 0.002  # … and in a long file, less than this share of it
    sure_at_once: float = 3.3  # seconds: so much without interruption …
    sure_seconds: float = 8.0  # … or so much in total …
    sure_part: float = 0.05  # … if it is this share of the file, makes a speaker
    unsure: float = 0.35  # others must be less similar to all speakers than this: a change sounds like both sides
    change: float = 0.10  # how much better another speaker must fit, because speakers change rarely


def separate_speakers(windows: Sequence[Window], rules: Rules | None = None) -> list[Turn]:
    """Return who speaks when, in order: speaker-1, speaker-2 … as they appear. Turns do not overlap."""
    rules = rules or Rules()
    usable = sorted(filter(_is_usable, windows), key=lambda window: window.start)
    if not usable:
        return []
    vectors = _normalise(_matrix(usable))
    speaker = _smooth(usable, vectors @ _find_speakers(usable, vectors, rules).T, rules.change)
    return list(_make_turns(usable, speaker.tolist()))


def voices_of(windows: Sequence[Window], turns: Sequence[Turn], model: str) -> tuple[Voice, ...]:
    """Each speaker's voice, the mean of the windows within their turns, and how long they spoke."""
    seconds: dict[str, float] = {}
    for turn in turns:
        seconds[turn.speaker] = seconds.get(turn.speaker, 0.0) + turn.end - turn.start
    by_speaker: dict[str, list[tuple[float, Window]]] = {}
    for share, speaker, window in _assign_to_turns([window for window in windows if _is_usable(window)], turns):
        by_speaker.setdefault(speaker, []).append((share, window))
    return tuple(
        Voice(speaker, spoken, model, _mean_vector(by_speaker[speaker]))
        for speaker, spoken in seconds.items()
        if speaker in by_speaker
    )


def _find_speakers(windows: Sequence[Window], vectors: Floats, rules: Rules) -> Floats:
    """Return one vector of length 1 per speaker."""
    import numpy

    is_long = numpy.array([window.end - window.start >= MIN_CLEAR_SECONDS for window in windows])
    chosen = numpy.flatnonzero(is_long if is_long.any() else ~is_long)
    group_of = cluster_vectors(vectors[chosen], rules.alike)
    means, seconds, longest = _describe_groups([windows[index] for index in chosen.tolist()], vectors[chosen], group_of)
    total = float(seconds.sum())
    min_seconds = max(rules.least_seconds, rules.least_part * total)
    sure_seconds = max(rules.sure_seconds, rules.sure_part * total)
    accepted: list[int] = []
    for group in numpy.argsort(-seconds, kind="stable").tolist():
        sure = longest[group] >= rules.sure_at_once or seconds[group] >= sure_seconds
        similarity = float((means[accepted] @ means[group]).max(initial=-1.0))
        if not accepted or (seconds[group] >= min_seconds and similarity < (rules.same if sure else rules.unsure)):
            accepted.append(group)
    return means[accepted]


def _describe_groups(windows: Sequence[Window], vectors: Floats, group: Numbers) -> tuple[Floats, Floats, Floats]:
    """For each group: its mean, the seconds spoken, and the longest uninterrupted speech."""
    import numpy

    count = int(group.max()) + 1
    seconds, longest = numpy.zeros(count, numpy.float32), numpy.zeros(count, numpy.float32)
    previous, run_start = -1, 0.0
    for index, (own_seconds, number) in enumerate(zip(_own_seconds(windows), group.tolist(), strict=True)):
        seconds[number] += own_seconds
        if number != previous or _has_gap(windows, index):
            run_start = windows[index].start
        previous = number
        longest[number] = max(longest[number], windows[index].end - run_start)
    means = numpy.zeros((count, vectors.shape[1]), numpy.float32)
    numpy.add.at(means, group, vectors)
    return _normalise(means), seconds, longest


def _own_seconds(windows: Sequence[Window]) -> Iterator[float]:
    """How much of each window is not covered by the one before."""
    covered_until = float("-inf")
    for window in windows:
        yield max(0.0, window.end - max(window.start, covered_until))
        covered_until = max(covered_until, window.end)


def _smooth(windows: Sequence[Window], fits: Floats, change: float) -> Numbers:
    """The speaker of each window on the best path through all windows, where each change has a cost."""
    import numpy

    count = len(windows)
    came_from = numpy.zeros(fits.shape, numpy.int64)
    total = fits[0].astype(numpy.float64)
    same = numpy.arange(fits.shape[1])
    for index in range(1, count):
        best = int(total.argmax())
        cost = change / 2 if _has_gap(windows, index) else change
        changes = total[best] - cost > total
        came_from[index] = numpy.where(changes, best, same)
        total = numpy.where(changes, total[best] - cost, total) + fits[index]
    speaker = numpy.zeros(count, numpy.int64)
    speaker[-1] = total.argmax()
    for index in range(count - 1, 0, -1):
        speaker[index - 1] = came_from[index, speaker[index]]
    return speaker


def _make_turns(windows: Sequence[Window], speakers: Sequence[int]) -> Iterator[Turn]:
    """A window counts for the time around its middle; neighbouring windows of one speaker form one turn."""
    names: dict[int, str] = {}
    turn_start, name = windows[0].start, ""
    turn_end = turn_start
    for index, (window, speaker) in enumerate(zip(windows, speakers, strict=True)):
        label = names.setdefault(speaker, f"speaker-{len(names) + 1}")
        has_gap = index > 0 and _has_gap(windows, index)
        if name and (label != name or has_gap):
            if turn_end > turn_start:
                yield Turn(turn_start, turn_end, name)
            turn_start = max(turn_end, window.start) if has_gap else turn_end
        name = label
        is_last = index == len(windows) - 1 or _has_gap(windows, index + 1)
        turn_end = max(turn_end, window.end if is_last else _midpoint(window, windows[index + 1]))
    if turn_end > turn_start:
        yield Turn(turn_start, turn_end, name)


def _is_usable(window: Window) -> bool:
    """Whether the window is usable: it has a length and a finite, non-zero vector."""
    return window.end > window.start and any(window.vector) and math.isfinite(sum(window.vector))


def _has_gap(windows: Sequence[Window], index: int) -> bool:
    return windows[index].start - windows[index - 1].end > MAX_GAP


def _midpoint(first: Window, second: Window) -> float:
    return (first.start + first.end + second.start + second.end) / 4


def _assign_to_turns(windows: Sequence[Window], turns: Sequence[Turn]) -> Iterator[tuple[float, str, Window]]:
    """Yield each window with the speaker of most of it, and the share that is theirs."""
    ordered = sorted(turns, key=lambda turn: turn.start)
    first = 0
    for window in sorted(windows, key=lambda item: item.start):
        while first < len(ordered) and ordered[first].end <= window.start:
            first += 1
        seconds: dict[str, float] = {}
        for turn in ordered[first:]:
            if turn.start >= window.end:
                break
            overlap = min(turn.end, window.end) - max(turn.start, window.start)
            seconds[turn.speaker] = seconds.get(turn.speaker, 0.0) + overlap
        if seconds:
            speaker = max(seconds, key=seconds.__getitem__)
            yield seconds[speaker] / (window.end - window.start), speaker, window


def _mean_vector(shares: Sequence[tuple[float, Window]]) -> tuple[float, ...]:
    """The mean over clean windows, long ones without other speakers; over all windows if none is clean."""
    clean = [window for share, window in shares if share > 0.99 and window.end - window.start >= MIN_CLEAR_SECONDS]
    vectors = _normalise(_matrix(clean or [window for _, window in shares]))
    return tuple(_normalise(vectors.mean(axis=0, keepdims=True))[0].tolist())


def _matrix(windows: Sequence[Window]) -> Floats:
    import numpy

    matrix = numpy.empty((len(windows), len(windows[0].vector)), numpy.float32)
    for index, window in enumerate(windows):
        matrix[index] = window.vector
    return matrix


def _normalise(vectors: Floats) -> Floats:
    import numpy

    length = numpy.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Floats = vectors / numpy.maximum(length, 1e-9)
    return scaled


def cluster_vectors(vectors: Floats, threshold: float) -> Numbers:
    """Return the group of each vector, numbered from 0.

    Only MAX_COMPARED items are compared pairwise: larger inputs are first merged within blocks of neighbours, to few
    enough items for all blocks together.
    """
    import numpy

    groups = numpy.arange(len(vectors), dtype=numpy.int64)
    sums, counts = vectors.astype(numpy.float32), numpy.ones(len(vectors), numpy.float32)
    while len(sums) > MAX_COMPARED:
        blocks = -(-len(sums) // MAX_COMPARED)
        step = numpy.empty(len(sums), numpy.int64)
        count = 0
        for start in range(0, len(sums), MAX_COMPARED):
            part = slice(start, start + MAX_COMPARED)
            step[part] = count + _merge_similar(sums[part], counts[part], threshold, MAX_COMPARED // blocks)
            count = int(step[part].max()) + 1
        groups, sums, counts = step[groups], _sum_by_group(sums, step, count), _sum_by_group(counts, step, count)
    return _merge_similar(sums, counts, threshold, None)[groups]


def _merge_similar(sums: Floats, counts: Floats, threshold: float, target: int | None) -> Numbers:
    """Merge the most similar groups until none are similar enough or, given a target, until so many remain."""
    import numpy

    removed = -numpy.inf
    size = len(sums)
    group = numpy.arange(size, dtype=numpy.int64)
    weight = counts.copy()
    similarity = sums @ sums.T
    similarity /= weight  # in place, by column and by row: there is no memory for a second matrix
    similarity /= weight[:, None]
    numpy.fill_diagonal(similarity, removed)
    nearest = similarity.argmax(axis=1)
    nearest_similarity = similarity[group, nearest]
    remaining = size
    while remaining > 1:
        first = int(nearest_similarity.argmax())
        if remaining <= target if target is not None else nearest_similarity[first] < threshold:
            break
        second = int(nearest[first])
        total = weight[first] + weight[second]
        row = (weight[first] * similarity[first] + weight[second] * similarity[second]) / total
        weight[first] = total
        similarity[first], similarity[:, first] = row, row
        similarity[second], similarity[:, second] = removed, removed
        group[group == second] = first
        nearest_similarity[second] = removed
        nearer = row > nearest_similarity
        nearest[nearer], nearest_similarity[nearer] = first, row[nearer]
        outdated = numpy.flatnonzero(
            ((nearest == first) | (nearest == second)) & ~nearer & (nearest_similarity > removed)
        )
        for index in (first, *outdated.tolist()):
            nearest[index] = similarity[index].argmax()
            nearest_similarity[index] = similarity[index, nearest[index]]
        remaining -= 1
    numbered: Numbers = numpy.unique(group, return_inverse=True)[1]
    return numbered


def _sum_by_group(values: Floats, group: Numbers, groups: int) -> Floats:
    import numpy

    totals = numpy.zeros((groups, *values.shape[1:]), numpy.float32)
    numpy.add.at(totals, group, values)
    return totals
