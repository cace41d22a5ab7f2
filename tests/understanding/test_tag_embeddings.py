"""The vectors of a file's tags are handed to the store of the vault's tags; nothing else depends on them."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from upstreams import upstream

from chyme.digester import StaysHome
from chyme.errors import EngineUnavailable
from chyme.model import File, Kind, Output, Stamp, Upstream
from chyme.models.embedding.minilm import DIMENSION, MODEL, EmbeddingSettings
from chyme.models.weights.catalog import EMBEDDING
from chyme.models.weights.folder import path_of
from chyme.understanding.tags.names import TAGS_EMBEDDED_BEFORE
from chyme.understanding.tags.tag_embeddings import MAX_TAGS, TagEmbeddings
from chyme.understanding.tags.vectors import TagCache

pytestmark = pytest.mark.slow


@dataclass
class Tagged(StaysHome):
    """A file after its tags were found."""

    upstream: Upstream | None
    before: Upstream | None = None
    file: File = File(1, "lease.pdf", "lease.pdf", Kind.DOCUMENT, "", Stamp("1", "1", 1, 0), "hash", 1)  # noqa: RUF009
    scratch: Path = Path()

    def open(self) -> BinaryIO:
        return io.BytesIO()

    def output(self, name: str) -> Upstream | None:
        return {"tags": self.upstream, TAGS_EMBEDDED_BEFORE: self.before}.get(name)

    def progress(self, fraction: float) -> None:
        pass


def tagged(*tags: Any) -> Tagged:
    return Tagged(upstream("tags", json.dumps({"tags": tags, "source": "generated"})))


def digest(source: Tagged, digester: TagEmbeddings | None = None) -> tuple[Output, Any]:
    (output,) = (digester or TagEmbeddings()).digest(source)
    return output, json.loads(output.content or "null")


@pytest.fixture
def weights() -> None:
    if path_of(EMBEDDING) is None:
        pytest.skip("needs the weights for embedding, and they are not there: run 'chyme weights embedding'")


@pytest.mark.usefixtures("weights")
def test_every_tag_is_handed_on_with_its_vector() -> None:
    output, content = digest(tagged("rental contract", "munich", "rental contract", " "))

    assert content == {"tags": 2, "model": MODEL, "dimension": DIMENSION}
    assert [vector.tag for vector in output.tag_vectors] == ["rental contract", "munich"]
    assert {vector.model for vector in output.tag_vectors} == {MODEL}
    assert all(math.isclose(math.hypot(*vector.vector), 1.0, abs_tol=1e-5) for vector in output.tag_vectors)


@pytest.mark.usefixtures("weights")
def test_tags_that_the_model_cannot_read_are_counted_and_have_no_vector() -> None:
    output, content = digest(tagged("契約", "munich"))

    assert [vector.tag for vector in output.tag_vectors] == ["munich"]
    assert content["tags"] == 1
    assert content["note"] == "1 in a script or language that the model cannot read"


@pytest.mark.usefixtures("weights")
def test_no_file_has_too_many_tags() -> None:
    _, content = digest(tagged(*(f"subject number {number}" for number in range(MAX_TAGS + 5))))
    assert content["tags"] == MAX_TAGS


@pytest.mark.parametrize(
    "upstream",
    [
        None,
        upstream("tags", None),
        upstream("tags", '{"tags": []}'),
        upstream("tags", '{"tags": ["", 3, null]}'),
        upstream("tags", "[]"),
    ],
)
def test_a_file_without_tags_has_no_content_and_needs_no_model(upstream: Upstream | None, tmp_path: Path) -> None:
    output, _ = digest(Tagged(upstream), TagEmbeddings(EmbeddingSettings(str(tmp_path))))
    assert (output.content, output.tag_vectors) == (None, ())


def embedded_before(**models: str) -> Upstream:
    return upstream(TAGS_EMBEDDED_BEFORE, json.dumps(models))


@pytest.mark.usefixtures("weights")
def test_only_tags_without_a_vector_of_this_model_are_embedded() -> None:
    source = tagged("lease", "munich", "rent", "契約")
    source.before = embedded_before(lease=MODEL, rent="another model")
    output, content = digest(source)

    assert [vector.tag for vector in output.tag_vectors] == ["munich", "rent"]
    assert content == digest(tagged("lease", "munich", "rent", "契約"))[1]


def test_a_file_whose_tags_all_have_vectors_needs_no_model(tmp_path: Path) -> None:
    source = tagged("lease", "munich")
    source.before = embedded_before(lease=MODEL, munich=MODEL)
    output, content = digest(source, TagEmbeddings(EmbeddingSettings(str(tmp_path))))

    assert (content["tags"], output.tag_vectors) == (2, ())


def test_without_weights_it_says_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match=r"lease\.pdf: .*run 'chyme weights embedding'"):
        digest(tagged("munich"), TagEmbeddings(EmbeddingSettings(str(tmp_path))))


def test_it_never_changes_a_documents_status_and_looks_at_every_file_but_others() -> None:
    applying = {
        kind
        for kind in Kind
        if TagEmbeddings().can_digest(File(1, "f", "f", kind, "", Stamp("1", "1", 1, 0), "hash", 1))
    }
    assert applying == set(Kind) - {Kind.OTHER}
    assert not TagEmbeddings.promises.counts
    assert not TagEmbeddings.promises.reusable
    assert (TagEmbeddings.reads, TagEmbeddings.outputs) == (("tags",), ("tag-embeddings",))


@pytest.mark.usefixtures("weights")
def test_the_recipe_changes_when_weights_appear(tmp_path: Path) -> None:
    assert TagEmbeddings().recipe != TagEmbeddings(EmbeddingSettings(str(tmp_path))).recipe


class CountingEmbedder:
    """Gives every text a vector of its length, and remembers the texts."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        self.texts += texts
        return [(float(len(text)), 1.0) for text in texts]


def test_a_tag_is_embedded_once_while_it_is_among_the_last_ones() -> None:
    embedder = CountingEmbedder()
    cache = TagCache(embedder.embed, size=3)

    assert cache.embed(["rent", "lease"]) == [(21.0, 1.0), (22.0, 1.0)]
    assert cache.embed(["munich", "rent"]) == [(23.0, 1.0), (21.0, 1.0)]
    cache.embed(["garden"])  # "lease" was asked for longest ago
    cache.embed(["rent", "munich", "lease"])
    assert embedder.texts == [f"a document about {tag}" for tag in ("rent", "lease", "munich", "garden", "lease")]
