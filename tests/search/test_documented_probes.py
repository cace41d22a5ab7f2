"""The table of questions in docs/search.md is correct, with invented vectors and with those of the real model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from keyword_vault import open_database
from semantic_vault import MeaningShelf

from chyme.errors import EngineUnavailable
from chyme.models.embedding.minilm import EmbeddingSettings, load_minilm

pytestmark = pytest.mark.slow  # each takes little time, but there are many

DOCS = (Path(__file__).parents[2] / "docs" / "search.md").read_text(encoding="utf-8")


def table(heading: str) -> list[list[str]]:
    """Return the rows of the table whose first column has this heading."""
    _, _, rest = DOCS.partition(f"| {heading} |")
    rows = []
    for line in rest.splitlines()[2:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return rows


NOTES = [(row[0].strip("` "), row[1]) for row in table("note")]
PROBES = [(row[0].strip("` "), re.findall(r"`([^`]+)`", row[1])) for row in table("question")]


@pytest.fixture
def notes(meant: MeaningShelf) -> MeaningShelf:
    for path, text in NOTES:
        meant.put_meant(path, text)
    return meant


@pytest.fixture(scope="module")
def real_notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MeaningShelf]:
    try:
        embedder = load_minilm(EmbeddingSettings())
    except EngineUnavailable as error:
        pytest.skip(str(error))
    db = open_database(tmp_path_factory.mktemp("real") / "vault.db")
    shelf = MeaningShelf(db, embedder)
    for path, text in NOTES:
        shelf.put_meant(path, text)
    yield shelf
    db.close()


def test_the_tables_are_there() -> None:
    assert len(NOTES) == 6
    assert len(PROBES) == 15


@pytest.mark.parametrize(("question", "paths"), PROBES)
def test_a_documented_question_finds_what_the_table_says(notes: MeaningShelf, question: str, paths: list[str]) -> None:
    assert notes.paths(question) == paths


@pytest.mark.parametrize(("question", "paths"), PROBES)
def test_the_real_model_says_the_same(real_notes: MeaningShelf, question: str, paths: list[str]) -> None:
    assert real_notes.paths(question) == paths
