"""Turn a picture into the numbers a network expects, as its preprocessor_config.json says."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chyme.errors import EngineUnavailable, UnreadableFile

LARGEST = 1536  # pixels of a side; a configuration with more is refused
DEFAULT_SIDE = 224
_MEAN, _SPREAD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)  # of CLIP
_BICUBIC = 3
_RESAMPLINGS = range(6)  # Pillow's numbers


@dataclass(frozen=True, slots=True)
class Preprocessing:
    """How a picture is resized, cut and scaled."""

    width: int
    height: int
    keep_shape: bool  # resize the shorter side and cut out the middle
    resample: int
    factor: float
    mean: tuple[float, ...]
    spread: tuple[float, ...]

    def apply(self, name: str, jpeg: bytes) -> Any:
        """An array of one picture: 1 × 3 × height × width. `name` is the file's name, for messages."""
        import numpy
        from PIL import Image, ImageOps

        size, method = (self.width, self.height), Image.Resampling(self.resample)
        try:
            with Image.open(io.BytesIO(jpeg), formats=("JPEG",)) as image:
                rgb = image.convert("RGB")
        except (OSError, ValueError, Image.DecompressionBombError) as error:
            raise UnreadableFile(f"{name}: its preview is broken ({error}); reset image-preview") from error
        small = ImageOps.fit(rgb, size, method) if self.keep_shape else rgb.resize(size, method)
        values: Any = numpy.asarray(small, dtype=numpy.float32) * numpy.float32(self.factor)
        values = (values - numpy.array(self.mean, numpy.float32)) / numpy.array(self.spread, numpy.float32)
        return numpy.ascontiguousarray(values.transpose(2, 0, 1)[None])


def read_preprocessing(config: Mapping[str, Any], where: str) -> Preprocessing:
    """The preprocessing in a configuration; EngineUnavailable if it makes no sense. `where` names it in messages."""
    crop = config.get("do_center_crop", False)
    width, height = _size_of(config.get("crop_size" if crop else "size"), where)
    shortest = isinstance(config.get("size"), Mapping) and "shortest_edge" in config["size"]
    resample = config.get("resample", _BICUBIC)
    factor = config.get("rescale_factor", 1 / 255) if config.get("do_rescale", True) else 1.0
    normalised = config.get("do_normalize", True)
    mean = _channels(config.get("image_mean"), _MEAN, where) if normalised else (0.0,) * 3
    spread = _channels(config.get("image_std"), _SPREAD, where) if normalised else (1.0,) * 3
    if resample not in _RESAMPLINGS or not isinstance(factor, int | float) or not all(spread):
        raise EngineUnavailable(f"{where} says nothing usable about resample, rescale_factor or image_std")
    return Preprocessing(width, height, bool(crop or shortest), int(resample), float(factor), mean, spread)


def _size_of(size: object, where: str) -> tuple[int, int]:
    if isinstance(size, Mapping):
        side = size.get("shortest_edge", DEFAULT_SIDE)
        pair = size.get("width", side), size.get("height", side)
    else:
        pair = (DEFAULT_SIDE if size is None else size,) * 2
    if not all(isinstance(side, int) and 1 <= side <= LARGEST for side in pair):
        raise EngineUnavailable(f"{where} wants pictures of {pair[0]} × {pair[1]} pixels; up to {LARGEST} are possible")
    return pair


def _channels(values: object, default: tuple[float, ...], where: str) -> tuple[float, ...]:
    if values is None:
        return default
    if not isinstance(values, Sequence) or len(values) != 3 or not all(isinstance(x, int | float) for x in values):
        raise EngineUnavailable(f"{where} must give three numbers for image_mean and image_std")
    return tuple(map(float, values))
