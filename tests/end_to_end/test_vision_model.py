"""A vision model from the settings: its answers are found, private data stays here, and its faults are reported."""

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
    digests = chyme.run("show", path, "--json").json["digests"]
    return json.loads(next(digest for digest in digests if digest["digester"] == name)["content"])  # type: ignore[no-any-return]


def test_answers_of_the_model_are_stored_and_found_and_large_heics_are_not_sent(chyme: RunningChyme) -> None:
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
    caption_here = content(chyme, "travel.heic", "image-captioning")
    assert caption_here["composed"] is True
    assert "not sent" in caption_here["note"]
    for request in provider.asked:
        headers = {name.lower(): value for name, value in request.headers.items()}
        assert headers["authorization"] == f"Bearer {KEY}"
        (picture,) = request.pictures
        assert max(Image.open(io.BytesIO(picture)).size) <= 2048


def test_a_model_that_fails_leaves_its_digests_to_local_engines_and_no_key_is_printed(chyme: RunningChyme) -> None:
    chyme.drop("sign.jpg", (SAMPLES / "pages/sign.jpg").read_bytes())
    with serving([fails(401, message=f"wrong key {KEY}")]) as provider:
        configure(chyme, provider)
        ended = chyme.run("-v", "digest", "--vault", str(chyme.vault), anywhere=True)
        assert ended.code == 0
        assert len(provider.asked) == 1, "a key that was refused is not tried for every digest"
    show_result = chyme.run("show", "sign.jpg", "--json")
    without = {
        digest["digester"]: digest["recipe"] for digest in show_result.json["digests"] if digest["provider"] == "vision"
    }
    assert without == dict.fromkeys(
        ("image-objects", "image-captioning", "classify-image"), "without its model: unavailable"
    )
    assert (show_result.json["document"]["state"], show_result.json["document"]["degraded"]) == (
        "needs-classification",
        True,
    )
    assert [hit["path"] for hit in chyme.run("search", "quetzalpension", "--json").json["hits"]] == ["sign.jpg"]
    assert KEY not in show_result.out + ended.out + ended.err
    assert KEY.encode() not in (chyme.vault / ".chyme/vault.db").read_bytes()

    with serving([says(OBJECTS), says(CAPTION), says(CLASSIFIED)]) as provider:
        configure(chyme, provider)
        assert chyme.run("retry", "--json").json == {"digests": 3}
        assert chyme.run("digest").code == 0
    assert content(chyme, "sign.jpg", "image-captioning")["text"] == "A dog on a pier."


def test_incomplete_model_settings_are_refused(chyme: RunningChyme) -> None:
    chyme.settings["CHYME_VISION_URL"] = "http://127.0.0.1:9/v1"
    ended = chyme.run("digest")
    assert (ended.code, "vision_model" in ended.err) == (2, True)
