"""The outline of a sound of any length, in constant memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]

FINEST = 64  # samples per bucket at the start
SILENCE = 0.001  # -60 dB: below this, sound is inaudible


class Waveform:
    """Collects samples as they come; when the buckets are full, pairs of them merge into one of twice the length."""

    def __init__(self, max_peaks: int) -> None:
        import numpy

        self.length = 0  # samples so far
        self.loudest = 0.0
        self._max_peaks = max_peaks
        self._bucket_size = FINEST
        self._buckets = numpy.zeros(2 * max_peaks, dtype=numpy.float32)

    def add(self, loudness: Floats, full_scale: float = 1.0) -> None:
        """Add the next samples as absolute values; `full_scale` is the largest possible."""
        import numpy

        count = len(loudness)
        if not count:
            return
        start = self.length
        self.skip(count)
        first, last = start // self._bucket_size, (self.length - 1) // self._bucket_size
        edges = numpy.arange(first, last + 1) * self._bucket_size - start
        edges[0] = 0
        buckets = self._buckets[first : last + 1]
        numpy.maximum(buckets, numpy.maximum.reduceat(loudness, edges) / full_scale, out=buckets)

    def add_channel_peak(self, loudness: float) -> None:
        """Record the peak of any single channel; when mixed, two channels can cancel each other."""
        self.loudest = max(self.loudest, loudness)

    def skip(self, samples: int) -> None:
        """Add a stretch of silence."""
        self.length += samples
        while self.length > len(self._buckets) * self._bucket_size:
            half = len(self._buckets) // 2
            self._buckets[:half] = self._buckets.reshape(-1, 2).max(axis=1)
            self._buckets[half:] = 0
            self._bucket_size *= 2

    def peaks(self) -> list[int]:
        """At most `max_peaks` values from 0 to 100, spread evenly over the length; 100 is the loudest of them."""
        import numpy

        used = self._buckets[: math.ceil(self.length / self._bucket_size)]
        if len(used) > self._max_peaks:
            used = numpy.maximum.reduceat(used, numpy.arange(self._max_peaks) * len(used) // self._max_peaks)
        highest = float(used.max(initial=0.0))
        if highest < SILENCE:
            return [0] * len(used)
        return [int(value) for value in numpy.rint(used * (100 / highest))]

    @property
    def silent(self) -> bool:
        return self.loudest < SILENCE
