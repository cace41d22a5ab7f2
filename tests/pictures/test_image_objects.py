"""The digester that finds things in pictures."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from picture_source import FILE, PictureSource
from upstreams import upstream
from vision_server import OBJECTS as SEEN
from vision_server import Provider, fails, says, serving

from chyme.core.children.places import Family
from chyme.core.children.runner import Runner
from chyme.core.children.task import Task
from chyme.digester import Digester
from chyme.errors import EngineUnavailable, NetworkFailed, RateLimited, UpstreamMissing
from chyme.model import File, Kind, Limits, Stamp, Upstream
from chyme.models.providers.endpoints import VisionSettings
from chyme.models.weights.catalog import OBJECTS
from chyme.models.weights.folder import path_of
from chyme.pictures.image_objects import ImageObjects
from chyme.pictures.object_detector import DetectorSettings

pytestmark = pytest.mark.slow  # each takes a little, and there are many

SCENES = Path(__file__).parents[1] / "samples" / "scenes"
DETECTOR = DetectorSettings(os.environ.get("CHYME_WEIGHTS_DIR", ""))
MB = 1 << 20
needs_weights = pytest.mark.skipif(
    path_of(OBJECTS, DETECTOR.weights_dir) is None, reason="needs the detector's weights: chyme weights objects"
)


def source_of(scene: str, file: File = FILE) -> PictureSource:
    return PictureSource(file, {"image-preview": previewed(scene)})


def previewed(scene: str) -> Upstream:
    return upstream("image-preview", "{}", artifacts={"preview.jpg": (SCENES / scene).read_bytes()})


def vision(provider: Provider) -> VisionSettings:
    return VisionSettings(provider.url, "seer", "sk-secret", 20.0)


def content_of(digester: Digester, source: PictureSource) -> dict[str, Any]:
    (output,) = digester.digest(source)
    assert output.name == digester.name
    assert output.content is not None
    content: dict[str, Any] = json.loads(output.content)
    return content


def children(config: dict[str, Any]) -> dict[str, Digester]:
    """What the child of these tests loads."""
    return {"image-objects": ImageObjects(DetectorSettings(config["weights_dir"]))}


def test_only_pictures_are_digested() -> None:
    assert [kind for kind in Kind if ImageObjects().can_digest(replace(FILE, kind=kind))] == [Kind.IMAGE]


@needs_weights
def test_the_detector_describes_objects_and_their_places() -> None:
    content = content_of(ImageObjects(DETECTOR), source_of("stop.jpg"))
    (thing,) = content["objects"]
    assert content["engine"] == "ssd-mobilenet-v2-coco"
    assert list(thing) == ["name", "description", "category", "tags", "box", "confidence"]
    assert thing["name"] == "stop sign"
    assert thing["description"] == "a stop sign, in the middle"
    assert (thing["category"], thing["tags"]) == ("outdoor", ["stop sign", "outdoor"])
    assert all(0 <= edge <= 1 for edge in thing["box"])
    assert thing["confidence"] > 0.9


@needs_weights
def test_nothing_found_completes_without_content() -> None:
    (output,) = ImageObjects(DETECTOR).digest(source_of("blue.jpg"))
    assert output.content is None


def test_without_a_preview_there_is_nothing_to_look_at() -> None:
    for inputs in ({}, {"image-preview": upstream("image-preview", "{}")}):
        with pytest.raises(UpstreamMissing, match=r"^pier\.jpg: "):
            ImageObjects(DETECTOR).digest(PictureSource(inputs=inputs))


def test_without_weights_it_is_unavailable_and_wakes_when_they_appear(tmp_path: Path) -> None:
    settings = DetectorSettings(str(tmp_path))
    before = ImageObjects(settings).recipe
    with pytest.raises(EngineUnavailable, match="chyme weights objects"):
        ImageObjects(settings).digest(source_of("stop.jpg"))
    (tmp_path / "objects").mkdir()
    for member in OBJECTS.members:
        with (tmp_path / "objects" / member.filename).open("wb") as file:
            file.truncate(member.size)
    assert ImageObjects(settings).recipe != before


def test_the_vision_model_is_asked_where_there_is_one() -> None:
    with serving([says(SEEN)]) as provider:
        digester = ImageObjects(DETECTOR, vision(provider))
        assert digester.waits_for(FILE)
        content = content_of(digester, source_of("stop.jpg"))
    assert provider.asked[0].pictures == [(SCENES / "stop.jpg").read_bytes()]
    assert content == {
        "objects": [
            {
                "name": "dog",
                "description": "A brown dog with a collar that says REX.",
                "category": "animal",
                "tags": ["dog", "brown"],
                "box": [0.1, 0.2, 0.5, 0.9],
                "confidence": None,
            }
        ],
        "engine": "seer",
    }


def seen(*boxes: list[float] | None) -> dict[str, Any]:
    return {"objects": [{**SEEN["objects"][0], "name": f"dog {n}", "box": box} for n, box in enumerate(boxes)]}


def test_a_models_boxes_are_corrected_or_unknown() -> None:
    """The picture is 480 × 480: numbers within 0..1000 that exceed 480 cannot be pixels."""
    answers = [
        seen([0.9, 0.2, -0.5, 0.4], None, [0.5], [0.2, 0.2, 0.2, 0.2]),
        seen([100, 200, 500, 900]),
        seen([10, 20, 30, 40]),
    ]
    with serving([says(answer) for answer in answers]) as provider:
        digester = ImageObjects(DETECTOR, vision(provider))
        found = [content_of(digester, source_of("stop.jpg"))["objects"] for _ in answers]
    assert [[thing["box"] for thing in objects] for objects in found] == [
        [[0.0, 0.2, 0.9, 0.4], None, None, None],
        [[0.1, 0.2, 0.5, 0.9]],
        [None],
    ]


def test_no_more_than_fifty_objects_are_kept() -> None:
    with serving([says(seen(*[None] * 70))]) as provider:
        assert len(content_of(ImageObjects(DETECTOR, vision(provider)), source_of("stop.jpg"))["objects"]) == 50


def test_a_model_that_sees_nothing_completes_without_content() -> None:
    with serving([says({"objects": []})]) as provider:
        (output,) = ImageObjects(DETECTOR, vision(provider)).digest(source_of("stop.jpg"))
    assert output.content is None


def test_a_models_fault_is_the_digests_fault() -> None:
    with serving([fails(429, Retry_After="9")]) as provider, pytest.raises(RateLimited) as caught:
        ImageObjects(DETECTOR, vision(provider)).digest(source_of("stop.jpg"))
    assert caught.value.retry_after == 9


@needs_weights
def test_without_its_model_the_detector_is_used() -> None:
    with serving([fails(500)]) as provider:
        digester, source = ImageObjects(DETECTOR, vision(provider)), source_of("stop.jpg")
        with pytest.raises(NetworkFailed):
            digester.digest(source)
        assert digester.without_model(source) == ImageObjects(DETECTOR).digest(source)
    assert len(provider.asked) == 1


def test_it_names_its_provider_and_says_that_it_can_do_without_it() -> None:
    asking = ImageObjects(DETECTOR, VisionSettings("http://h/v1", "seer"))
    large = replace(FILE, name="IMG_1.heic", mime="image/heic", stamp=Stamp("1", "1", 15 * MB + 1, 0))
    assert [asking.asks(FILE), asking.asks(large), ImageObjects(DETECTOR).asks(FILE)] == ["vision", None, None]
    assert asking.promises.falls_back


@needs_weights
def test_a_large_heic_file_is_never_sent_and_a_note_says_so() -> None:
    large = replace(FILE, name="IMG_1.heic", mime="image/heic", stamp=Stamp("1", "1", 15 * MB + 1, 0))
    with serving([says(SEEN)]) as provider:
        digester = ImageObjects(DETECTOR, vision(provider))
        assert not digester.waits_for(large)
        assert digester.waits_for(replace(large, stamp=Stamp("1", "1", 15 * MB, 0)))
        content = content_of(digester, source_of("stop.jpg", large))
    assert provider.asked == []
    assert content["engine"] == "ssd-mobilenet-v2-coco"
    assert "heic_bytes" in content["note"]


def test_the_time_limit_is_longer_than_the_model_may_take() -> None:
    asking = ImageObjects(DETECTOR, VisionSettings("http://h/v1", "seer", seconds=90), seconds=7)
    assert asking.time_limit(source_of("stop.jpg")) > 90 + 7
    assert ImageObjects(DETECTOR, seconds=7).time_limit(source_of("stop.jpg")) == 7
    assert not ImageObjects(DETECTOR).waits_for(FILE)


def test_the_recipe_knows_the_model_but_not_the_key() -> None:
    here = VisionSettings("http://h/v1", "seer", "sk-1")
    recipes = {ImageObjects(DETECTOR, settings).recipe for settings in (None, here, replace(here, model="b"))}
    assert len(recipes) == 3
    assert ImageObjects(DETECTOR, replace(here, key="sk-2")).recipe == ImageObjects(DETECTOR, here).recipe
    assert "sk-1" not in ImageObjects(DETECTOR, here).fingerprint


@pytest.fixture
def runner() -> Iterator[Runner]:
    made = Runner(
        "test_image_objects:children",
        {"weights_dir": DETECTOR.weights_dir},
        {"pictures": Family(1, 1024 * MB)},
        import_from=[Path(__file__).parent, Path(__file__).parents[1] / "support"],
    )
    yield made
    made.close()


@needs_weights
def test_a_confined_child_loads_the_network_once_and_serves_one_picture_after_the_other(
    runner: Runner, tmp_path: Path
) -> None:
    found = []
    for name in ("stop.jpg", "clock.jpg", "blue.jpg"):
        scratch = tmp_path / name
        scratch.mkdir()
        task = Task("image-objects", FILE, None, (previewed(name),), scratch)
        (output,) = runner.run(task, "pictures", Limits(60, 60, 1024 * MB))
        found.append(output.content and json.loads(output.content)["objects"][0]["name"])
        assert list(scratch.iterdir()) == []
    assert found == ["stop sign", "clock", None]
    assert runner.snapshot().restarts == 0
