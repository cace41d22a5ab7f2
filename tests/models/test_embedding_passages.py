"""Vectors for passages: as bytes, from the chosen embedder, or an error that says how to get it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy
import pytest
from numpy.typing import NDArray

from chyme.errors import EngineUnavailable
from chyme.models.embedding import multilingual
from chyme.models.embedding.minilm import DIMENSION, MODEL, RUN_TOKENS, EmbeddingSettings, MiniLm, load_minilm
from chyme.models.embedding.passage_embedder import WINDOW, PassageEmbedder, PassageEmbedding, load_passage_embedder
from chyme.models.weights.catalog import EMBEDDING, MULTILINGUAL
from chyme.models.weights.folder import path_of

pytestmark = pytest.mark.slow

SHORT = [f"a document about {what}" for what in ("rent", "cars", "dogs", "tax returns", "", "an apple cake")] * 9
MIXED = [*SHORT, "The heating costs rose by 12 % in the year before. " * 5, "word " * 400, *SHORT[::-1]]


@pytest.fixture(scope="module")
def embedder() -> PassageEmbedder:
    if path_of(EMBEDDING) is None:
        pytest.skip("needs the weights for embedding, and they are not there: run 'chyme weights embedding'")
    return load_passage_embedder(PassageEmbedding())


def rows(embedder: PassageEmbedder, texts: list[str]) -> NDArray[numpy.float32]:
    return numpy.frombuffer(embedder.embed(texts), "<f4").reshape(len(texts), embedder.dimension)


def test_each_passage_has_a_row_of_length_one_in_the_order_of_the_texts(embedder: PassageEmbedder) -> None:
    found = rows(embedder, MIXED)

    assert numpy.allclose(numpy.linalg.norm(found, axis=1), 1.0, atol=1e-5)
    for text, row in zip(MIXED[-20:], found[-20:], strict=True):
        assert float(rows(embedder, [text])[0] @ row) > 0.99999
    assert embedder.embed([]) == b""


def test_passages_and_tags_have_the_same_vectors(embedder: PassageEmbedder) -> None:
    tags = load_minilm(EmbeddingSettings()).embed(MIXED[:4])

    assert numpy.array_equal(rows(embedder, MIXED[:4]), numpy.array(tags, numpy.float32))
    assert (embedder.model, embedder.dimension, embedder.window) == (MODEL, DIMENSION, WINDOW)


def test_short_texts_of_one_length_share_a_run_and_long_ones_have_their_own(embedder: PassageEmbedder) -> None:
    class Counting:
        def __init__(self, session: object) -> None:
            self.session, self.runs = session, list[tuple[int, ...]]()

        def run(self, names: list[str], inputs: dict[str, NDArray[numpy.float32]]) -> object:
            self.runs += [value.shape[:2] for value in inputs.values()]
            return self.session.run(names, inputs)  # type: ignore[attr-defined]

    folder = path_of(EMBEDDING)
    assert folder is not None
    own = MiniLm(folder / "model.safetensors", (folder / "tokenizer.json").read_bytes())
    own._session = counting = Counting(own._session)
    own.rows(["a cat"] * 40 + ["word " * 150] * 2)

    assert sorted(counting.runs) == sorted([(40 - RUN_TOKENS // 4, 4), (RUN_TOKENS // 4, 4), (1, 152), (1, 152)])


@pytest.mark.parametrize(
    "text",
    [
        "Die Rechnung über 300 € ist groß",
        "J'ai été à la plage hier après-midi",
        "Proszę o potwierdzenie terminu spotkania w przyszłym tygodniu.",
        "Příliš žluťoučký kůň úpěl ďábelské ódy",
        "invoice 9001",
        "The contract says: 契約書. Nothing else is in it but these few words.",
    ],
)
def test_it_reads_texts_that_are_mostly_in_latin_letters(embedder: PassageEmbedder, text: str) -> None:
    assert embedder.reads(text)


@pytest.mark.parametrize(
    "text",
    [
        "请在星期五之前付款。",
        "Привет, как дела",
        "قطة على الطاولة",
        "これはペンです",
        "Η γλώσσα",
        "pay 请在星期五之前付款",
        "☃",
        "T",  # like all of these it is near to everything: one letter read in a photo answered half of all questions
        "2023-04-05 | 17.50",
        "qqqxyzzy",
        "",
    ],
)
def test_it_says_when_it_cannot_read_most_of_a_text(embedder: PassageEmbedder, text: str) -> None:
    assert not embedder.reads(text)


@pytest.mark.parametrize("engine", ["embedding", "multilingual"])
def test_without_weights_it_says_how_to_get_them(tmp_path: Path, engine: str) -> None:
    settings = PassageEmbedding("minilm" if engine == "embedding" else "multilingual", str(tmp_path))
    with pytest.raises(EngineUnavailable, match=f"run 'chyme weights {engine}'"):
        load_passage_embedder(settings)


def test_a_remote_embedder_is_not_loaded_locally() -> None:
    with pytest.raises(EngineUnavailable, match="does not run here"):
        load_passage_embedder(PassageEmbedding("openai", url="https://example.org/v1", model="m"))


def test_a_local_engine_has_fixed_sizes_and_an_endpoint_takes_them_from_settings() -> None:
    minilm, multi = PassageEmbedding(dimension=7, window=7), PassageEmbedding("multilingual")
    remote = PassageEmbedding("openai", model="text-embedding-3-small", dimension=1536, window=800)

    assert (minilm.dimension, minilm.window, minilm.model_name) == (DIMENSION, WINDOW, MODEL)
    assert (multi.dimension, multi.window) == (multilingual.DIMENSION, multilingual.WINDOW)
    assert (remote.dimension, remote.window, remote.model_name) == (1536, 800, "text-embedding-3-small 1536")
    assert (minilm.local, multi.local, remote.local) == (True, True, False)
    assert len({minilm.model_name, multi.model_name, remote.model_name}) == 3


def test_settings_can_be_sent_as_json_and_their_descriptions_contain_no_key() -> None:
    settings = PassageEmbedding("openai", url="https://example.org", model="m", key="secret", dimension=8, window=300)

    assert PassageEmbedding(**json.loads(json.dumps(asdict(settings)))) == settings
    assert "secret" not in f"{settings!r} {settings.fingerprint} {settings.model_name}"


def test_the_recipe_changes_with_the_engine_and_when_weights_appear(tmp_path: Path) -> None:
    fingerprints = {
        PassageEmbedding(engine, where).fingerprint
        for engine in ("minilm", "multilingual")
        for where in ("", str(tmp_path))
    }
    matching = sum(PassageEmbedding(threads=2).fingerprint == fingerprint for fingerprint in fingerprints)

    assert len(fingerprints) == 2 + sum(path_of(weights) is not None for weights in (EMBEDDING, MULTILINGUAL))
    assert matching == 1
