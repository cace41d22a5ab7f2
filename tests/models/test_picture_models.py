"""Models for pictures in a folder of the user's."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import numpy
import pytest
from PIL import Image
from tiny_picture_models import COLOURS, make_captioner, make_clip

from chyme.errors import EngineUnavailable, UnreadableFile
from chyme.models.picture_models.captioner import load_captioner
from chyme.models.picture_models.clip import Clip, load_clip
from chyme.models.picture_models.folder import PictureModelSettings, identity_of, vector_space_of
from chyme.models.picture_models.pixels import Preprocessing, read_preprocessing

RGB = {"red": (220, 20, 20), "green": (20, 200, 20), "blue": (20, 20, 220)}


def jpeg_of(colour: str, size: tuple[int, int] = (64, 48)) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, RGB[colour]).save(out, "JPEG", quality=95)
    return out.getvalue()


def settings_of(folder: Path) -> PictureModelSettings:
    return PictureModelSettings(str(folder))


def clip_of(folder: Path) -> Clip:
    return load_clip(settings_of(folder))


def cosine(one: bytes, other: bytes) -> float:
    return float(numpy.frombuffer(one, "<f4") @ numpy.frombuffer(other, "<f4"))


@pytest.mark.parametrize("colour", COLOURS)
def test_a_captioner_describes_a_picture_word_by_word(tmp_path: Path, colour: str) -> None:
    captioner = load_captioner(settings_of(make_captioner(tmp_path / "tiny")))
    assert captioner.describe("a.jpg", jpeg_of(colour)) == f"{colour} square"
    assert captioner.name == "tiny"


def test_a_captioner_that_never_ends_is_cut_off(tmp_path: Path) -> None:
    folder = make_captioner(tmp_path / "tiny")
    (folder / "generation_config.json").write_text(json.dumps({"decoder_start_token_id": 1, "max_length": 10**9}))
    assert len(load_captioner(settings_of(folder)).describe("a.jpg", jpeg_of("red")).split()) < 64


@pytest.mark.parametrize("joint", [False, True])
def test_words_are_near_to_the_pictures_they_describe(tmp_path: Path, joint: bool) -> None:
    clip = clip_of(make_clip(tmp_path / "tiny", joint))
    for colour in COLOURS:
        picture = clip.embed_picture("a.jpg", jpeg_of(colour))
        assert numpy.linalg.norm(numpy.frombuffer(picture, "<f4")) == pytest.approx(1.0, abs=1e-5)
        nearest = max(COLOURS, key=lambda word: cosine(clip.embed_text(f"a {word} thing"), picture))
        assert nearest == colour


def test_long_texts_are_cut_to_the_models_window(tmp_path: Path) -> None:
    clip = clip_of(make_clip(tmp_path / "tiny"))
    assert clip.embed_text("red " * 8) == clip.embed_text("red " * 5000)


def test_models_are_found_in_the_folder_and_in_folders_inside_it(tmp_path: Path) -> None:
    make_captioner(tmp_path / "captions")
    make_clip(tmp_path / "search", joint=True)
    found = settings_of(tmp_path)
    assert found.captioner is not None and found.captioner.name == "captions"
    assert found.clip is not None and found.clip.name == "search"
    assert settings_of(tmp_path / "captions").clip is None
    assert PictureModelSettings().clip is None and PictureModelSettings().captioner is None
    assert settings_of(tmp_path / "nowhere").captioner is None


def test_a_smaller_copy_is_used_where_the_usual_one_is_missing(tmp_path: Path) -> None:
    folder = make_clip(tmp_path / "tiny")
    (folder / "vision_model.onnx").rename(folder / "vision_model_quantized.onnx")
    assert cosine(clip_of(folder).embed_picture("a.jpg", jpeg_of("red")), clip_of(folder).embed_text("red")) > 0.9


def test_the_identity_changes_with_the_model_and_the_vector_space_only_with_its_content(tmp_path: Path) -> None:
    folder = make_clip(tmp_path / "tiny")
    model = settings_of(folder).clip
    assert model is not None
    identity, space = identity_of(model), vector_space_of(model)
    network = folder / "text_model.onnx"
    stamp = network.stat().st_mtime_ns + 10**9
    os.utime(network, ns=(stamp, stamp))
    assert identity_of(model) != identity
    assert vector_space_of(model) == space
    network.write_bytes(network.read_bytes() + b"\0")
    assert vector_space_of(model) != space


@pytest.mark.parametrize("broken", ["vision_model.onnx", "tokenizer.json", "preprocessor_config.json", "config.json"])
def test_a_broken_model_is_unavailable_and_names_the_file(tmp_path: Path, broken: str) -> None:
    folder = make_clip(tmp_path / "tiny")
    (folder / broken).write_bytes(b"{no model}")
    with pytest.raises(EngineUnavailable, match=broken):
        clip_of(folder)


def test_a_network_that_wants_more_than_there_is_is_unavailable(tmp_path: Path) -> None:
    folder = make_clip(tmp_path / "tiny")
    decoder = make_captioner(tmp_path / "other") / "decoder_model.onnx"
    (folder / "vision_model.onnx").write_bytes(decoder.read_bytes())
    with pytest.raises(EngineUnavailable, match="wants encoder_hidden_states"):
        clip_of(folder).embed_picture("a.jpg", jpeg_of("red"))


def test_without_a_model_it_says_which_setting_to_change(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match="picture_model_dir"):
        load_clip(settings_of(tmp_path))
    with pytest.raises(EngineUnavailable, match="picture_model_dir"):
        load_captioner(settings_of(tmp_path))


def test_a_broken_preview_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match=r"^a\.jpg: "):
        clip_of(make_clip(tmp_path / "tiny")).embed_picture("a.jpg", b"\xff\xd8nothing")


@pytest.mark.parametrize(
    ("config", "size", "keeps_shape"),
    [
        ({}, (224, 224), False),
        ({"size": 32}, (32, 32), False),
        ({"size": {"height": 10, "width": 20}}, (20, 10), False),
        ({"size": {"shortest_edge": 30}}, (30, 30), True),
        ({"size": {"shortest_edge": 30}, "do_center_crop": True, "crop_size": 24}, (24, 24), True),
        ({"size": 30, "do_center_crop": True, "crop_size": {"height": 6, "width": 8}}, (8, 6), True),
    ],
)
def test_pictures_are_prepared_as_the_configuration_says(
    config: dict[str, object], size: tuple[int, int], keeps_shape: bool
) -> None:
    found = read_preprocessing(config, "here")
    assert (found.width, found.height, found.keep_shape) == (*size, keeps_shape)
    assert found.apply("a.jpg", jpeg_of("red")).shape == (1, 3, size[1], size[0])


def test_numbers_are_scaled_and_shifted() -> None:
    plain = Preprocessing(2, 2, False, 3, 1 / 255, (0.5,) * 3, (0.5,) * 3)
    values = plain.apply("a.jpg", jpeg_of("red"))
    assert values[0, :, 0, 0] == pytest.approx([220 / 127.5 - 1, 20 / 127.5 - 1, 20 / 127.5 - 1], abs=0.03)
    raw = read_preprocessing({"size": 2, "do_rescale": False, "do_normalize": False}, "here")
    assert raw.apply("a.jpg", jpeg_of("red"))[0, :, 0, 0] == pytest.approx([220, 20, 20], abs=4)


@pytest.mark.parametrize(
    "config",
    [
        {"size": 100_000},
        {"size": {"height": 0, "width": 8}},
        {"size": "big"},
        {"image_mean": [1, 2]},
        {"image_std": [0, 1, 1]},
        {"resample": 99},
        {"rescale_factor": "x"},
    ],
)
def test_a_configuration_that_makes_no_sense_is_refused(config: dict[str, object]) -> None:
    with pytest.raises(EngineUnavailable, match="here"):
        read_preprocessing(config, "here")


def test_weights_in_a_file_of_their_own_belong_to_the_model(tmp_path: Path) -> None:
    folder = make_clip(tmp_path / "tiny")
    model = settings_of(folder).clip
    assert model is not None
    weights = next(iter(model.networks.values()))
    before = identity_of(model), vector_space_of(model)
    weights.with_name(f"{weights.name}_data").write_bytes(b"other weights")
    after = identity_of(model), vector_space_of(model)
    assert before[0] != after[0]
    assert before[1] != after[1]


def test_a_pipe_in_the_place_of_a_configuration_is_not_opened(tmp_path: Path) -> None:
    folder = make_captioner(tmp_path / "tiny")
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")
    model = settings_of(folder).captioner
    assert model is not None
    assert identity_of(model)
    with pytest.raises(EngineUnavailable, match="not an ordinary file"):
        model.read_config("config.json")


def test_a_start_token_no_network_can_have_is_refused(tmp_path: Path) -> None:
    folder = make_captioner(tmp_path / "tiny")
    for name in ("config.json", "generation_config.json"):
        path = folder / name
        if path.exists():
            fields = {
                key: 10**30 if key.endswith("token_id") else value
                for key, value in json.loads(path.read_bytes()).items()
            }
            path.write_text(json.dumps(fields), encoding="utf-8")
    with pytest.raises(EngineUnavailable, match="decoder_start_token_id"):
        load_captioner(settings_of(folder))


def test_a_model_that_has_changed_is_loaded_again(tmp_path: Path) -> None:
    folder = make_clip(tmp_path / "tiny")
    first = load_clip(settings_of(folder))
    assert load_clip(settings_of(folder)) is first
    config = folder / "config.json"
    fields = json.loads(config.read_bytes()) if config.exists() else {}
    config.write_text(json.dumps({**fields, "changed": True}), encoding="utf-8")
    assert load_clip(settings_of(folder)) is not first
