"""The input of the voice network: the energy in 80 bands, a hundred times a second, as Kaldi computes it.

The voice network was trained on these. faster_whisper's feature extractor has other bands and another window.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]

RATE = 16_000
FRAME, STEP, POINTS = 400, 160, 512  # samples per frame, per step, and per Fourier transform
LOWEST, HIGHEST = 20.0, RATE / 2  # Hz
_EMPHASIS = 0.97
_FLOOR = 1.1920929e-07  # avoids the logarithm of zero


def spectrum(samples: Floats, bands: int) -> Floats:
    """Log energies, (frames, bands), minus the mean of each band, so that loudness and microphone matter less.

    There must be at least as many samples as in one frame.
    """
    import numpy

    frames = numpy.lib.stride_tricks.sliding_window_view(samples, FRAME)[::STEP].astype(numpy.float32)
    frames -= frames.mean(axis=1, keepdims=True)
    frames[:, 1:] -= _EMPHASIS * frames[:, :-1]
    frames[:, 0] -= _EMPHASIS * frames[:, 0]
    fourier = numpy.fft.rfft(frames * _taper(), POINTS)
    power = (fourier.real**2 + fourier.imag**2).astype(numpy.float32)
    energy = numpy.log(numpy.maximum(power @ _filters(bands), _FLOOR))
    centred: Floats = (energy - energy.mean(axis=0)).astype(numpy.float32)
    return centred


@functools.cache
def _taper() -> Floats:
    """Povey's window: slightly wider than Hann's."""
    import numpy

    hann = 0.5 - 0.5 * numpy.cos(2 * numpy.pi * numpy.arange(FRAME) / (FRAME - 1))
    taper: Floats = (hann**0.85).astype(numpy.float32)
    return taper


@functools.cache
def _filters(bands: int) -> Floats:
    """Triangles of equal width on the mel scale, (frequencies, bands)."""
    import numpy

    def mel(hertz: NDArray[numpy.float64]) -> NDArray[numpy.float64]:
        return 1127.0 * numpy.log1p(hertz / 700.0)

    low, high = mel(numpy.array([LOWEST, HIGHEST]))
    edges = numpy.linspace(low, high, bands + 2)
    pitch = mel(numpy.arange(POINTS // 2 + 1) * RATE / POINTS)[:, None]
    rising = (pitch - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - pitch) / (edges[2:] - edges[1:-1])
    triangles: Floats = numpy.maximum(0.0, numpy.minimum(rising, falling)).astype(numpy.float32)
    return triangles
