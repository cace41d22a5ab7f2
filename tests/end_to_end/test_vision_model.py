"""A vision model by setting: what it says is found, what must not leave stays here, and its faults are told."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from running_chyme import SAMPLES, RunningChyme
from vision_server import CAPTION, OBJECTS, Provider, fails, says, serving

pytestmark = pytest.mark.slow

KEY = "sk-very-secret-4711"
CLASSIFIED = {
    "language": None,
    "title_text": None,
    "title": "A dog on a pier",
    "summary": "A brown dog stands on a pier.",
    "date_text": None,
    "date": None,
    "tags": ["dog", "pier"],
    "confidence": {"title": 0.9, "summary": 0.9, "date": 0.0, "language": 0.0, "tags": 0.9},
}


@pytest.fixture
def chyme(tmp_path: Path) -> Iterator[RunningChyme]:
    running = RunningChyme(tmp_path)
    yield running
    assert running.close() == []


def configure(chyme: RunningChyme, provider: Provider) -> None:
    chyme.settings |= {"CHYME_VISION_URL": provider.url, "CHYME_VISION_MODEL": "seer", "CHYME_VISION_KEY": KEY}


def content(chyme: RunningChyme, path: str, name: str) -> dict[str, Any]:
    told = chyme.run("show", path, "--json").json["digests"]
    return json.loads(next(one for one in told if one["digester"] == name)["content"])  # type: ignore[no-any-return]


def test_what_the_model_says_is_kept_and_found_and_large_heics_stay_here(chyme: RunningChyme) -> None:
    chyme.drop("pier.jpg", (SAMPLES / "scenes/hills.jpg").read_bytes())
    with serving([says(OBJECTS), says(CAPTION), says(CLASSIFIED)]) as provider:
        configure(chyme, provider)
        assert chyme.run("digest").code == 0
        assert len(provider.asked) == 3
        chyme.settings["CHYME_HEIC_BYTES"] = "100"
        chyme.drop("travel.heic", (SAMPLES / "pictures/travel.heic").read_bytes())
        chyme.run("digest")
        assert len(provider.asked) == 3, "a HEIC over the limit was sent"

    objects = content(chyme, "pier.jpg", "image-objects")
    assert (objects["engine"], objects["objects"][0]["box"]) == ("seer", [0.1, 0.2, 0.5, 0.9])
    caption = content(chyme, "pier.jpg", "image-captioning")
    assert (caption["text"], caption["composed"]) == ("A dog on a pier.", False)
    classified = content(chyme, "pier.jpg", "classify-image")
    assert (classified["engine"], classified["title"], classified["tags"]) == (
        "seer",
        "A dog on a pier",
        ["dog", "pier"],
    )
    (hit,) = chyme.run("search", "rex", "--json").json["hits"]
    assert (hit["path"], hit["place"]["box"]) == ("pier.jpg", [0.1, 0.2, 0.5, 0.9])
    kept = content(chyme, "travel.heic", "image-captioning")
    assert kept["composed"] is True
    assert "not sent" in kept["note"]
    for asked in provider.asked:
        headers = {name.lower(): value for name, value in asked.headers.items()}
        assert headers["authorization"] == f"Bearer {KEY}"
        (picture,) = asked.pictures
        assert max(Image.open(io.BytesIO(picture)).size) <= 2048


def test_a_model_that_fails_leaves_its_digests_to_the_engines_here_and_tells_no_key(chyme: RunningChyme) -> None:
    chyme.drop("sign.jpg", (SAMPLES / "pages/sign.jpg").read_bytes())
    with serving([fails(401, message=f"wrong key {KEY}")]) as provider:
        configure(chyme, provider)
        ended = chyme.run("-v", "digest", "--vault", str(chyme.vault), anywhere=True)
        assert ended.code == 0
        assert len(provider.asked) == 1, "a key that was refused is not tried for every digest"
    told = chyme.run("show", "sign.jpg", "--json")
    without = {one["digester"]: one["recipe"] for one in told.json["digests"] if one["provider"] == "vision"}
    assert without == dict.fromkeys(
        ("image-objects", "image-captioning", "classify-image"), "without its model: unavailable"
    )
    assert (told.json["document"]["state"], told.json["document"]["degraded"]) == ("needs-classification", True)
    assert [hit["path"] for hit in chyme.run("search", "quetzalpension", "--json").json["hits"]] == ["sign.jpg"]
    assert KEY not in told.out + ended.out + ended.err
    assert KEY.encode() not in (chyme.vault / ".chyme/vault.db").read_bytes()

    with serving([says(OBJECTS), says(CAPTION), says(CLASSIFIED)]) as provider:
        configure(chyme, provider)
        assert chyme.run("retry", "--json").json == {"digests": 3}
        assert chyme.run("digest").code == 0
    assert content(chyme, "sign.jpg", "image-captioning")["text"] == "A dog on a pier."


def test_half_a_model_is_refused(chyme: RunningChyme) -> None:
    chyme.settings["CHYME_VISION_URL"] = "http://127.0.0.1:9/v1"
    ended = chyme.run("digest")
    assert (ended.code, "vision_model" in ended.err) == (2, True)
