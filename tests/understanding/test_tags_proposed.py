"""Tags are proposed from the classification or, without tags there, from all readable text."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from disk_source import source_of
from upstreams import upstream

from chyme.errors import EngineUnavailable
from chyme.model import Kind, Output
from chyme.models.embedding.minilm import EmbeddingSettings
from chyme.understanding.classification.result import Classification, as_json
from chyme.understanding.tags.proposals import propose_tags
from chyme.understanding.tags.tags import MAX_INPUT_CHARS, Tags
from chyme.understanding.tags.vectors import vectors_of

GARDEN = """# Growing tomatoes

Tomatoes need sun and warm soil. Plant tomato seedlings after the last frost, and water the seedlings every morning.

## Soil

Good soil for tomatoes is rich in compost. Compost feeds the soil slowly; tomato seedlings in poor soil stay small.

## Harvest

Pick tomatoes when they are red. The harvest lasts until the first frost, and compost made of old plants feeds the next.
"""


def digest_file(
    folder: Path, kind: Kind = Kind.TEXT, text: str = "", weights: str = "", **inputs: str | None
) -> Output:
    path = folder / "file.md"
    path.write_text(text)
    source = source_of(path)
    named = {name.replace("_", "-"): content for name, content in inputs.items()}
    source = replace(
        source,
        file=replace(source.file, kind=kind),
        inputs={name: upstream(name, content) for name, content in named.items()},
    )
    (output,) = Tags(EmbeddingSettings(weights or str(folder / "no weights"))).digest(source)
    return output


def content_of(output: Output) -> dict[str, Any]:
    assert output.content is not None
    return dict(json.loads(output.content))


def objects_json(*names: str, confidence: float = 0.9, tags: tuple[str, ...] = ()) -> str:
    return json.dumps({"objects": [{"name": name, "tags": tags, "confidence": confidence} for name in names]})


def test_the_tags_of_the_classification_are_taken_normalised(tmp_path: Path) -> None:
    classified = as_json(Classification("Rent", tags=("Invoices", "#TaxReturn", "invoice", "2024", "the")))
    found = content_of(digest_file(tmp_path, text=GARDEN, classify_document=classified))

    assert found == {
        "tags": ["invoices", "tax return"],
        "source": "classification",
        "proposed": ["invoices", "tax return"],
    }


def test_objects_seen_in_a_picture_are_added(tmp_path: Path) -> None:
    classified = as_json(Classification("At the beach", tags=("beach",)))
    seen = objects_json("Dog", "surfboards", tags=("summer",))
    found = content_of(digest_file(tmp_path, Kind.IMAGE, classify_image=classified, image_objects=seen))
    assert found["tags"] == ["beach", "dog", "surfboards", "summer"]

    doubtful = objects_json("giraffe", confidence=0.3)
    found = content_of(digest_file(tmp_path, Kind.IMAGE, classify_image=classified, image_objects=doubtful))
    assert found["tags"] == ["beach"]
    crowd = objects_json(*(f"{name} cup" for name in ("red", "blue", "tall", "old", "tiny", "cracked", "paper")))
    assert (
        len(content_of(digest_file(tmp_path, Kind.IMAGE, classify_image=classified, image_objects=crowd))["tags"]) == 6
    )


def test_without_a_classification_tags_are_made_from_the_text(tmp_path: Path) -> None:
    found = content_of(digest_file(tmp_path, text=GARDEN))

    assert found["source"] == "generated"
    assert "soil" in found["tags"]
    assert any("tomato" in tag for tag in found["tags"])
    assert 1 < len(found["tags"]) <= 10
    assert found == content_of(digest_file(tmp_path, text=GARDEN))
    assert content_of(digest_file(tmp_path, text=GARDEN, classify_document=as_json(Classification("Garden"))))["tags"]


def test_every_text_counts_not_only_the_first(tmp_path: Path) -> None:
    page = "# Solar panels\n\nSolar panels turn light into power. Solar panels need no fuel, and power is stored.\n"
    found = content_of(digest_file(tmp_path, Kind.URL, url_crawl_content=page, url_crawl_summary=GARDEN))
    assert any("solar" in tag for tag in found["tags"])
    assert any("tomato" in tag for tag in found["tags"])


def test_only_the_spoken_words_of_a_transcript_are_read(tmp_path: Path) -> None:
    segments = [{"start": 0, "end": 1, "text": line} for line in GARDEN.splitlines() if line]
    found = content_of(
        digest_file(tmp_path, Kind.AUDIO, speech_recognition=json.dumps({"language": "en", "segments": segments}))
    )
    assert any("tomato" in tag for tag in found["tags"])
    assert not {"start", "end", "text", "segments"}.intersection(found["tags"])


@pytest.mark.parametrize("text", ["", "  \n", "12 34", "the and of"])
def test_a_text_without_words_has_no_tags(tmp_path: Path, text: str) -> None:
    assert digest_file(tmp_path, text=text) == Output("tags", None)
    assert digest_file(tmp_path, Kind.IMAGE, image_ocr=None, image_objects=None).content is None


@pytest.mark.parametrize("broken", ["no json", "[]", '{"tags": [1, null, {}]}', "{", '{"tags": ["x"], "dates": [1]}'])
def test_broken_upstream_content_leaves_the_tags_of_the_text(tmp_path: Path, broken: str) -> None:
    output = digest_file(
        tmp_path, text=GARDEN, classify_document=broken, image_objects=broken, speech_recognition=broken
    )
    assert any("tomato" in tag for tag in content_of(output)["tags"])


def test_tags_are_as_good_without_the_embedder(tmp_path: Path) -> None:
    output = digest_file(tmp_path, text=GARDEN)
    assert output.content is not None
    assert output.tag_vectors == ()


def test_tags_have_vectors_where_the_embedder_is_installed(tmp_path: Path) -> None:
    try:
        vectors_of(["x"], EmbeddingSettings())
    except EngineUnavailable as missing:
        pytest.skip(f"needs the embedder: {missing}")
    path = tmp_path / "file.md"
    path.write_text(GARDEN)
    (output,) = Tags().digest(source_of(path))
    assert {vector.tag for vector in output.tag_vectors} <= set(content_of(output)["proposed"])
    assert "soil" in {vector.tag for vector in output.tag_vectors}


def test_files_that_share_a_run_get_the_tags_and_vectors_they_get_alone(tmp_path: Path) -> None:
    texts = {"garden.md": GARDEN, "empty.md": "", "frost.md": "# Frost\n\nFrost kills seedlings. Frost comes at night."}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    sources = [source_of(tmp_path / name) for name in texts]

    together = Tags().digest_many(sources)

    for source, outputs in zip(sources, together, strict=True):
        (alone,) = Tags().digest(source)
        assert isinstance(outputs, list)
        (output,) = outputs
        assert output.content == alone.content
        assert [vector.tag for vector in output.tag_vectors] == [vector.tag for vector in alone.tag_vectors]


def test_long_texts_are_bounded_and_every_kind_but_other_has_tags(tmp_path: Path) -> None:
    digester = Tags()
    assert digester.max_text == MAX_INPUT_CHARS
    file = source_of(_empty(tmp_path)).file
    assert [kind for kind in Kind if not digester.can_digest(replace(file, kind=kind))] == [Kind.OTHER]
    found = content_of(digest_file(tmp_path, text=GARDEN * 2000))
    assert len(found["tags"]) <= 10


def _empty(folder: Path) -> Path:
    path = folder / "empty.txt"
    path.write_text("")
    return path


def test_placeholder_text_gets_no_tags() -> None:
    lorem = "Lorem ipsum dolor sit amet, consectetur adipiscing elit. Mauris pellentesque scelerisque vestibulum. "
    assert propose_tags(None, {"doc-to-markdown": lorem * 6}) is None
