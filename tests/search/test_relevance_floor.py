"""The minimum similarity of a hit: fixed for known models, measured in the vault for others."""

from __future__ import annotations

import math
import struct
from random import Random

import pytest
from keyword_vault import Shelf

from chyme.model import Passage, Place
from chyme.search.ranking.nearest_passages import SimilarityThresholds
from chyme.search.tables import embedders, vectors
from chyme.search.tables.embedders import Embedder

WIDTH = 32


def unit(numbers: list[float]) -> list[float]:
    length = math.sqrt(sum(number * number for number in numbers))
    return [number / length for number in numbers]


def fill(shelf: Shelf, model: str, count: int, lean: float) -> tuple[Embedder, list[float]]:
    """Store unrelated passages of a model that finds all texts somewhat similar; return it and a question."""
    random = Random(7)
    embedder = embedders.ensure(shelf.db, model, WIDTH, "now")

    def text() -> list[float]:
        return unit([lean, *unit([random.gauss(0, 1) for _ in range(WIDTH - 1)])])

    rows = [text() for _ in range(count)]
    passages = [Passage("file", at, "x", Place(0, 1)) for at in range(count)]
    blob = b"".join(struct.pack(f"<{WIDTH}f", *row) for row in rows)
    vectors.replace(shelf.db, shelf.put("a.txt"), embedder.id, passages, blob, WIDTH, True)
    return embedder, text()


def test_a_known_model_has_its_own_floor(shelf: Shelf) -> None:
    embedder, question = fill(shelf, "all-minilm-l6-v2 384 int8", 50, 2.0)
    assert SimilarityThresholds().threshold(shelf.db, embedder, question) == 0.25


@pytest.mark.parametrize("lean", [0.0, 1.0, 2.0])
def test_an_unknown_model_is_measured_against_the_vault(shelf: Shelf, lean: float) -> None:
    """The distance to unrelated texts is the same, however similar all texts are for the model."""
    embedder, question = fill(shelf, "another", 300, lean)
    floor = SimilarityThresholds().threshold(shelf.db, embedder, question)
    without_lean = floor * (1 + lean**2) - lean**2  # the value for a model without this bias
    assert without_lean == pytest.approx(0.06, abs=0.06)


def test_a_vault_of_a_few_passages_is_not_measured(shelf: Shelf) -> None:
    embedder, question = fill(shelf, "another", 3, 1.0)
    assert SimilarityThresholds().threshold(shelf.db, embedder, question) == 0.25


def test_a_vault_that_grew_is_measured_again(shelf: Shelf) -> None:
    floors = SimilarityThresholds()
    embedder, question = fill(shelf, "another", 3, 1.0)
    assert floors.threshold(shelf.db, embedder, question) == 0.25
    shelf.db.execute("UPDATE files SET path = 'b.txt'")
    fill(shelf, "another", 100, 1.0)
    assert floors.threshold(shelf.db, embedder, question) > 0.3
