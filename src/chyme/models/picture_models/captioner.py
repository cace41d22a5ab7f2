"""Describe a picture in words with an encoder and a decoder, one most likely word after the other."""

from __future__ import annotations

import functools
from typing import Any

from chyme.errors import EngineUnavailable
from chyme.models.picture_models.folder import (
    CONFIG,
    DECODER,
    ENCODER,
    GENERATION,
    PREPROCESSING,
    ModelFolder,
    PictureModelSettings,
    identity_of,
)
from chyme.models.picture_models.networks import SETTING, Network, load_tokenizer
from chyme.models.picture_models.pixels import read_preprocessing

MOST_TOKENS, USUAL_TOKENS = 64, 32
_LARGEST_TOKEN = 1 << 31
_REPEATED = 4  # a token that comes so often in a row ends the sentence


class Captioner:
    """A model such as ViT-GPT2, TrOCR or GIT, exported as `encoder_model.onnx` and `decoder_model.onnx`."""

    def __init__(self, model: ModelFolder) -> None:
        self.name = model.name
        where = str(model.folder / PREPROCESSING)
        self._preprocessing = read_preprocessing(model.read_config(PREPROCESSING), where)
        self._encoder, self._decoder = Network(model.networks[ENCODER]), Network(model.networks[DECODER])
        self._tokenizer = load_tokenizer(model)
        config = _merge_configs(model)
        self._start = _first_number(config, "decoder_start_token_id", "bos_token_id", "cls_token_id")
        self._ends = _numbers(config.get("eos_token_id", config.get("sep_token_id")))
        self._length = min(MOST_TOKENS, _first_number(config, "max_length", "max_new_tokens", default=USUAL_TOKENS))

    def describe(self, name: str, jpeg: bytes) -> str:
        """A sentence about the picture; empty if the model has none. `name` is the file's name, for messages."""
        import numpy

        pixels = self._preprocessing.apply(name, jpeg)
        (hidden,) = self._encoder.run([self._encoder.output_named("last_hidden_state")], {"pixel_values": pixels})
        if getattr(hidden, "ndim", 0) != 3:
            raise EngineUnavailable(f"{self._encoder.path} does not describe a picture; check {SETTING}")
        tokens = [self._start]
        while len(tokens) < self._length:
            given = {
                "input_ids": numpy.array([tokens], numpy.int64),
                "attention_mask": numpy.ones((1, len(tokens)), numpy.int64),
                "encoder_hidden_states": hidden,
                "encoder_attention_mask": numpy.ones(hidden.shape[:2], numpy.int64),
            }
            (scores,) = self._decoder.run([self._decoder.output_named("logits")], given)
            if getattr(scores, "ndim", 0) != 3 or not scores.size or not numpy.isfinite(scores[0, -1]).all():
                raise EngineUnavailable(f"{self._decoder.path} gives no likelihoods of words; check {SETTING}")
            token = int(scores[0, -1].argmax())
            tokens.append(token)
            if token in self._ends or len(set(tokens[-_REPEATED:])) == 1 < len(tokens) - _REPEATED:
                break
        return " ".join(self._tokenizer.decode(tokens[1:], skip_special_tokens=True).split())


def load_captioner(settings: PictureModelSettings) -> Captioner:
    """The captioner in the user's folder, loaded again when it has changed, or EngineUnavailable with the way out."""
    model = settings.captioner
    if model is None:
        raise EngineUnavailable(f"there is no captioner in {settings.model_dir} that children may read; set {SETTING}")
    return _load(settings, identity_of(model))


@functools.lru_cache(maxsize=1)
def _load(settings: PictureModelSettings, identity: str) -> Captioner:
    """`identity` is part of the key: a child outlives a change of the folder."""
    model = settings.captioner
    if model is None:
        raise EngineUnavailable(f"the model in {settings.model_dir} was removed; set {SETTING}")
    return Captioner(model)


def _merge_configs(model: ModelFolder) -> dict[str, Any]:
    """What the decoder's configuration says, overridden by the model's, overridden by that of generation."""
    config = model.read_config(CONFIG)
    decoder = config.get("decoder")
    layers = (decoder if isinstance(decoder, dict) else {}, config, model.read_config(GENERATION))
    return {name: value for layer in layers for name, value in layer.items() if value is not None}


def _first_number(config: dict[str, Any], *names: str, default: int | None = None) -> int:
    for name in names:
        value = config.get(name)
        if isinstance(value, int) and 0 <= value <= _LARGEST_TOKEN:
            return value
    if default is None:
        raise EngineUnavailable(f"the captioner's configuration has no {names[0]}; export the model again")
    return default


def _numbers(value: object) -> frozenset[int]:
    values = value if isinstance(value, list) else [value]
    return frozenset(number for number in values if isinstance(number, int))
