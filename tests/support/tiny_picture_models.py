"""Models for pictures that know three colours: small ONNX files of our own making, laid out as exporters do."""

from __future__ import annotations

import json
from pathlib import Path

import numpy

from chyme.models.weights.onnx_writer import OnnxFile, _text

COLOURS = ("red", "green", "blue")
INVENTED = ("zorbel", "quimsel", "frandic")  # other words for the colours, which no other model knows
WORDS = ("[end]", "[start]", *COLOURS, "square", "[unknown]", *INVENTED)
_INT64 = 7
_SURE = 100.0
SIDE = 8


def make_captioner(folder: Path) -> Path:
    """A captioner that says "red square" of a red picture."""
    folder.mkdir(parents=True)
    encoder = OnnxFile(13)
    colour = _mean_colour(encoder)
    hidden = encoder.add("Reshape", colour, encoder.int_constant(1, 1, 3))
    (folder / "encoder_model.onnx").write_bytes(
        encoder.data({"pixel_values": (1, 3, "height", "width")}, {hidden: (1, 1, 3)})
    )
    table = numpy.zeros((len(WORDS), len(WORDS)), numpy.float32)
    for name in COLOURS:
        table[WORDS.index(name), WORDS.index("square")] = _SURE
    table[WORDS.index("square"), WORDS.index("[end]")] = _SURE
    seen = numpy.zeros((3, len(WORDS)), numpy.float32)
    seen[range(3), [WORDS.index(name) for name in COLOURS]] = 1.0
    decoder = OnnxFile(13)
    after = decoder.add("Gather", decoder.constant(table), decoder.add("Cast", "input_ids", to=_INT64), axis=0)
    logits = decoder.add("Add", after, decoder.add("MatMul", "encoder_hidden_states", decoder.constant(seen)))
    (folder / "decoder_model.onnx").write_bytes(
        decoder.data(
            {"input_ids": (1, "tokens"), "encoder_hidden_states": (1, 1, 3)}, {logits: (1, "tokens", len(WORDS))}
        )
    )
    ids = {"decoder_start_token_id": WORDS.index("[start]"), "eos_token_id": WORDS.index("[end]"), "max_length": 16}
    (folder / "generation_config.json").write_text(json.dumps(ids))
    _write_common(folder)
    return folder


def make_clip(folder: Path, joint: bool = False) -> Path:
    """A model in whose space the word "red" is near to a red picture. `joint`: one network for both, in `onnx/`."""
    networks = folder / "onnx" if joint else folder
    networks.mkdir(parents=True)
    words = {"input_ids": (1, "tokens")}
    pixels = {"pixel_values": (1, 3, "height", "width")}
    vision, text = OnnxFile(13), OnnxFile(13)
    if joint:
        both = vision
        text_vector, image_vector = _mean_word(both), _mean_colour(both)
        _name(both, image_vector, "image_embeds")
        _name(both, text_vector, "text_embeds")
        data = both.data({**words, **pixels}, {"image_embeds": (1, 3), "text_embeds": (1, 3)})
        (networks / "model.onnx").write_bytes(data)
    else:
        (networks / "vision_model.onnx").write_bytes(vision.data(pixels, {_mean_colour(vision): (1, 3)}))
        (networks / "text_model.onnx").write_bytes(text.data(words, {_mean_word(text): (1, 3)}))
    _write_common(folder)
    return folder


def _name(file: OnnxFile, value: str, name: str) -> None:
    """Give a value another name, as exporters do."""
    file._nodes.append(_text(1, value) + _text(2, name) + _text(4, "Identity"))


def _mean_colour(file: OnnxFile) -> str:
    return file.add("Flatten", file.add("GlobalAveragePool", "pixel_values"), axis=1)


def _mean_word(file: OnnxFile) -> str:
    table = numpy.full((len(WORDS), 3), -0.3, numpy.float32)  # fits every picture a little
    for channel, name in [*enumerate(COLOURS), *enumerate(INVENTED)]:
        table[WORDS.index(name)] = numpy.where(numpy.arange(3) == channel, 1.0, -1.0)
    rows = file.add("Gather", file.constant(table), file.add("Cast", "input_ids", to=_INT64), axis=0)
    return file.add("ReduceMean", rows, axes=[1], keepdims=0)


def _write_common(folder: Path) -> None:
    (folder / "config.json").write_text(
        json.dumps({"model_type": "tiny", "text_config": {"max_position_embeddings": 8}})
    )
    preprocessing = {"size": {"height": SIDE, "width": SIDE}, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    (folder / "preprocessor_config.json").write_text(json.dumps(preprocessing))
    special = [
        {"id": number, "content": word, "special": True, "single_word": False, "lstrip": False, "rstrip": False}
        | {"normalized": False}
        for number, word in enumerate(WORDS)
        if word.startswith("[")
    ]
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    tokenizer = {
        "version": "1.0",
        "added_tokens": special,
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[unknown]"},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
