"""CAM++, a network that distinguishes voices (Wang and others, 2023), built from its tensors.

A few convolutions over the spectrogram, then three blocks of layers over time, each of which receives the output of all
layers before it and weights its channels by the window's mean; then mean and deviation over time, and a dense layer.
Its input is the energy in 80 bands, a hundred times a second, as Kaldi computes it. (faster_whisper's feature extractor
has other bands and another window.)
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from chyme.models.weights.onnx_writer import OnnxFile

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Tensors = Mapping[str, NDArray[numpy.float32]]
    Floats = NDArray[numpy.float32]

SOUND, SPREAD = "sound", "spread"  # the inputs: (batch, 1, bands, frames), and see `spread`
BANDS = 80
RATE = 16_000
FRAME, STEP, POINTS = 400, 160, 512  # samples per frame, per step, and per Fourier transform
LOWEST, HIGHEST = 20.0, RATE / 2  # Hz
_EMPHASIS = 0.97
_FLOOR = 1.1920929e-07  # avoids the logarithm of zero
# Beyond 200 frames, a layer's context would no longer be the mean of the whole window. Ours are shorter.
_BLOCKS = ((12, 1), (24, 2), (16, 2))  # layers, dilation
_EPSILON = 1e-5  # prevents division by zero when normalising a constant channel


def build_network(tensors: Tensors) -> tuple[bytes, str]:
    """Return an ONNX file and the name of its output; raise KeyError or ValueError for other tensors."""
    net = _Layers(tensors)
    flow = _head(net, SOUND)
    flow = net.relu(net.normal(flow, "xvector.tdnn.linear", "xvector.tdnn.nonlinear", strides=[2], pads=[2, 2]))
    for number, (layers, dilation) in enumerate(_BLOCKS, 1):
        for layer in range(1, layers + 1):
            flow = _dense_layer(net, flow, f"xvector.block{number}.tdnnd{layer}", dilation)
        flow = net.convolution(
            net.rectified(flow, f"xvector.transit{number}.nonlinear"), f"xvector.transit{number}.linear"
        )
    flow = _statistics(net, net.rectified(flow, "xvector.out_nonlinear"))
    flow = net.normal(flow, "xvector.dense.linear", "xvector.dense.nonlinear")
    voice = net.file.add("Squeeze", flow, axes=[2])
    size = len(tensors["xvector.dense.linear.weight"])
    inputs: dict[str, Sequence[int | str]] = {SOUND: ("batch", 1, BANDS, "frames"), SPREAD: (1,)}
    return net.file.data(inputs, {voice: ("batch", size)}), voice


def spread(frames: int) -> float:
    """The factor from a window's mean square to its variance estimate; the second input."""
    pooled_frames = (frames + 1) // 2
    return pooled_frames / (pooled_frames - 1)


class _Layers:
    """Builds layers from the names of their tensors."""

    def __init__(self, tensors: Tensors) -> None:
        self._tensors = tensors
        self.file = OnnxFile()

    def convolution(self, flow: str, name: str, **options: int | Sequence[int]) -> str:
        bias = self._tensors.get(f"{name}.bias")
        return self._convolution(flow, self._tensors[f"{name}.weight"], bias, **options)

    def normal(self, flow: str, name: str, norm: str, **options: int | Sequence[int]) -> str:
        """A convolution merged with the normalisation that follows it."""
        scale, shift = self._normalisation(norm)
        weight = self._tensors[f"{name}.weight"]
        return self._convolution(flow, weight * scale.reshape(-1, *[1] * (weight.ndim - 1)), shift, **options)

    def rectified(self, flow: str, norm: str) -> str:
        scale, shift = (self.file.constant(values.reshape(1, -1, 1)) for values in self._normalisation(norm))
        return self.relu(self.file.add("Add", self.file.add("Mul", flow, scale), shift))

    def relu(self, flow: str) -> str:
        return self.file.add("Relu", flow)

    def mean(self, flow: str) -> str:
        return self.file.add("ReduceMean", flow, axes=[2], keepdims=1)

    def _convolution(self, flow: str, weight: Floats, bias: Floats | None, **options: int | Sequence[int]) -> str:
        import numpy

        constants = [weight] if bias is None else [weight, bias]
        names = [self.file.constant(numpy.ascontiguousarray(values, numpy.float32)) for values in constants]
        return self.file.add("Conv", flow, *names, **options)

    def _normalisation(self, name: str) -> tuple[Floats, Floats]:
        import numpy

        stem = name if f"{name}.running_mean" in self._tensors else f"{name}.batchnorm"
        mean, variance = self._tensors[f"{stem}.running_mean"], self._tensors[f"{stem}.running_var"]
        scale = self._tensors.get(f"{stem}.weight", numpy.ones_like(mean)) / numpy.sqrt(variance + _EPSILON)
        return scale, self._tensors.get(f"{stem}.bias", numpy.zeros_like(mean)) - mean * scale


def _head(net: _Layers, flow: str) -> str:
    """Convolutions over bands and time that leave an eighth of the bands."""
    import numpy

    padding = [1, 1, 1, 1]
    flow = net.relu(net.normal(flow, "head.conv1", "head.bn1", pads=padding))
    for layer in ("head.layer1", "head.layer2"):
        for number, strides in enumerate(([2, 1], [1, 1])):
            name = f"{layer}.{number}"
            inner = net.relu(net.normal(flow, f"{name}.conv1", f"{name}.bn1", strides=strides, pads=padding))
            inner = net.normal(inner, f"{name}.conv2", f"{name}.bn2", pads=padding)
            if number == 0:
                flow = net.normal(flow, f"{name}.shortcut.0", f"{name}.shortcut.1", strides=strides)
            flow = net.relu(net.file.add("Add", inner, flow))
    flow = net.relu(net.normal(flow, "head.conv2", "head.bn2", strides=[2, 1], pads=padding))
    channels = 32 * BANDS // 8
    return net.file.add("Reshape", flow, net.file.constant(numpy.array([0, channels, -1], numpy.int64)))


def _dense_layer(net: _Layers, flow: str, name: str, dilation: int) -> str:
    """Append this layer's output, weighted by the context, to everything before it."""
    import numpy

    inner = net.rectified(flow, f"{name}.nonlinear1")
    inner = net.relu(net.normal(inner, f"{name}.linear1", f"{name}.nonlinear2"))
    local = net.convolution(inner, f"{name}.cam_layer.linear_local", pads=[dilation] * 2, dilations=[dilation])
    # The sum of the mean of the window and of each hundred frames, which are the same in a short window.
    context = net.file.add("Mul", net.mean(inner), net.file.constant(numpy.array([2], numpy.float32)))
    context = net.relu(net.convolution(context, f"{name}.cam_layer.linear1"))
    weights = net.file.add("Sigmoid", net.convolution(context, f"{name}.cam_layer.linear2"))
    return net.file.add("Concat", flow, net.file.add("Mul", local, weights), axis=1)


def _statistics(net: _Layers, flow: str) -> str:
    """Mean and standard deviation over time."""
    mean = net.mean(flow)
    deviation = net.file.add("Sub", flow, mean)
    variance = net.file.add("Mul", net.mean(net.file.add("Mul", deviation, deviation)), SPREAD)
    return net.file.add("Concat", mean, net.file.add("Sqrt", variance), axis=1)


def spectrum(samples: Floats) -> Floats:
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
    energy = numpy.log(numpy.maximum(power @ _filters(), _FLOOR))
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
def _filters() -> Floats:
    """Triangles of equal width on the mel scale, (frequencies, bands)."""
    import numpy

    def mel(hertz: NDArray[numpy.float64]) -> NDArray[numpy.float64]:
        return 1127.0 * numpy.log1p(hertz / 700.0)

    low, high = mel(numpy.array([LOWEST, HIGHEST]))
    edges = numpy.linspace(low, high, BANDS + 2)
    pitch = mel(numpy.arange(POINTS // 2 + 1) * RATE / POINTS)[:, None]
    rising = (pitch - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - pitch) / (edges[2:] - edges[1:-1])
    triangles: Floats = numpy.maximum(0.0, numpy.minimum(rising, falling)).astype(numpy.float32)
    return triangles
