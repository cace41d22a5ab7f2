"""Long recordings made of short real ones: the corpus' clips in turn, with pauses between them."""

from __future__ import annotations

import random
import wave
from collections.abc import Iterator
from pathlib import Path

from bench.vaults import CORPUS

RATE = 16_000


def clips() -> list[Path]:
    """The recordings to join; empty where the corpus is absent."""
    return sorted((CORPUS / "speech").glob("*.wav"))


def write(path: Path, seconds: float, seed: int = 1) -> Path:
    """A WAV file of just this length. Another seed makes another order and other pauses."""
    left = int(seconds * RATE)
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(RATE)
        for samples in _endless(random.Random(seed)):
            out.writeframes(samples[: left * 2])
            left -= len(samples) // 2
            if left <= 0:
                return path
    raise AssertionError("there is always more")


def _endless(chance: random.Random) -> Iterator[bytes]:
    sounds = [_samples(path) for path in clips()]
    while True:
        chance.shuffle(sounds)
        for sound in sounds:
            yield sound
            yield bytes(2 * int(chance.uniform(0.4, 3.0) * RATE))


def _samples(path: Path) -> bytes:
    with wave.open(str(path), "rb") as file:
        if (file.getnchannels(), file.getsampwidth(), file.getframerate()) != (1, 2, RATE):
            raise SystemExit(f"{path}: is not 16 bits, mono, {RATE} Hz")
        return file.readframes(file.getnframes())
