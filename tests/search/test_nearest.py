"""The cache finds the nearest vectors, whether they are in files or in memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest
from vector_vault import EVERYTHING, VectorVault, ids

from chyme.errors import UsageError
from chyme.search.sqlite_index import SqliteSemanticIndex
from chyme.search.tables import embedders
from chyme.search.tables.keyword_queries import has_kind
from chyme.search.vectors import nearest_neighbours
from chyme.search.vectors.binary_codes import count_differing, find_lowest, pack_signs, top_scores
from chyme.search.vectors.segment import Piece


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[VectorVault]:
    vault = VectorVault(tmp_path)
    yield vault
    vault.db.close()


@pytest.mark.parametrize(("count", "wanted"), [(0, 5), (1, 1), (3, 10), (7, 7), (40, 5), (100, 30)])
def test_the_nearest_are_those_found_by_hand(vault: VectorVault, count: int, wanted: int) -> None:
    embedder = vault.embedder()
    cache = vault.cache()
    vault.fill(embedder, count // 2)
    cache.refresh(embedder)
    cache.compact()
    vault.fill(embedder, count - count // 2)
    target = vault.vector()
    found = cache.nearest(target, embedder, wanted)
    expected = vault.by_hand(target, embedder, wanted)
    assert ids(found) == ids(expected)
    assert all(math.isclose(a, b, abs_tol=1e-5) for (_, a), (_, b) in zip(found, expected, strict=True))


@pytest.mark.parametrize("dimension", [1, 7, 64, 65, 384])
def test_signs_that_differ_are_counted(dimension: int) -> None:
    rows = numpy.random.default_rng(dimension).standard_normal((50, dimension), numpy.float32)
    differing = numpy.empty(50, numpy.uint16)
    count_differing(pack_signs(rows), pack_signs(rows[:1])[:, 0], differing)
    assert differing.tolist() == ((rows > 0) != (rows[0] > 0)).sum(axis=1).tolist()


@pytest.mark.parametrize("wanted", [1, 4, 5, 9, 10, 50])
def test_the_wanted_number_of_lowest_values_is_taken_even_if_some_are_equal(wanted: int) -> None:
    differing = numpy.array([3, 1, 3, 3, 0, 3, 9, 3, 1, 3], numpy.uint16)
    taken = find_lowest(differing, wanted)
    assert taken.tolist() == sorted(taken)
    assert sorted(differing[taken].tolist()) == sorted(differing.tolist())[:wanted]


def test_equal_scores_are_ordered_by_id_and_nan_comes_last() -> None:
    found = top_scores(numpy.array([5, 2, 9, 4]), numpy.array([0.5, 0.5, math.nan, 0.75], numpy.float32), 4)
    assert ids(found) == [4, 2, 5, 9]


def test_comparing_signs_first_loses_almost_none_of_the_nearest() -> None:
    """The vectors are clustered around some subjects, as those of texts are; otherwise all angles would be random."""
    random = numpy.random.default_rng(1)
    subjects = random.standard_normal((40, 384), numpy.float32)
    rows = subjects[random.integers(0, 40, 12_000)] + 0.8 * random.standard_normal((12_000, 384), numpy.float32)
    rows /= numpy.linalg.norm(rows, axis=1, keepdims=True)
    numbers = numpy.arange(1, 12_001)
    pieces = [
        Piece(numbers[part], numbers[part], pack_signs(rows[part]), rows[part])
        for part in (slice(0, 7000), slice(7000, 7000), slice(7000, 12_000))
    ]
    agreeing = 0
    for at in range(0, 12_000, 300):
        found = ids(nearest_neighbours.nearest(pieces, rows[at], 10))
        expected = ids(nearest_neighbours.nearest(pieces, rows[at], 10, few=20_000))
        assert found[0] == expected[0] == at + 1
        agreeing += len(set(found) & set(expected))
    assert agreeing >= 0.985 * 10 * 40


def test_only_allowed_ids_are_found(vault: VectorVault) -> None:
    embedder = vault.embedder()
    cache = vault.cache()
    vault.fill(embedder, 60)
    target = vault.vector()
    allowed = [1, 2, 30, 59, 60, 999]
    found = cache.nearest(target, embedder, 4, allowed)
    assert ids(found) == [id_ for id_ in ids(vault.by_hand(target, embedder, 60)) if id_ in allowed][:4]
    assert cache.nearest(target, embedder, 4, []) == []


def test_vectors_of_several_embedders_are_never_mixed(vault: VectorVault) -> None:
    small, large = vault.embedder("small", 10), vault.embedder("large", 130)
    cache = vault.cache()
    for _ in range(3):
        vault.fill(small, 20)
        vault.fill(large, 20)
        cache.compact()
    for embedder in (small, large):
        target = vault.vector(embedder.dimension)
        assert ids(cache.nearest(target, embedder, 60)) == ids(vault.by_hand(target, embedder, 60))
    with pytest.raises(UsageError, match="has 10 numbers and those of large have 130"):
        cache.nearest(vault.vector(10), large, 5)


def test_an_embedder_that_begins_to_serve_is_still_the_same(vault: VectorVault) -> None:
    vault.embedder("first", 10)
    second = vault.embedder("second", 20)
    cache = vault.cache()
    vault.fill(second, 5)
    target = vault.vector(20)
    before = cache.nearest(target, second, 5)
    embedders.switch(vault.db, second.id)
    now = embedders.get_serving(vault.db)
    assert now is not None
    assert cache.nearest(target, now, 5) == before


@pytest.mark.parametrize("rare", [1, 10, 60])
def test_the_nearest_are_found_under_a_condition_that_few_files_meet(vault: VectorVault, rare: int) -> None:
    embedder = vault.embedder()
    vault.fill(embedder, 300)
    vault.fill(embedder, rare, kind="image")
    vault.fill(embedder, 20)
    target, where = vault.vector(), has_kind(0, "image")
    found = vault.meaning(vault.cache()).find_by_meaning(target, embedder, where, 20)
    expected = vault.by_hand(target, embedder, 20, where)
    assert ids(found) == ids(expected)
    assert [match.score for match in found] == pytest.approx([score for _, score in expected], abs=1e-5)


def test_a_condition_is_met_even_if_none_of_the_nearest_meets_it(vault: VectorVault) -> None:
    embedder = vault.embedder(dimension=2)
    for number in range(1, 301):
        angle = number / 300 * math.pi / 2
        vault.put(embedder, [(math.cos(angle), math.sin(angle))], "text" if number < 100 else "image")
    meaning = SqliteSemanticIndex(vault.read, vault.cache(), few=50, many=250)
    found = meaning.find_by_meaning((1.0, 0.0), embedder, has_kind(0, "image"), 3)
    assert ids(found) == [100, 101, 102]


def test_deleted_and_vanished_files_are_never_found(vault: VectorVault) -> None:
    embedder = vault.embedder()
    cache = vault.cache()
    file_ids = vault.fill(embedder, 60)
    target = vault.vector()
    meaning = vault.meaning(cache)
    nearest = [match.file_id for match in meaning.find_by_meaning(target, embedder, EVERYTHING, 10)]
    for file_id in nearest[:5]:
        vault.remove(file_id)
    for file_id in nearest[5:]:
        vault.db.execute("UPDATE files SET vanished_at = 'now' WHERE id = ?", (file_id,))
    found = meaning.find_by_meaning(target, embedder, EVERYTHING, 55)
    assert sorted(match.file_id for match in found) == sorted(set(file_ids) - set(nearest))
    assert ids(found) == ids(vault.by_hand(target, embedder, 55))
    vault.db.execute("UPDATE files SET vanished_at = NULL")
    cache.compact()
    assert len(meaning.find_by_meaning(target, embedder, EVERYTHING, 55)) == 55


def test_the_replacement_of_a_vector_is_found_instead_of_it(vault: VectorVault) -> None:
    embedder = vault.embedder()
    meaning = vault.meaning(vault.cache())
    file_id = vault.fill(embedder, 30)[7]
    before, now = vault.vector(), vault.vector()
    for vector in (before, now):
        vault.put(embedder, [vector], file_id=file_id)
        (found,) = meaning.find_by_meaning(vector, embedder, EVERYTHING, 1)
        assert (found.file_id, round(found.score, 5)) == (file_id, 1.0)
    assert meaning.find_by_meaning(before, embedder, EVERYTHING, 1)[0].score < 0.999
