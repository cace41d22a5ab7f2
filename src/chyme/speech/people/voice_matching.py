"""Which voices sound alike, and whom the voices of a file belong to."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from chyme.model import Voice

Vector = tuple[float, ...]

SAME_VOICE = 0.65  # cosine from which on two voices are taken for one
STEADY_SECONDS = 60.0  # a long talk is a better sample than a short one, but must not drown all others
SAME_LENGTH = 0.25  # by how much a speaker's time may differ when nothing but the label tells who it is


@dataclass(frozen=True, slots=True)
class KnownVoice:
    """A voice that is known already, and whose it is."""

    id: int
    speaker: str
    seconds: float
    model: str
    vector: Vector
    group_id: int
    person_id: int


@dataclass(frozen=True, slots=True)
class VoiceGroup:
    """Voices that sound alike, by their centre."""

    id: int
    person_id: int
    centroid: Vector


@dataclass(frozen=True, slots=True)
class VoiceAssignment:
    """Where a voice belongs."""

    voice: Voice
    kept: int | None = None  # the known voice of this file that it is
    person_id: int | None = None  # None: nobody known
    group_id: int | None = None  # None: a group of its own


def assign_voices(
    voices: Sequence[Voice], before: Sequence[KnownVoice], groups: Mapping[str, Sequence[VoiceGroup]], threshold: float
) -> list[VoiceAssignment]:
    """Give every voice of a file its place, in order. `before`: the file's voices so far; `groups`: by model.

    A voice that was in the file before stays whose it was, whatever else it sounds like. Of the others, the pairs
    that sound most alike come first, and two of them are never one person: who told them apart has heard both.
    """
    kept = _kept(voices, before, threshold)
    placed = {at: _stay(voices[at], old, groups, threshold) for at, old in kept.items()}
    taken = {old.person_id for old in kept.values()}
    alike = [
        pair
        for at, voice in enumerate(voices)
        if at not in placed
        for pair in _alike(at, voice.vector, groups.get(voice.model, ()), threshold)
    ]
    for _, at, group in sorted(alike, key=lambda pair: (pair[0], pair[1], pair[2].id)):
        if at not in placed and group.person_id not in taken:
            placed[at] = VoiceAssignment(voices[at], None, group.person_id, group.id)
            taken.add(group.person_id)
    return [placed.get(at) or VoiceAssignment(voice) for at, voice in enumerate(voices)]


def _kept(voices: Sequence[Voice], before: Sequence[KnownVoice], threshold: float) -> dict[int, KnownVoice]:
    """Which of the file's voices are ones it had before."""
    found: dict[int, KnownVoice] = {}
    pairs = [
        (_likeness(voice.vector, old.vector), voice.speaker == old.speaker, at, old)
        for at, voice in enumerate(voices)
        for old in before
        if voice.model == old.model
    ]
    for likeness, _, at, old in sorted(pairs, key=lambda pair: (-round(pair[0], 3), not pair[1], pair[2], pair[3].id)):
        if likeness >= threshold and at not in found and old not in found.values():
            found[at] = old
    for at, voice in enumerate(voices):  # another model hears them now: only label and length are left to go by
        for old in before:
            if at not in found and old not in found.values() and voice.model != old.model and _same_part(voice, old):
                found[at] = old
    return found


def _same_part(voice: Voice, old: KnownVoice) -> bool:
    longer = max(voice.seconds, old.seconds)
    return voice.speaker == old.speaker and abs(voice.seconds - old.seconds) <= SAME_LENGTH * longer


def _stay(
    voice: Voice, old: KnownVoice, groups: Mapping[str, Sequence[VoiceGroup]], threshold: float
) -> VoiceAssignment:
    if voice.model == old.model:
        return VoiceAssignment(voice, old.id, old.person_id, old.group_id)
    own = [group for group in groups.get(voice.model, ()) if group.person_id == old.person_id]
    nearest = max(own, key=lambda group: _likeness(voice.vector, group.centroid), default=None)
    near = nearest is not None and _likeness(voice.vector, nearest.centroid) >= threshold
    return VoiceAssignment(voice, old.id, old.person_id, nearest.id if nearest is not None and near else None)


def _alike(
    at: int, vector: Vector, groups: Iterable[VoiceGroup], threshold: float
) -> list[tuple[float, int, VoiceGroup]]:
    """The groups that sound like this voice, by how far away they are. Written for a thousand people at once."""
    dist, size, most = math.dist, len(vector), math.sqrt(max(0.0, 2 - 2 * threshold))
    return [
        (away, at, group)
        for group in groups
        if len(group.centroid) == size and (away := dist(vector, group.centroid)) <= most
    ]


def _likeness(one: Vector, other: Vector) -> float:
    """The cosine of two vectors of length 1. (`dist` is written in C; a sum of products takes three times as long.)"""
    return 1 - math.dist(one, other) ** 2 / 2 if len(one) == len(other) else -1.0


def normalise(vector: Iterable[float]) -> Vector:
    """The vector at length 1; one that has no length stays as it is."""
    values = tuple(vector)
    length = math.hypot(*values)
    return tuple(value / length for value in values) if length > 0 else values


def compute_centroid(voices: Iterable[tuple[float, Vector]]) -> Vector:
    """The middle of voices, given how long each spoke. There must be one at least."""
    weighted = [[min(max(seconds, 1.0), STEADY_SECONDS) * value for value in vector] for seconds, vector in voices]
    return normalise(map(sum, zip(*weighted, strict=True)))


def pack_vector(vector: Sequence[float]) -> bytes:
    """float32, little-endian."""
    return struct.pack(f"<{len(vector)}f", *vector)


def unpack_vector(data: bytes) -> Vector:
    return struct.unpack(f"<{len(data) // 4}f", data)
