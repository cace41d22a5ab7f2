"""A captioner and a CLIP-like model in a folder of the user's describe and find pictures."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from PIL import Image
from running_chyme import RunningChyme
from tiny_picture_models import INVENTED, make_captioner, make_clip

pytestmark = pytest.mark.slow


def png(colour: tuple[int, int, int]) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (80, 60), colour).save(out, "PNG")
    return out.getvalue()


def test_pictures_are_captioned_and_found_by_what_they_show(tmp_path: Path) -> None:
    models = tmp_path / "models"
    make_captioner(models / "captions")
    make_clip(models / "search")
    for path in (tmp_path, *models.rglob("*")):
        path.chmod(0o755)  # children may be another user
    chyme = RunningChyme(tmp_path)
    for name, colour in (("one.png", (220, 20, 20)), ("two.png", (20, 200, 20)), ("three.png", (20, 20, 220))):
        chyme.drop(name, png(colour))
    settings = {"CHYME_PICTURE_MODEL_DIR": str(models)}

    digested = chyme.run("digest", env=settings)
    assert digested.code == 0, digested.out + digested.err
    captions = dict(chyme.rows("SELECT file_path, content FROM digests WHERE digester = 'image-captioning'"))
    assert {name: json.loads(content)["text"] for name, content in captions.items()} == {
        "one.png": "red square",
        "two.png": "green square",
        "three.png": "blue square",
    }
    for word, name in zip(INVENTED, ("one.png", "two.png", "three.png"), strict=True):
        best = chyme.run("search", word, "--json", env=settings).json["hits"][0]
        assert (best["path"], best["why"], best["snippet"].endswith(" square")) == (name, ["meaning"], True)
    named = [line for line in chyme.run("doctor", "--json", env=settings).json["engines"] if "search" in line["engine"]]
    assert ("pictures by meaning", True) in [(line["capability"], line["ok"]) for line in named]
