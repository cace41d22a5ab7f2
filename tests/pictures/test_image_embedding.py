"""The digester that gives pictures vectors by a model in the user's folder."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from picture_source import FILE, PictureSource
from PIL import Image
from tiny_picture_models import make_clip
from upstreams import upstream

from chyme.digesters import built_in
from chyme.errors import EngineUnavailable, UpstreamMissing
from chyme.model import Kind, Upstream
from chyme.models.picture_models.clip import load_clip
from chyme.models.picture_models.folder import PictureModelSettings
from chyme.pictures.image_embedding import ImageEmbedding


def preview(colour: str) -> Upstream:
    out = io.BytesIO()
    Image.new("RGB", (40, 30), colour).save(out, "JPEG")
    return upstream("image-preview", "{}", artifacts={"preview.jpg": out.getvalue()})


def test_it_is_registered_only_where_the_folder_has_such_a_model(tmp_path: Path) -> None:
    folder = make_clip(tmp_path / "tiny")
    with_it = built_in({"picture_model": {"model_dir": str(folder)}})
    assert "image-embedding" in [digester.name for digester in with_it]
    without = built_in({"picture_model": {"model_dir": str(tmp_path / "nothing")}})
    assert "image-embedding" not in [digester.name for digester in (*without, *built_in())]


def test_a_picture_gets_the_models_vector_and_its_caption_as_passage(tmp_path: Path) -> None:
    settings = PictureModelSettings(str(make_clip(tmp_path / "tiny")))
    caption = upstream("image-captioning", json.dumps({"text": "A plain red picture."}))
    source = PictureSource(FILE, {"image-preview": preview("red"), "image-captioning": caption})
    digester = ImageEmbedding(settings)
    (output,) = digester.digest(source)

    assert [passage.text for passage in output.passages] == ["A plain red picture."]
    embedded = output.embedded
    assert embedded is not None
    assert (embedded.model, embedded.dimension) == (digester.embedder, 3)
    jpeg = source.inputs["image-preview"].artifacts["preview.jpg"]
    assert embedded.vectors == load_clip(settings).embed_picture("a.jpg", jpeg)


def test_a_picture_without_a_caption_is_shown_by_its_name(tmp_path: Path) -> None:
    digester = ImageEmbedding(PictureModelSettings(str(make_clip(tmp_path / "tiny"))))
    (output,) = digester.digest(PictureSource(FILE, {"image-preview": preview("red")}))
    assert [passage.text for passage in output.passages] == ["pier.jpg"]


def test_only_pictures_are_digested_and_no_document_waits_for_them(tmp_path: Path) -> None:
    digester = ImageEmbedding(PictureModelSettings(str(make_clip(tmp_path / "tiny"))))
    assert [kind for kind in Kind if digester.can_digest(replace(FILE, kind=kind))] == [Kind.IMAGE]
    assert not digester.promises.counts


def test_a_model_that_went_away_is_unavailable(tmp_path: Path) -> None:
    folder = make_clip(tmp_path / "tiny")
    digester = ImageEmbedding(PictureModelSettings(str(folder)))
    before = digester.fingerprint
    (folder / "text_model.onnx").unlink()
    assert digester.fingerprint != before
    with pytest.raises(EngineUnavailable, match=r"^pier\.jpg: .*picture_model_dir"):
        digester.digest(PictureSource(FILE, {"image-preview": preview("red")}))


def test_without_a_preview_there_is_nothing_to_look_at(tmp_path: Path) -> None:
    with pytest.raises(UpstreamMissing):
        ImageEmbedding(PictureModelSettings(str(make_clip(tmp_path / "tiny")))).digest(PictureSource())
