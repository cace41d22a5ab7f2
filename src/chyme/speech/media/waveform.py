"""The outline of a sound of any length, in a fixed room."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]

FINEST = 64  # samples in one bucket to begin with
SILENCE = 0.001  # -60 dB: below this nobody hears anything


class Waveform:
    """Takes samples as they come; whenever its buckets are full, two become one of twice the length."""

    def __init__(self, most: int) -> None:
        import numpy

        self.length = 0  # samples so far
        self.loudest = 0.0
        self._most = most
        self._size = FINEST
        self._buckets = numpy.zeros(2 * most, dtype=numpy.float32)

    def add(self, loudness: Floats, full: float = 1.0) -> None:
        """The next samples, each as its distance from zero; `full` is full scale."""
        import numpy

        count = len(loudness)
        if not count:
            return
        begin = self.length
        self.skip(count)
        first, last = begin // self._size, (self.length - 1) // self._size
        edges = numpy.arange(first, last + 1) * self._size - begin
        edges[0] = 0
        room = self._buckets[first : last + 1]
        numpy.maximum(room, numpy.maximum.reduceat(loudness, edges) / full, out=room)

    def add_channel_peak(self, loudness: float) -> None:
        """The loudest of any single channel; mixed together, two channels can cancel each other."""
        self.loudest = max(self.loudest, loudness)

    def skip(self, samples: int) -> None:
        """A stretch of silence."""
        self.length += samples
        while self.length > len(self._buckets) * self._size:
            half = len(self._buckets) // 2
            self._buckets[:half] = self._buckets.reshape(-1, 2).max(axis=1)
            self._buckets[half:] = 0
            self._size *= 2

    def peaks(self) -> list[int]:
        """At most as many values as were asked for, 0 to 100, evenly over the length; 100 is the loudest of them."""
        import numpy

        used = self._buckets[: math.ceil(self.length / self._size)]
        if len(used) > self._most:
            used = numpy.maximum.reduceat(used, numpy.arange(self._most) * len(used) // self._most)
        highest = float(used.max(initial=0.0))
        if highest < SILENCE:
            return [0] * len(used)
        return [int(value) for value in numpy.rint(used * (100 / highest))]

    @property
    def silent(self) -> bool:
        return self.loudest < SILENCE
