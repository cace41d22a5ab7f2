"""The digester that says what a picture shows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from picture_source import FILE, PictureSource
from tiny_picture_models import make_captioner
from upstreams import upstream
from vision_server import CAPTION, Provider, fails, says, serving

from chyme.errors import ContentBlocked, NetworkFailed, UpstreamMissing
from chyme.model import File, Kind, Stamp
from chyme.models.picture_models.folder import PictureModelSettings
from chyme.models.providers.endpoints import VisionSettings
from chyme.pictures.image_captioning import ImageCaptioning

pytestmark = pytest.mark.slow

SCENES = Path(__file__).parents[1] / "samples" / "scenes"


def source_of(
    scene: str,
    *,
    file: File = FILE,
    words: str | None = None,
    names: tuple[str, ...] = (),
    confidence: float | None = 0.9,
    facts: str = "{}",
) -> PictureSource:
    jpeg = (SCENES / scene).read_bytes()
    inputs = {"image-preview": upstream("image-preview", facts, artifacts={"preview.jpg": jpeg})}
    if words is not None:
        inputs["image-ocr"] = upstream("image-ocr", words)
    if names:
        objects = json.dumps(
            {"objects": [{"name": name, "confidence": confidence} for name in names], "engine": "detector"}
        )
        inputs["image-objects"] = upstream("image-objects", objects)
    return PictureSource(file, inputs)


def vision(provider: Provider) -> VisionSettings:
    return VisionSettings(provider.url, "seer", "sk-secret", 20.0)


def content_of(digester: ImageCaptioning, source: PictureSource) -> dict[str, Any]:
    (output,) = digester.digest(source)
    assert output.name == "image-captioning"
    assert output.content is not None
    content: dict[str, Any] = json.loads(output.content)
    return content


def test_only_pictures_are_digested() -> None:
    assert [kind for kind in Kind if ImageCaptioning().can_digest(replace(FILE, kind=kind))] == [Kind.IMAGE]


def test_a_sentence_is_composed_from_things_words_and_the_sort_of_picture() -> None:
    source = source_of("hills.jpg", words="Har[?]bour\nStreet [?]", names=("person", "dog", "person"))
    assert content_of(ImageCaptioning(), source) == {
        "text": "An outdoor photograph of two people and a dog; it says “Harbour Street”.",
        "engine": "composed",
        "composed": True,
        "words": "Harbour Street",
        "evidence": ["sky and greenery"],
    }


@pytest.mark.parametrize(
    ("scene", "text"),
    [
        ("blue.jpg", "A plain blue picture."),
        ("hills.jpg", "An outdoor photograph, mostly blue."),
        ("night.jpg", "A dark black-and-white picture."),
        ("diagram.jpg", "A drawing or diagram, mostly yellow."),
        ("stop.jpg", "A picture, mostly blue."),
    ],
)
def test_the_caption_is_composed_from_what_is_available(scene: str, text: str) -> None:
    content = content_of(ImageCaptioning(), source_of(scene))
    content.pop("evidence", None)
    assert content == {"text": text, "engine": "composed", "composed": True}


def test_things_are_told_with_their_colour_and_where_they_are() -> None:
    sign = {"name": "car", "category": "vehicle", "confidence": 0.9, "box": [0.25, 0.2, 0.75, 0.3]}
    objects = upstream("image-objects", json.dumps({"objects": [sign], "engine": "detector"}))
    source = source_of("stop.jpg")
    seen = replace(source, inputs={**source.inputs, "image-objects": objects})
    assert content_of(ImageCaptioning(), seen)["text"] == "A picture of a red car at the top."


def test_the_colour_in_a_persons_box_is_not_told_of_the_person() -> None:
    for category in ("person", "human"):
        thing = {"name": "person", "category": category, "confidence": 0.9, "box": [0.25, 0.2, 0.75, 0.3]}
        objects = upstream("image-objects", json.dumps({"objects": [thing], "engine": "detector"}))
        source = source_of("stop.jpg")
        seen = replace(source, inputs={**source.inputs, "image-objects": objects})
        assert content_of(ImageCaptioning(), seen)["text"] == "A picture of a person at the top."


@pytest.mark.parametrize(
    ("confidence", "text"),
    [
        (0.8, "An outdoor photograph of an apple."),
        (None, "An outdoor photograph of an apple."),
        (0.79, "An outdoor photograph of what looks like an apple."),
    ],
)
def test_a_detector_that_is_not_sure_is_quoted_with_doubt(confidence: float | None, text: str) -> None:
    source = source_of("hills.jpg", names=("apple",), confidence=confidence)
    assert content_of(ImageCaptioning(), source)["text"] == text


def test_a_page_is_quoted_by_its_first_words() -> None:
    words = "The tide was out and the harbour lay still as glass.\n" * 26 + "\n> note: the rest is blank"
    content = content_of(ImageCaptioning(), source_of("page.jpg", words=words))
    assert content["text"] == "A page of text; it begins “The tide was out and the harbour lay …”."
    assert len(content["words"]) <= 200


def test_a_camera_makes_it_a_photograph() -> None:
    source = source_of("stop.jpg", facts='{"camera":{"make":"Acme"}}')
    assert content_of(ImageCaptioning(), source)["text"] == "A photograph, mostly blue."


def test_a_captioner_in_the_users_folder_describes_the_picture(tmp_path: Path) -> None:
    digester = ImageCaptioning(model=PictureModelSettings(str(make_captioner(tmp_path / "tiny"))))
    assert content_of(digester, source_of("blue.jpg", words="Rex")) == {
        "text": "blue square",
        "visible_text": "",
        "engine": "tiny",
        "composed": False,
    }
    assert digester.fingerprint != ImageCaptioning().fingerprint
    assert digester.portable_fingerprint == ""  # the folder is this machine's own


def test_a_broken_captioner_costs_no_caption(tmp_path: Path) -> None:
    folder = make_captioner(tmp_path / "tiny")
    (folder / "decoder_model.onnx").write_bytes(b"nothing")
    content = content_of(ImageCaptioning(model=PictureModelSettings(str(folder))), source_of("blue.jpg"))
    assert (content["text"], content["composed"]) == ("A plain blue picture.", True)
    assert "decoder_model.onnx cannot be loaded" in content["note"]


def test_without_a_preview_there_is_nothing_to_look_at() -> None:
    with pytest.raises(UpstreamMissing, match=r"^pier\.jpg: "):
        ImageCaptioning().digest(PictureSource(inputs={"image-ocr": upstream("image-ocr", "words")}))


def test_the_vision_model_is_asked_where_there_is_one() -> None:
    with serving([says(CAPTION)]) as provider:
        digester = ImageCaptioning(vision(provider))
        assert digester.waits_for(FILE)
        content = content_of(digester, source_of("stop.jpg", words="not this"))
    assert content == {
        "text": "A dog on a pier.",
        "visible_text": "Harbour Street",
        "engine": "seer",
        "composed": False,
    }


def test_text_of_a_model_is_cleaned_and_cut() -> None:
    with serving([says({"caption": "A \x1bdog\u202e.\n" + "x" * 5000, "visible_text": "a\x00b"})]) as provider:
        content = content_of(ImageCaptioning(vision(provider)), source_of("stop.jpg"))
    assert content["text"].startswith("A dog .")
    assert len(content["text"]) == 1000
    assert content["visible_text"] == "a b"


def test_a_models_caption_loses_its_markup_and_the_words_in_the_picture_keep_theirs() -> None:
    caption = "## A **red** boat<script>alert(1)</script> at the [pier](javascript:alert(2)) <img src=x onerror=y>"
    with serving([says({"caption": caption, "visible_text": "<b>SALE</b>"})]) as provider:
        content = content_of(ImageCaptioning(vision(provider)), source_of("stop.jpg"))
    assert (content["text"], content["visible_text"]) == ("A red boat at the pier", "<b>SALE</b>")
    with serving([says({"caption": " ", "visible_text": "<b>SALE</b>"})]) as provider:
        content = content_of(ImageCaptioning(vision(provider)), source_of("stop.jpg"))
    assert (content["text"], content["visible_text"]) == ("SALE", "<b>SALE</b>")


def test_a_caption_of_nothing_is_no_content() -> None:
    with serving([says({"caption": " \u200b ", "visible_text": ""})]) as provider:
        (output,) = ImageCaptioning(vision(provider)).digest(source_of("stop.jpg"))
    assert output.content is None


def test_a_refusal_is_not_worked_around() -> None:
    with serving([says(None, refusal="I will not.")]) as provider, pytest.raises(ContentBlocked):
        ImageCaptioning(vision(provider)).digest(source_of("stop.jpg"))


def test_without_its_model_it_is_composed_as_if_there_were_none() -> None:
    with serving([fails(500)]) as provider:
        digester, source = ImageCaptioning(vision(provider)), source_of("stop.jpg", words="Harbour Street")
        with pytest.raises(NetworkFailed):
            digester.digest(source)
        assert digester.without_model(source) == ImageCaptioning().digest(source)
    assert len(provider.asked) == 1
    assert (digester.asks(FILE), ImageCaptioning().asks(FILE)) == ("vision", None)
    assert digester.promises.falls_back


def test_a_large_heic_file_is_never_sent_and_a_note_says_so() -> None:
    large = replace(FILE, name="IMG_1.heic", mime="image/heic", stamp=Stamp("1", "1", 2000, 0))
    with serving([says(CAPTION)]) as provider:
        digester = ImageCaptioning(replace(vision(provider), heic_bytes=1999))
        assert not digester.waits_for(large)
        assert digester.asks(large) is None
        content = content_of(digester, source_of("hills.jpg", file=large))
    assert provider.asked == []
    assert content["composed"] is True
    assert "heic_bytes" in content["note"]


def test_the_time_limit_is_longer_than_the_model_may_take() -> None:
    asking = ImageCaptioning(VisionSettings("http://h/v1", "seer", seconds=90), seconds=7)
    assert asking.time_limit(source_of("stop.jpg")) > 90 + 7
    assert ImageCaptioning(seconds=7).time_limit(source_of("stop.jpg")) == 7
    assert not ImageCaptioning().waits_for(FILE)


def test_the_recipe_knows_the_model_but_not_the_key() -> None:
    here = VisionSettings("http://h/v1", "seer", "sk-1")
    assert len({ImageCaptioning(settings).recipe for settings in (None, here, replace(here, model="b"))}) == 3
    assert ImageCaptioning(replace(here, key="sk-2")).recipe == ImageCaptioning(here).recipe


def test_a_thing_that_is_not_sure_is_not_named_of_a_drawing() -> None:
    source = source_of("diagram.jpg", names=("tv",), confidence=0.7)
    assert "tv" not in content_of(ImageCaptioning(), source)["text"]


def test_a_number_is_a_lower_bound_where_others_are_not_sure() -> None:
    people = [{"name": "person", "category": "person", "confidence": sure} for sure in (0.9, 0.85, 0.6)]
    objects = upstream("image-objects", json.dumps({"objects": people, "engine": "detector"}))
    source = source_of("hills.jpg")
    seen = replace(source, inputs={**source.inputs, "image-objects": objects})
    assert content_of(ImageCaptioning(), seen)["text"] == "An outdoor photograph of at least two people."
