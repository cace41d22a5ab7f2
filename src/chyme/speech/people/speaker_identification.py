"""Decides which known person each voice of a file belongs to, by how alike voices sound."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from chyme.core.vectors import Vector, normalise
from chyme.model import Voice

SAME_VOICE = 0.65  # cosine similarity from which two voices count as the same
STEADY_SECONDS = 60.0  # a long talk is a better sample than a short one, but must not outweigh all others
SAME_LENGTH = 0.25  # by how much the speaking time may differ when only the label identifies the speaker


@dataclass(frozen=True, slots=True)
class KnownVoice:
    """A voice that is stored already, and the person it belongs to."""

    id: int
    speaker: str
    seconds: float
    model: str
    vector: Vector
    group_id: int
    person_id: int


@dataclass(frozen=True, slots=True)
class VoiceGroup:
    """Voices that sound alike, represented by their centroid."""

    id: int
    person_id: int
    centroid: Vector


@dataclass(frozen=True, slots=True)
class VoiceAssignment:
    """Where a voice belongs."""

    voice: Voice
    known_id: int | None = None  # id of the stored voice of this file that it matches
    person_id: int | None = None  # None: a new person
    group_id: int | None = None  # None: a new group


def assign_voices(
    voices: Sequence[Voice], before: Sequence[KnownVoice], groups: Mapping[str, Sequence[VoiceGroup]], threshold: float
) -> list[VoiceAssignment]:
    """Assign every voice of a file, in order. `before`: the file's voices so far; `groups`: by model.

    A voice that the file had before keeps its person, whatever else it sounds like. For the others, the most similar
    pairs come first, and two of them never become one person: the diarization that separated them heard both.
    """
    kept_voices = _match_known_voices(voices, before, threshold)
    assignments = {index: _keep_person(voices[index], known, groups, threshold) for index, known in kept_voices.items()}
    taken_people = {known.person_id for known in kept_voices.values()}
    candidates = [
        pair
        for index, voice in enumerate(voices)
        if index not in assignments
        for pair in _similar_groups(index, voice.vector, groups.get(voice.model, ()), threshold)
    ]
    for _, index, group in sorted(candidates, key=lambda pair: (pair[0], pair[1], pair[2].id)):
        if index not in assignments and group.person_id not in taken_people:
            assignments[index] = VoiceAssignment(voices[index], None, group.person_id, group.id)
            taken_people.add(group.person_id)
    return [assignments.get(index) or VoiceAssignment(voice) for index, voice in enumerate(voices)]


def _match_known_voices(
    voices: Sequence[Voice], before: Sequence[KnownVoice], threshold: float
) -> dict[int, KnownVoice]:
    """Return which of the file's voices it had before."""
    matches: dict[int, KnownVoice] = {}
    pairs = [
        (_similarity(voice.vector, known.vector), voice.speaker == known.speaker, index, known)
        for index, voice in enumerate(voices)
        for known in before
        if voice.model == known.model
    ]
    for similarity, _, index, known in sorted(
        pairs, key=lambda pair: (-round(pair[0], 3), not pair[1], pair[2], pair[3].id)
    ):
        if similarity >= threshold and index not in matches and known not in matches.values():
            matches[index] = known
    for index, voice in enumerate(voices):  # computed by another model: only label and length can be compared
        for known in before:
            if (
                index not in matches
                and known not in matches.values()
                and voice.model != known.model
                and _same_label_and_length(voice, known)
            ):
                matches[index] = known
    return matches


def _same_label_and_length(voice: Voice, known: KnownVoice) -> bool:
    longer = max(voice.seconds, known.seconds)
    return voice.speaker == known.speaker and abs(voice.seconds - known.seconds) <= SAME_LENGTH * longer


def _keep_person(
    voice: Voice, known: KnownVoice, groups: Mapping[str, Sequence[VoiceGroup]], threshold: float
) -> VoiceAssignment:
    if voice.model == known.model:
        return VoiceAssignment(voice, known.id, known.person_id, known.group_id)
    own_groups = [group for group in groups.get(voice.model, ()) if group.person_id == known.person_id]
    nearest = max(own_groups, key=lambda group: _similarity(voice.vector, group.centroid), default=None)
    is_near = nearest is not None and _similarity(voice.vector, nearest.centroid) >= threshold
    return VoiceAssignment(voice, known.id, known.person_id, nearest.id if nearest is not None and is_near else None)


def _similar_groups(
    index: int, vector: Vector, groups: Iterable[VoiceGroup], threshold: float
) -> list[tuple[float, int, VoiceGroup]]:
    """The groups that sound like this voice, with their distance. Fast enough for a thousand people at once."""
    dist, size, max_distance = math.dist, len(vector), math.sqrt(max(0.0, 2 - 2 * threshold))
    return [
        (distance, index, group)
        for group in groups
        if len(group.centroid) == size and (distance := dist(vector, group.centroid)) <= max_distance
    ]


def _similarity(first: Vector, second: Vector) -> float:
    """Cosine of two vectors of length 1. (`dist` is written in C; a sum of products takes three times as long.)"""
    return 1 - math.dist(first, second) ** 2 / 2 if len(first) == len(second) else -1.0


def compute_centroid(voices: Iterable[tuple[float, Vector]]) -> Vector:
    """The centre of voices, weighted by how long each spoke. There must be at least one."""
    weighted = [[min(max(seconds, 1.0), STEADY_SECONDS) * value for value in vector] for seconds, vector in voices]
    return normalise(map(sum, zip(*weighted, strict=True)))
