"""How voices sound: a vector for every second and a half of speech, alike for one person, unlike for two."""

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
from chyme.speech.voices.campplus_network import BANDS, SOUND, SPREAD, build_network, spread
from chyme.speech.voices.spectrum import RATE, spectrum
from chyme.speech.voices.torch_file import read_tensors
from chyme.speech.voices.window import Window

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Samples = NDArray[numpy.float32]

MODEL = "campplus-zh-en-16k"
LENGTH = 1.5  # seconds of a window: longer ones hold two people too often, shorter ones are heard too badly
HOP = 0.75  # seconds from one window to the next, at most
SHORTEST = 0.4  # seconds: in less speech than this no voice is heard
GRAIN = 0.1  # seconds: windows over short speech are cut to multiples of this, so that they can be heard together
TOGETHER = 2  # windows heard in one go: more are no faster and need more memory
LOUDEST = 10.0  # louder samples are broken ones; sound ends at 1
SILENT = 1e-4  # loudness, as root of the mean square, below which there is nothing to hear
LOUDNESS = 0.05  # that of every window when it is heard, so that quiet speech does not sound like somebody else


class _Piece(NamedTuple):
    """What is heard of one window; times are seconds into the samples."""

    start: float
    end: float
    first: int  # sample
    size: int  # in samples
    loudness: float


class Encoder:
    """Hears voices. One call uses one thread; any number of threads may call."""

    model = MODEL

    def __init__(self, data: bytes) -> None:
        """Takes the file of weights; ValueError when it is another one."""
        try:
            made, self._voice = build_network(read_tensors(data))
        except KeyError as error:
            raise ValueError(f"it has no tensor {error}") from error
        self._session = open_session(made)

    def windows(self, samples: Samples, start: float, spans: Sequence[tuple[float, float]]) -> list[Window]:
        """How the speech in these spans of the file sounds, in order; `samples` are 16 kHz and begin at `start`.

        The windows of a span cover it from end to end. Spans in which there is nothing to hear have none.
        """
        import numpy

        sound = numpy.nan_to_num(numpy.asarray(samples, numpy.float32).reshape(-1), posinf=0.0, neginf=0.0)
        numpy.clip(sound, -LOUDEST, LOUDEST, out=sound)
        ends = len(sound) / RATE
        by_size: dict[int, list[_Piece]] = {}
        for begin, end in spans:
            for place in _places(max(0.0, begin - start), min(ends, end - start)):
                piece = _piece(sound, *place)
                if piece.loudness >= SILENT:
                    by_size.setdefault(piece.size, []).append(piece)
        found: list[Window] = []
        for pieces in by_size.values():
            for at in range(0, len(pieces), TOGETHER):
                batch = pieces[at : at + TOGETHER]
                found += [
                    Window(start + piece.start, start + piece.end, array("f", vector.tobytes()))
                    for piece, vector in zip(batch, self._heard(sound, batch), strict=True)
                    if numpy.isfinite(vector).all() and vector.any()
                ]
        return sorted(found, key=lambda one: one.start)

    def _heard(self, sound: Samples, pieces: Sequence[_Piece]) -> Samples:
        """A vector for each piece; all are of one length."""
        return self._vectors([sound[one.first : one.first + one.size] * (LOUDNESS / one.loudness) for one in pieces])

    def _vectors(self, heard: Sequence[Samples]) -> Samples:
        """How pieces of sound of one length sound, as vectors of length 1."""
        import numpy

        bands = numpy.stack([spectrum(piece, BANDS).T[None] for piece in heard])
        given = {SOUND: bands, SPREAD: numpy.array([spread(bands.shape[-1])], numpy.float32)}
        (vectors,) = self._session.run([self._voice], given)
        scaled: Samples = vectors / numpy.maximum(numpy.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        return scaled


@functools.cache
def load(weights_dir: str = "") -> Encoder:
    """The encoder, loaded once in a process, or EngineUnavailable with the way to get its weights."""
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


def _places(start: float, end: float) -> Iterator[tuple[float, float]]:
    """Where the windows of one stretch of speech lie: as far apart as they may, and evenly."""
    spare = end - start - LENGTH
    if spare <= 0:
        if end - start >= SHORTEST:
            yield start, end
        return
    steps = math.ceil(spare / HOP - 1e-6)
    for number in range(steps + 1):
        begin = start + spare * number / max(1, steps)
        yield begin, begin + LENGTH


def _piece(sound: Samples, start: float, end: float) -> _Piece:
    """The middle of a window, of a length that others have too."""
    import numpy

    length = min(LENGTH, math.floor((end - start) / GRAIN + 1e-6) * GRAIN)
    size = round(length * RATE)
    first = max(0, min(round((start + end - length) / 2 * RATE), len(sound) - size))
    return _Piece(start, end, first, size, math.sqrt(float(numpy.mean(sound[first : first + size] ** 2))))
