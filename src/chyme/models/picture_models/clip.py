"""Compare pictures with words: a CLIP-like model gives both a vector in one space."""

from __future__ import annotations

import functools
from typing import Any

from chyme.errors import EngineUnavailable
from chyme.models.picture_models.folder import (
    CONFIG,
    JOINT,
    PREPROCESSING,
    TEXT,
    VISION,
    ModelFolder,
    PictureModelSettings,
    identity_of,
    vector_space_of,
)
from chyme.models.picture_models.networks import SETTING, Network, load_tokenizer
from chyme.models.picture_models.pixels import read_preprocessing

USUAL_WINDOW = 77  # tokens of a text
PADDED = ("siglip",)  # model types that were trained on texts filled up to their window
MOST_CHARACTERS = 2000
LARGEST_VECTOR = 8192  # numbers


class Clip:
    """A model such as CLIP or SigLIP: `vision_model.onnx` and `text_model.onnx`, or one `model.onnx` with both."""

    def __init__(self, model: ModelFolder) -> None:
        self.model = vector_space_of(model)
        where = str(model.folder / PREPROCESSING)
        self._preprocessing = read_preprocessing(model.read_config(PREPROCESSING), where)
        if JOINT in model.networks:
            self._vision = self._text = Network(model.networks[JOINT])
        else:
            self._vision, self._text = Network(model.networks[VISION]), Network(model.networks[TEXT])
        self._tokenizer = load_tokenizer(model)
        config = model.read_config(CONFIG)
        nested = config.get("text_config")
        text_config: dict[str, Any] = nested if isinstance(nested, dict) else {}
        window = text_config.get("max_position_embeddings", USUAL_WINDOW)
        self._window = window if isinstance(window, int) and 0 < window <= 4096 else USUAL_WINDOW
        padding = text_config.get("pad_token_id", config.get("pad_token_id"))
        self._padding = padding if isinstance(padding, int) and padding >= 0 else 0
        self._padded = str(config.get("model_type", "")).startswith(PADDED)

    def embed_picture(self, name: str, jpeg: bytes) -> bytes:
        """A row of float32, little-endian, of length 1. `name` is the file's name, for messages."""
        import numpy

        words = numpy.full((1, self._text_length(1)), self._padding, numpy.int64)
        given = {"pixel_values": self._preprocessing.apply(name, jpeg), "input_ids": words}
        return self._row(self._vision, ("image_embeds", "image_features", "pooler_output"), given)

    def embed_text(self, text: str) -> bytes:
        """A row of float32, little-endian, of length 1."""
        import numpy

        ids = self._tokenizer.encode(text[:MOST_CHARACTERS].encode("utf-8", "replace").decode()).ids
        ids = ids if len(ids) <= self._window else [*ids[: self._window - 1], ids[-1]]
        length = self._text_length(len(ids))
        if length < len(ids):
            ids = [*ids[: length - 1], ids[-1]]
        padded = [*ids, *[self._padding] * (length - len(ids))]
        size = self._preprocessing
        given = {
            "input_ids": numpy.array([padded], numpy.int64),
            "attention_mask": numpy.array([[1] * len(ids) + [0] * (length - len(ids))], numpy.int64),
            "pixel_values": numpy.zeros((1, 3, size.height, size.width), numpy.float32),
        }
        return self._row(self._text, ("text_embeds", "text_features", "pooler_output"), given)

    def _text_length(self, tokens: int) -> int:
        fixed = self._text.fixed_length("input_ids")
        return fixed or (self._window if self._padded else tokens)

    def _row(self, network: Network, names: tuple[str, ...], given: dict[str, Any]) -> bytes:
        import numpy

        if "attention_mask" not in given:
            given = {**given, "attention_mask": numpy.ones(given["input_ids"].shape, numpy.int64)}
        (result,) = network.run([network.output_named(*names)], given)
        try:
            vector = numpy.asarray(result, numpy.float32)
        except (TypeError, ValueError) as error:
            raise EngineUnavailable(f"{network.path} gives no numbers; check {SETTING}") from error
        if vector.ndim != 2 or vector.shape[0] != 1 or vector.shape[1] > LARGEST_VECTOR:
            raise EngineUnavailable(f"{network.path} gives no vector of a picture or text; export its projection")
        length = float(numpy.linalg.norm(vector))
        if not numpy.isfinite(length) or length == 0:
            raise EngineUnavailable(f"{network.path} gives a vector that makes no sense; check {SETTING}")
        row: bytes = (vector[0] / length).astype("<f4", copy=False).tobytes()
        return row


def load_clip(settings: PictureModelSettings) -> Clip:
    """The model in the user's folder, loaded again when it has changed, or EngineUnavailable with the way out."""
    model = settings.clip
    if model is None:
        raise EngineUnavailable(
            f"there is no model in {settings.model_dir} that compares pictures with words and that children may read; "
            f"set {SETTING}"
        )
    return _load(settings, identity_of(model))


@functools.lru_cache(maxsize=1)
def _load(settings: PictureModelSettings, identity: str) -> Clip:
    """`identity` is part of the key: a child outlives a change of the folder."""
    model = settings.clip
    if model is None:
        raise EngineUnavailable(f"the model in {settings.model_dir} was removed; set {SETTING}")
    return Clip(model)
