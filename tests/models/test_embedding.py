"""Vectors of texts: the fast network agrees with the original one, and missing weights are reported."""

from __future__ import annotations

import json
import math
import shutil
import struct
from pathlib import Path
from typing import Any

import numpy
import pytest
from plain_bert import embedded

from chyme.errors import EngineUnavailable
from chyme.models.embedding.minilm import (
    DIMENSION,
    EXACT,
    LONGEST,
    MODEL,
    EmbeddingSettings,
    MiniLm,
    Tokens,
    load_minilm,
)
from chyme.models.weights.catalog import EMBEDDING
from chyme.models.weights.folder import path_of
from chyme.models.weights.safetensors import forget_pages, read_tensors
from chyme.understanding.tags.vectors import EMBEDDING_TEMPLATE, vectors_of

pytestmark = pytest.mark.slow

TEXTS = (
    "invoice",
    "a document about the tax return of 2023",
    "The tenant pays the rent on the third of each month. " * 6,
    "Die Rechnung über 300 € ist bis zum 3. April zu zahlen.",
    "请在星期五之前付款。",
    "",
    "2023-04-05 12:30 | 17.50 EUR | no. 4411\n" * 12,
    "The heating costs rose by 12 %. Die Kosten stiegen. 费用上涨了。 " * 8,
    "def main() -> None:\n    print('| a | b |')\n" * 4,
)
LONG = "The landlord wrote a letter about the heating, and nobody answered it for weeks. " * 40


@pytest.fixture(scope="module")
def folder() -> Path:
    found = path_of(EMBEDDING)
    if found is None:
        pytest.skip("needs the weights for embedding, and they are not there: run 'chyme weights embedding'")
    return found


@pytest.fixture(scope="module")
def embedder(folder: Path) -> MiniLm:
    embedder = load_minilm(EmbeddingSettings())
    assert isinstance(embedder, MiniLm)
    return embedder


@pytest.fixture(scope="module")
def tokens(folder: Path) -> Tokens:
    return Tokens((folder / "tokenizer.json").read_bytes())


def cosine(first: Any, second: Any) -> float:
    return float(numpy.dot(first, second))


@pytest.mark.parametrize("text", [*TEXTS, LONG], ids=range(len(TEXTS) + 1))
def test_the_fast_network_gives_the_vectors_of_the_plain_network(
    embedder: MiniLm, tokens: Tokens, folder: Path, text: str
) -> None:
    plain = embedded(read_tensors(folder / "model.safetensors"), tokens.numbers(text))
    (ours,) = embedder.embed([text])

    assert cosine(ours, plain) > (0.993 if text else 0.99)


def test_without_rounding_it_is_the_plain_network_itself(embedder: MiniLm, tokens: Tokens, folder: Path) -> None:
    exact = MiniLm(folder / "model.safetensors", (folder / "tokenizer.json").read_bytes(), exact=True)
    known = read_tensors(folder / "model.safetensors")

    for text, ours in zip(TEXTS[:3], exact.embed(TEXTS[:3]), strict=True):
        assert cosine(ours, embedded(known, tokens.numbers(text))) > 0.99999
    assert (exact.model, embedder.model) == (EXACT, MODEL)


def test_every_text_has_a_vector_of_length_one_in_the_order_of_the_texts(embedder: MiniLm) -> None:
    vectors = embedder.embed(TEXTS)

    assert [len(vector) for vector in vectors] == [DIMENSION] * len(TEXTS) == [embedder.dimension] * len(TEXTS)
    assert all(math.isclose(math.hypot(*vector), 1.0, abs_tol=1e-5) for vector in vectors)
    for text, vector in zip(TEXTS, vectors, strict=True):
        assert cosine(embedder.embed([text])[0], vector) > 0.99999
    assert embedder.embed([]) == []


def test_more_threads_give_the_same_vectors(embedder: MiniLm, folder: Path) -> None:
    with_two_threads = load_minilm(EmbeddingSettings(threads=2))
    for vector, expected in zip(with_two_threads.embed(TEXTS), embedder.embed(TEXTS), strict=True):
        assert cosine(vector, expected) > 0.99999


def test_texts_with_the_same_meaning_are_closer_than_texts_that_share_words(embedder: MiniLm) -> None:
    question, answer, other = embedder.embed(
        [
            "How do I get my money back?",
            "Refunds are paid within two weeks of receiving the goods.",
            "My uncle has a lot of money in the bank.",
        ]
    )
    assert cosine(question, answer) > cosine(question, other) + 0.1


def test_text_beyond_the_window_is_ignored(embedder: MiniLm, tokens: Tokens) -> None:
    assert embedder.count_tokens(LONG) > LONGEST
    assert len(tokens.numbers(LONG)) == LONGEST
    assert tokens.numbers(LONG)[-1] == tokens.numbers("short")[-1]  # the end token stays
    assert embedder.embed([LONG]) == embedder.embed([LONG + "Something else entirely follows."])
    assert embedder.embed([LONG[:400]]) != embedder.embed([LONG[:400] + "Something else entirely follows."])


def test_tokens_are_counted_without_frame_or_padding_also_in_scripts_without_blanks(embedder: MiniLm) -> None:
    assert embedder.count_tokens("") == 0
    assert embedder.count_tokens("the tax return") == 3
    assert embedder.count_tokens("请在星期五之前付款") == 9
    assert embedder.count_tokens("word " * 5000) == 5000


@pytest.mark.parametrize("text", ["half \ud83d of a character", "\x00\x01", "a" * 200_000, " " * 200_000, "é" * 3000])
def test_odd_texts_have_a_vector(embedder: MiniLm, text: str) -> None:
    (vector,) = embedder.embed([text])

    assert math.isclose(math.hypot(*vector), 1.0, abs_tol=1e-5)
    assert embedder.count_tokens(text) >= 0


@pytest.mark.parametrize("text", ["invoice", "tax return 2023", "ml", "rechnung", "contrat", "arbeitsvertrag"])
def test_it_knows_words_it_has_seen(embedder: MiniLm, text: str) -> None:
    assert embedder.knows(text)


@pytest.mark.parametrize("text", ["契約", "请付款", "москва", "قطة", "c++", "größe", "", " ", "\ud83d", "☃"])
def test_it_says_when_it_cannot_read_a_text(embedder: MiniLm, text: str) -> None:
    assert not embedder.knows(text)


def test_each_tag_that_can_be_read_has_a_vector(embedder: MiniLm) -> None:
    found = vectors_of(["car", "automobile", "契約", "holiday recipe", "car"], EmbeddingSettings())

    assert [vector.tag for vector in found] == ["car", "automobile", "holiday recipe"]
    assert {vector.model for vector in found} == {MODEL}
    car, automobile, recipe = (vector.vector for vector in found)
    assert cosine(car, automobile) > 0.9 > cosine(car, recipe) + 0.3
    assert cosine(car, embedder.embed([EMBEDDING_TEMPLATE.format("car")])[0]) > 0.99999


def test_without_weights_tags_have_no_vectors_and_it_says_how_to_get_them(tmp_path: Path) -> None:
    without_weights = EmbeddingSettings(str(tmp_path))
    with pytest.raises(EngineUnavailable, match="run 'chyme weights embedding'"):
        vectors_of(["car"], without_weights)
    assert vectors_of([], without_weights) == ()


def test_damaged_weights_are_not_used(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "embedding")
    with (tmp_path / "embedding" / "model.safetensors").open("r+b") as stream:
        stream.seek(1_000_000)
        stream.write(b"\xff")

    with pytest.raises(EngineUnavailable, match=r"damaged.*run 'chyme weights embedding'"):
        load_minilm(EmbeddingSettings(str(tmp_path)))


@pytest.mark.parametrize(
    "text",
    [
        "A plain note about the garden, with a list:\n- beans\n\t- peas",
        "Пишу по-русски about the garden",
        "東京 is far from 京都, and here is 大阪",
        "a b c d e f g h",
        "2024 12 31 -- ...",
        "word\x1cjoined\x1dby\x1eseparators and\u00a0others\u2003here",
        "x" * 300 + " a very long word [SEP] [UNK] &amp; <b>",
        "l'été d’après — naïve café",
        " \n ",
    ],
)
def test_a_text_is_read_word_by_word_as_it_is_as_a_whole(embedder: MiniLm, text: str) -> None:
    latin, letters, foreign = embedder._tokens._measure(text)

    assert embedder.reads(text) == (latin > 0 and latin >= foreign and letters >= 2 * latin)


def test_the_recipe_changes_when_weights_appear_and_not_with_the_number_of_threads(
    folder: Path, tmp_path: Path
) -> None:
    with_weights, without_weights = EmbeddingSettings(), EmbeddingSettings(str(tmp_path))

    assert with_weights.fingerprint != without_weights.fingerprint
    assert with_weights.fingerprint == EmbeddingSettings(threads=2).fingerprint
    assert MODEL in with_weights.fingerprint


def safetensors(path: Path, table: object, numbers: bytes = b"") -> Path:
    header = table if isinstance(table, bytes) else json.dumps(table).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + numbers)
    return path


def tensor(start: int, end: int, *shape: int, dtype: str = "F32") -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": (start, end)}


def test_pages_of_a_file_leave_memory_and_come_back(tmp_path: Path) -> None:
    values = numpy.arange(4 << 20, dtype="<f4")
    table = {"all": tensor(0, values.nbytes, len(values))}
    path = safetensors(tmp_path / "t", table, values.tobytes())
    mapped = read_tensors(path)["all"]

    def resident() -> int:
        """Kilobytes of this file in our memory."""
        lines = iter(Path("/proc/self/smaps").read_text(encoding="utf-8", errors="replace").splitlines())
        return sum(
            int(next(line for line in lines if line.startswith("Rss:")).split()[1])
            for line in lines
            if line.endswith(str(path))
        )

    assert mapped.sum() > 0
    assert resident() >= values.nbytes >> 10
    forget_pages(mapped.reshape(2, -1)[1])
    assert resident() < values.nbytes >> 11
    assert numpy.array_equal(mapped, values)


def test_tensors_are_read_by_name_and_only_real_ones(tmp_path: Path) -> None:
    table = {
        "__metadata__": {"format": "pt"},
        "places": tensor(0, 8, 1, dtype="I64"),
        "row": tensor(8, 16, 2),
        "matrix": tensor(16, 32, 2, 2),
    }
    numbers = struct.pack("<q6f", 7, 1, 2, 3, 4, 5, 6)
    found = read_tensors(safetensors(tmp_path / "t", table, numbers))

    assert {name: values.tolist() for name, values in found.items()} == {"row": [1, 2], "matrix": [[3, 4], [5, 6]]}
    assert not found["row"].flags.writeable


@pytest.mark.parametrize(
    "table",
    [
        {"row": tensor(0, 12, 3)},  # beyond the end
        {"row": tensor(-4, 4, 2)},
        {"row": tensor(0, 8, 3)},  # the size contradicts the shape
        {"row": tensor(8, 0, 2)},
        {"row": {"dtype": "F32"}},
        {"row": [1, 2]},
        ["row"],
        b"{",
        b"[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_a_broken_file_of_tensors_is_refused(tmp_path: Path, table: object) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_tensors(safetensors(tmp_path / "t", table, bytes(8)))


@pytest.mark.parametrize("data", [b"", b"\x00", struct.pack("<Q", 1 << 62) + b"{}", struct.pack("<Q", 90) + b"{}"])
def test_a_file_that_ends_too_early_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "t").write_bytes(data)
    with pytest.raises(ValueError, match=r".+"):
        read_tensors(tmp_path / "t")


def test_another_model_is_refused(folder: Path, tmp_path: Path) -> None:
    other = safetensors(tmp_path / "t", {"row": tensor(0, 8, 2)}, bytes(8))
    with pytest.raises(ValueError, match=r"no tensor .*embeddings"):
        MiniLm(other, (folder / "tokenizer.json").read_bytes())
    with pytest.raises(ValueError, match=r".+"):
        MiniLm(folder / "model.safetensors", b"{}")
