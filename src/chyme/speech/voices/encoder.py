"""Compute a voice vector for every second and a half of speech: similar for one person, different for two."""

from __future__ import annotations

import functools
import math
from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from chyme.errors import EngineUnavailable
from chyme.models.weights.catalog import VOICES
from chyme.models.weights.folder import read_files
from chyme.models.weights.onnx_session import open_session
from chyme.speech.voices.campplus_network import RATE, SOUND, SPREAD, build_network, spectrum, spread
from chyme.speech.voices.diarization import Window
from chyme.speech.voices.torch_file import read_tensors

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Samples = NDArray[numpy.float32]

MODEL = "campplus-zh-en-16k"
LENGTH = 1.5  # seconds of a window: longer ones contain two people too often, shorter ones are too unclear
HOP = 0.75  # maximum seconds from one window to the next
SHORTEST = 0.4  # seconds: less speech than this has no recognisable voice
GRAIN = 0.1  # seconds: windows of short speech are cut to multiples of this, so that they can share a batch
BATCH_SIZE = 2  # windows per batch: more are no faster and need more memory
MAX_AMPLITUDE = 10.0  # louder samples are corrupt; sound ends at 1
MIN_LOUDNESS = 1e-4  # loudness (root mean square) below which there is nothing to hear
TARGET_LOUDNESS = 0.05  # to which every window is scaled, so that quiet speech does not sound like someone else


class _Piece(NamedTuple):
    """The part of a window that is encoded; times are seconds into the samples."""

    start: float
    end: float
    first: int  # sample
    size: int  # in samples
    loudness: float


class Encoder:
    """Encodes voices. One call uses one thread; any number of threads may call."""

    model = MODEL

    def __init__(self, data: bytes) -> None:
        """Takes the bytes of the weights file; raises ValueError for another file."""
        try:
            network, self._output_name = build_network(read_tensors(data))
        except KeyError as error:
            raise ValueError(f"it has no tensor {error}") from error
        self._session = open_session(network)

    def windows(self, samples: Samples, start: float, spans: Sequence[tuple[float, float]]) -> list[Window]:
        """Encode the speech in these spans of the file, in order; `samples` are 16 kHz and start at `start`.

        The windows of a span cover it completely. Silent spans have none.
        """
        import numpy

        sound = numpy.nan_to_num(numpy.asarray(samples, numpy.float32).reshape(-1), posinf=0.0, neginf=0.0)
        numpy.clip(sound, -MAX_AMPLITUDE, MAX_AMPLITUDE, out=sound)
        sound_end = len(sound) / RATE
        by_size: dict[int, list[_Piece]] = {}
        for begin, end in spans:
            for times in _window_times(max(0.0, begin - start), min(sound_end, end - start)):
                piece = _cut_piece(sound, *times)
                if piece.loudness >= MIN_LOUDNESS:
                    by_size.setdefault(piece.size, []).append(piece)
        encoded: list[Window] = []
        for pieces in by_size.values():
            for offset in range(0, len(pieces), BATCH_SIZE):
                batch = pieces[offset : offset + BATCH_SIZE]
                encoded += [
                    Window(start + piece.start, start + piece.end, array("f", vector.tobytes()))
                    for piece, vector in zip(batch, self._encode_pieces(sound, batch), strict=True)
                    if numpy.isfinite(vector).all() and vector.any()
                ]
        return sorted(encoded, key=lambda window: window.start)

    def _encode_pieces(self, sound: Samples, pieces: Sequence[_Piece]) -> Samples:
        """Return one vector of length 1 per piece; all pieces have the same length."""
        import numpy

        cuts = [sound[piece.first : piece.first + piece.size] * (TARGET_LOUDNESS / piece.loudness) for piece in pieces]
        bands = numpy.stack([spectrum(cut).T[None] for cut in cuts])
        inputs = {SOUND: bands, SPREAD: numpy.array([spread(bands.shape[-1])], numpy.float32)}
        (vectors,) = self._session.run([self._output_name], inputs)
        scaled: Samples = vectors / numpy.maximum(numpy.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        return scaled


@functools.cache
def load(weights_dir: str = "") -> Encoder:
    """Load the encoder, once per process, or raise EngineUnavailable that says how to get its weights."""
    data = read_files(VOICES, weights_dir)[VOICES.members[0].filename]
    try:
        return Encoder(data)
    except ImportError as error:
        raise EngineUnavailable(f"telling voices apart needs onnxruntime ({error}); pip install onnxruntime") from error
    except ValueError as error:
        raise EngineUnavailable(
            f"the weights for {VOICES.capability} are not those of {MODEL} ({error}); "
            f"run 'chyme weights {VOICES.capability}'"
        ) from error


def _window_times(start: float, end: float) -> Iterator[tuple[float, float]]:
    """Yield the windows of one stretch of speech: as far apart as allowed, and evenly spaced."""
    spare = end - start - LENGTH
    if spare <= 0:
        if end - start >= SHORTEST:
            yield start, end
        return
    steps = math.ceil(spare / HOP - 1e-6)
    for number in range(steps + 1):
        window_start = start + spare * number / max(1, steps)
        yield window_start, window_start + LENGTH


def _cut_piece(sound: Samples, start: float, end: float) -> _Piece:
    """Cut the middle of a window to a length shared with others."""
    import numpy

    length = min(LENGTH, math.floor((end - start) / GRAIN + 1e-6) * GRAIN)
    size = round(length * RATE)
    first = max(0, min(round((start + end - length) / 2 * RATE), len(sound) - size))
    return _Piece(start, end, first, size, math.sqrt(float(numpy.mean(sound[first : first + size] ** 2))))
