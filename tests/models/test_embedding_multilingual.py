"""The multilingual encoder: it finds texts with the same meaning in other languages, and refuses a broken file."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy
import pytest
from numpy.typing import NDArray

from chyme.models.embedding.multilingual import DIMENSION, LONGEST, Multilingual
from chyme.models.embedding.multilingual_weights import fields, messages, numbers, read
from chyme.models.embedding.passage_embedder import PassageEmbedding, load_passage_embedder
from chyme.models.weights.catalog import CATALOG, DEFAULT_CAPABILITIES, MULTILINGUAL
from chyme.models.weights.folder import path_of

pytestmark = pytest.mark.slow

ENGLISH = [
    "The tenant may terminate the lease with three months' notice in writing.",
    "Mix flour, butter and apples and bake the cake for an hour.",
    "The car needs new brakes and an oil change before the winter.",
    "Our server was down because the database ran out of disk space.",
]
QUESTIONS = {
    "de": ["Wie kündige ich den Mietvertrag?", "Kuchen mit Äpfeln backen", "Bremsen am Auto erneuern"],
    "ja": ["賃貸契約を解約する方法", "りんごのケーキの焼き方", "車のブレーキ交換"],
    "ru": ["Как расторгнуть договор аренды квартиры?", "рецепт яблочного пирога", "замена тормозов в машине"],
    "fr": ["Comment résilier le bail ?", "recette de gâteau aux pommes", "changer les freins de la voiture"],
    "ar": ["كيف ألغي عقد الإيجار؟", "وصفة كعكة التفاح", "تغيير فرامل السيارة"],
    "zh": ["如何终止租房合同", "苹果蛋糕的做法", "更换汽车刹车"],
}
# The results of the packaged graph itself, run with the operators that it needs.
NUMBERS = {
    "Wie kündige ich den Mietvertrag?": [1, 2534, 6, 53798, 22, 242, 282, 20580, 28140, 21, 2],
    "  two   blanks \n and a\ttab ": [1, 537, 17273, 9, 17, 10, 8868, 2],
    "ﬁne ½ Ａ１ 请付款": [1, 1668, 32259, 63, 182, 6, 1707, 1868, 673, 2],
    "": [1, 2],
}
VECTOR = [-0.0774, 0.002, 0.0332, -0.039, -0.0301, 0.0222, -0.0342, 0.0252]  # its beginning, for the first text


@pytest.fixture(scope="module")
def embedder() -> Multilingual:
    if path_of(MULTILINGUAL) is None:
        pytest.skip("needs the weights for multilingual, and they are not there: run 'chyme weights multilingual'")
    embedder = load_passage_embedder(PassageEmbedding("multilingual"))
    assert isinstance(embedder, Multilingual)
    return embedder


def rows(embedder: Multilingual, texts: list[str]) -> NDArray[numpy.float32]:
    return numpy.frombuffer(embedder.embed(texts), "<f4").reshape(len(texts), DIMENSION)


def test_it_is_fetched_only_when_it_is_named() -> None:
    assert MULTILINGUAL.capability in CATALOG
    assert MULTILINGUAL.capability not in DEFAULT_CAPABILITIES


@pytest.mark.parametrize("language", QUESTIONS)
def test_a_question_finds_the_english_text_that_answers_it(embedder: Multilingual, language: str) -> None:
    similarities = rows(embedder, QUESTIONS[language]) @ rows(embedder, ENGLISH).T

    assert similarities.argmax(axis=1).tolist() == [0, 1, 2]
    assert (similarities.max(axis=1) > numpy.sort(similarities, axis=1)[:, -2] + 0.1).all()


@pytest.mark.parametrize("text", NUMBERS)
def test_texts_are_tokenized_as_in_the_training_of_the_model(embedder: Multilingual, text: str) -> None:
    assert embedder.numbers(text) == NUMBERS[text]


def test_vectors_are_those_of_the_model_itself(embedder: Multilingual) -> None:
    assert numpy.allclose(rows(embedder, ENGLISH[:1])[0, :8], VECTOR, atol=0.002)


def test_every_text_has_a_vector_of_length_one_in_order_also_odd_ones(embedder: Multilingual) -> None:
    texts = ["", " ", "half \ud83d of a character", "\x00", "a" * 200_000, "☃ 🎉", *ENGLISH, "word " * 1000]
    found = rows(embedder, texts)

    assert numpy.allclose(numpy.linalg.norm(found, axis=1), 1.0, atol=1e-5)
    assert numpy.array_equal(found[6:10], rows(embedder, ENGLISH))
    assert embedder.embed([]) == b""
    assert len(embedder.numbers(texts[-1])) == LONGEST < embedder.count_tokens(texts[-1])


def test_more_threads_give_the_same_vectors(embedder: Multilingual) -> None:
    with_two_threads = load_passage_embedder(PassageEmbedding("multilingual", threads=2))
    assert with_two_threads.embed(ENGLISH) == embedder.embed(ENGLISH)


def test_it_reads_its_own_languages_and_refuses_others(embedder: Multilingual) -> None:
    assert all(embedder.reads(text) for texts in QUESTIONS.values() for text in texts)
    assert all(map(embedder.reads, ("임대차 계약", "วิธียกเลิกสัญญาเช่า", "Kira sözleşmesi", "12 34")))
    assert not any(map(embedder.reads, ("Η γλώσσα είναι", "שלום עולם", "हिन्दी में", "", " ")))


def field(number: int, value: bytes) -> bytes:
    return bytes([number << 3 | 2, len(value)]) + value


@pytest.mark.parametrize("data", [b"\x00", b"\x3a\x05ab", b"\xff" * 12, b"\x3b", b"\x3a\x00", b"hello", field(7, b"")])
def test_another_file_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(ValueError, match=r".+"):
        Multilingual(tmp_path / "file")


def test_a_graph_without_its_tensors_is_refused(tmp_path: Path) -> None:
    piece = field(1, field(1, b"a") + b"\x15" + struct.pack("<f", -1.0))
    pieces = field(1, field(1, b"<unk>")) + piece + field(3, field(2, b""))
    node = field(4, b"SentencepieceTokenizer") + field(5, field(1, b"model") + field(4, pieces))
    tensor = b"\x08\x02\x10\x01" + field(8, b"row") + field(9, struct.pack("<2f", 1, 2))
    scalar = b"\x10\x02" + field(5, b"\x80\x01") + field(8, b"zero")
    (tmp_path / "file").write_bytes(field(7, field(1, node) + field(5, tensor) + field(5, scalar)))
    found = read(tmp_path / "file")

    assert found.tensors["row"].tolist() == [1, 2]
    assert found.tensors["zero"].item() == 128
    assert found.pieces.pieces == [("<unk>", 0.0), ("a", -1.0)]
    with pytest.raises(ValueError, match=r".+"):
        Multilingual(tmp_path / "file")


def test_fields_are_returned_with_their_numbers() -> None:
    message = memoryview(b"\x08\x96\x01" + field(2, b"text") + b"\x1d\x01\x02\x03\x04" + b"\x21" + bytes(8))

    assert [(number, value if isinstance(value, int) else bytes(value)) for number, value in fields(message)] == [
        (1, 150),
        (2, b"text"),
        (3, b"\x01\x02\x03\x04"),
        (4, bytes(8)),
    ]
    assert [bytes(value) for value in messages(message, 2)] == [b"text"]
    assert numbers(memoryview(b"\x01\x96\x01\x7f")) == [1, 150, 127]
