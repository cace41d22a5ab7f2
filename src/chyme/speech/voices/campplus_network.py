"""CAM++, a network that tells voices apart (Wang and others, 2023), put together from its tensors.

A few convolutions over the spectrogram, then three blocks of layers over time that each see all layers before them
and weigh their channels by the window's mean, then mean and deviation over time, and one dense layer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from chyme.models.weights.onnx_writer import OnnxFile

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Tensors = Mapping[str, NDArray[numpy.float32]]
    Floats = NDArray[numpy.float32]

SOUND, SPREAD = "sound", "spread"  # what goes in: (batch, 1, bands, frames), and see `spread`
BANDS = 80
# Past this many frames the context of a layer is no longer the mean of the whole window. Ours are shorter.
MOST_FRAMES = 200
_BLOCKS = ((12, 1), (24, 2), (16, 2))  # layers, dilation
_EVEN = 1e-5  # keeps the normalisation of a channel that never varies from dividing by nothing


def build_network(tensors: Tensors) -> tuple[bytes, str]:
    """An ONNX file and the name of what it gives; KeyError or ValueError when these are other tensors."""
    made = _Layers(tensors)
    flow = _head(made, SOUND)
    flow = made.relu(made.normal(flow, "xvector.tdnn.linear", "xvector.tdnn.nonlinear", strides=[2], pads=[2, 2]))
    for number, (layers, dilation) in enumerate(_BLOCKS, 1):
        for layer in range(1, layers + 1):
            flow = _dense_layer(made, flow, f"xvector.block{number}.tdnnd{layer}", dilation)
        flow = made.convolution(
            made.rectified(flow, f"xvector.transit{number}.nonlinear"), f"xvector.transit{number}.linear"
        )
    flow = _statistics(made, made.rectified(flow, "xvector.out_nonlinear"))
    flow = made.normal(flow, "xvector.dense.linear", "xvector.dense.nonlinear")
    voice = made.file.add("Squeeze", flow, axes=[2])
    size = len(tensors["xvector.dense.linear.weight"])
    inputs: dict[str, Sequence[int | str]] = {SOUND: ("batch", 1, BANDS, "frames"), SPREAD: (1,)}
    return made.file.data(inputs, {voice: ("batch", size)}), voice


def spread(frames: int) -> float:
    """What turns the mean square of a window into the estimate of its variance; goes in beside the sound."""
    seen = (frames + 1) // 2
    return seen / (seen - 1)


class _Layers:
    """Layers by the names their tensors have."""

    def __init__(self, tensors: Tensors) -> None:
        self._tensors = tensors
        self.file = OnnxFile()

    def convolution(self, flow: str, name: str, **more: int | Sequence[int]) -> str:
        bias = self._tensors.get(f"{name}.bias")
        return self._convolution(flow, self._tensors[f"{name}.weight"], bias, **more)

    def normal(self, flow: str, name: str, norm: str, **more: int | Sequence[int]) -> str:
        """A convolution and the normalisation that follows it, in one."""
        scale, shift = self._normalisation(norm)
        weight = self._tensors[f"{name}.weight"]
        return self._convolution(flow, weight * scale.reshape(-1, *[1] * (weight.ndim - 1)), shift, **more)

    def rectified(self, flow: str, norm: str) -> str:
        scale, shift = (self.file.constant(one.reshape(1, -1, 1)) for one in self._normalisation(norm))
        return self.relu(self.file.add("Add", self.file.add("Mul", flow, scale), shift))

    def relu(self, flow: str) -> str:
        return self.file.add("Relu", flow)

    def mean(self, flow: str) -> str:
        return self.file.add("ReduceMean", flow, axes=[2], keepdims=1)

    def _convolution(self, flow: str, weight: Floats, bias: Floats | None, **more: int | Sequence[int]) -> str:
        import numpy

        constants = [weight] if bias is None else [weight, bias]
        names = [self.file.constant(numpy.ascontiguousarray(one, numpy.float32)) for one in constants]
        return self.file.add("Conv", flow, *names, **more)

    def _normalisation(self, name: str) -> tuple[Floats, Floats]:
        import numpy

        stem = name if f"{name}.running_mean" in self._tensors else f"{name}.batchnorm"
        mean, variance = self._tensors[f"{stem}.running_mean"], self._tensors[f"{stem}.running_var"]
        scale = self._tensors.get(f"{stem}.weight", numpy.ones_like(mean)) / numpy.sqrt(variance + _EVEN)
        return scale, self._tensors.get(f"{stem}.bias", numpy.zeros_like(mean)) - mean * scale


def _head(made: _Layers, flow: str) -> str:
    """Convolutions over bands and time, which leave an eighth of the bands."""
    import numpy

    around = [1, 1, 1, 1]
    flow = made.relu(made.normal(flow, "head.conv1", "head.bn1", pads=around))
    for layer in ("head.layer1", "head.layer2"):
        for number, strides in enumerate(([2, 1], [1, 1])):
            name = f"{layer}.{number}"
            inner = made.relu(made.normal(flow, f"{name}.conv1", f"{name}.bn1", strides=strides, pads=around))
            inner = made.normal(inner, f"{name}.conv2", f"{name}.bn2", pads=around)
            if number == 0:
                flow = made.normal(flow, f"{name}.shortcut.0", f"{name}.shortcut.1", strides=strides)
            flow = made.relu(made.file.add("Add", inner, flow))
    flow = made.relu(made.normal(flow, "head.conv2", "head.bn2", strides=[2, 1], pads=around))
    channels = 32 * BANDS // 8
    return made.file.add("Reshape", flow, made.file.constant(numpy.array([0, channels, -1], numpy.int64)))


def _dense_layer(made: _Layers, flow: str, name: str, dilation: int) -> str:
    """What is new in this layer, weighed by the context, beside everything before it."""
    import numpy

    inner = made.rectified(flow, f"{name}.nonlinear1")
    inner = made.relu(made.normal(inner, f"{name}.linear1", f"{name}.nonlinear2"))
    local = made.convolution(inner, f"{name}.cam_layer.linear_local", pads=[dilation] * 2, dilations=[dilation])
    # The mean of the window and the mean of each hundred frames of it, which are the same in a short window.
    context = made.file.add("Mul", made.mean(inner), made.file.constant(numpy.array([2], numpy.float32)))
    context = made.relu(made.convolution(context, f"{name}.cam_layer.linear1"))
    weights = made.file.add("Sigmoid", made.convolution(context, f"{name}.cam_layer.linear2"))
    return made.file.add("Concat", flow, made.file.add("Mul", local, weights), axis=1)


def _statistics(made: _Layers, flow: str) -> str:
    """Mean and standard deviation over time."""
    mean = made.mean(flow)
    apart = made.file.add("Sub", flow, mean)
    variance = made.file.add("Mul", made.mean(made.file.add("Mul", apart, apart)), SPREAD)
    return made.file.add("Concat", mean, made.file.add("Sqrt", variance), axis=1)
