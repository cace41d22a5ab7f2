"""Pictures that show what is asked for join the files that are near in meaning."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from semantic_vault import EveryVector
from vector_vault import VectorVault

from chyme.search.near_pictures import NearPicture, add_pictures, pictures_near
from chyme.search.query_embedding.query_vectors import QueryVector
from chyme.search.ranking.word_and_meaning_fusion import NearFile
from chyme.search.tables import embedders
from chyme.search.tables.keyword_queries import all_of

SHOWN = {"a picture": (1.0, 0.0, 0.0), "a barn": (0.6, 0.8, 0.0)}


class Words:
    """Embeds a few texts."""

    def embed(self, text: str, model: str) -> QueryVector:
        return QueryVector(SHOWN.get(text))


@pytest.fixture
def vault(tmp_path: Path) -> VectorVault:
    return VectorVault(tmp_path)


def near(db: sqlite3.Connection, question: str, model: str = "clip") -> dict[int, NearPicture]:
    return pictures_near(db, EveryVector(db), Words(), model, question, all_of(()))


def test_a_picture_is_near_if_the_question_fits_it_better_than_words_that_fit_every_picture(vault: VectorVault) -> None:
    clip = embedders.ensure(vault.db, "clip", 3, "now", "pictures")
    barn = vault.put(clip, [(0.5, 0.866, 0.0)], kind="image")
    vault.put(clip, [(0.95, 0.312, 0.0)], kind="image")  # as near to any picture as to a barn
    vault.put(clip, [(0.0, 0.0, 1.0)], kind="image")

    found = near(vault.db, "a barn")
    assert list(found) == [barn]
    assert found[barn].gain == pytest.approx(0.993 - 0.5, abs=0.01)


def test_nothing_is_near_without_the_model_or_its_vectors(vault: VectorVault) -> None:
    assert near(vault.db, "a barn") == {}
    embedders.ensure(vault.db, "clip", 3, "now", "pictures")
    assert near(vault.db, "a barn") == {}
    assert near(vault.db, "words it does not know") == {}


def test_near_pictures_join_the_near_files_by_how_well_they_fit() -> None:
    files = [NearFile(1, 0.6, (11,)), NearFile(2, 0.3, (21,))]
    merged = add_pictures(files, {2: NearPicture(22, 0.1), 3: NearPicture(31, 0.02)}, floor=0.25)
    assert [(file.file_id, file.score, file.passages, file.pictured) for file in merged] == [
        (2, pytest.approx(0.65), (21, 22), True),
        (1, 0.6, (11,), False),
        (3, pytest.approx(0.33), (31,), True),
    ]
    assert add_pictures(files, {}, 0.25) == files
