"""One ranking of files from two lists with different measures."""

from __future__ import annotations

import struct

import pytest

from chyme.search.ranking.keyword_ranking import Match, RankedFile
from chyme.search.ranking.word_and_meaning_fusion import (
    DEPTH,
    NearFile,
    feedback_scores,
    files_in_both,
    fuse,
    near_files,
    query_coverage,
)

FLOOR = 0.25


def by_words(*scores: tuple[int, float]) -> list[RankedFile]:
    return [RankedFile(file_id, score, (), True, False) for file_id, score in scores]


def near(*scores: tuple[int, float]) -> list[NearFile]:
    return [NearFile(file_id, score, (file_id * 10,)) for file_id, score in scores]


def order(words: list[RankedFile], meaning: list[NearFile]) -> list[int]:
    return [file.file_id for file in fuse(words, meaning, FLOOR)]


def test_a_file_in_both_lists_ranks_before_files_in_one() -> None:
    assert order(by_words((1, 9), (2, 8)), near((3, 0.6), (2, 0.55)))[0] == 2


def test_the_scale_of_a_list_does_not_matter() -> None:
    words, meaning = by_words((1, 9), (2, 8), (3, 2)), near((3, 0.6), (4, 0.5), (1, 0.3))
    larger = by_words((1, 900), (2, 800), (3, 200))
    assert order(words, meaning) == order(larger, meaning)


def test_without_one_list_the_order_is_that_of_the_other() -> None:
    assert order(by_words((1, 9), (2, 8), (3, 2)), []) == [1, 2, 3]
    assert order([], near((3, 0.6), (1, 0.5))) == [3, 1]
    assert order([], []) == []


def test_the_only_file_with_the_word_is_not_lost_among_files_that_are_somehow_near() -> None:
    found = fuse(by_words((1, 5.0)), near((2, 0.30), (3, 0.29), (4, 0.28)), FLOOR)
    assert found[0].file_id in (1, 2)
    assert {file.file_id for file in found[:2]} == {1, 2}
    assert all(file.score >= 0 for file in found)


def test_files_missing_from_a_full_list_count_as_its_last_file() -> None:
    words = by_words(*((number, 200.0 - number) for number in range(DEPTH)))
    last = fuse(words, [], FLOOR)[-1]
    assert (last.file_id, last.score) == (DEPTH - 1, 0.0)
    assert len(fuse(by_words(*((number, 1.0) for number in range(DEPTH + 50))), [], FLOOR)) == DEPTH


def test_equal_scores_are_ordered_words_first_then_by_file() -> None:
    assert order(by_words((7, 1.0), (5, 1.0)), []) == [5, 7]
    assert order(by_words((7, 5.0)), near((2, 0.5))) == [7, 2]


def test_a_clearly_near_file_ranks_before_an_equal_match_by_name() -> None:
    by_name = [RankedFile(7, 5.0, (), False, True)]
    assert [file.file_id for file in fuse(by_name, near((9, 0.61)), FLOOR)] == [9, 7]
    assert [file.file_id for file in fuse(by_name, near((9, 0.3)), FLOOR)] == [7, 9]
    assert [file.file_id for file in fuse(by_words((7, 5.0)), near((9, 0.61)), FLOOR)] == [7, 9]


def test_words_count_less_when_even_the_best_file_has_little_of_the_question() -> None:
    def first(answered: float) -> int:
        return fuse(by_words((7, 5.0)), near((2, 0.5)), FLOOR, answered)[0].file_id

    assert [first(answered) for answered in (0.0, 0.3, 0.49)] == [2, 2, 2]
    assert [first(answered) for answered in (0.5, 0.8, 1.0)] == [7, 7, 7]
    assert [file.file_id for file in fuse(by_words((1, 9), (2, 8), (3, 2)), [], FLOOR, 0.2)] == [1, 2, 3]


def test_query_coverage_weighs_words_by_their_rarity() -> None:
    everywhere, rare, nowhere = 90, 1, 0
    assert query_coverage([(everywhere, True), (rare, True)], 100) == 1.0
    assert query_coverage([(everywhere, True), (rare, False)], 100) < 0.05
    assert query_coverage([(everywhere, False), (rare, True)], 100) > 0.95
    assert query_coverage([(rare, True), (nowhere, False)], 100) < 0.5
    assert query_coverage([(rare, False), (rare, False)], 100) == 0.0
    assert query_coverage([(2, True), (2, False)], 1) == pytest.approx(0.5)
    assert query_coverage([], 100) == 0.0


def test_files_are_as_near_as_their_nearest_passage() -> None:
    passages = [Match(10, 1, 0.9), Match(20, 2, 0.8), Match(11, 1, 0.7), Match(12, 1, 0.6), Match(13, 1, 0.5)]
    assert near_files(passages) == [NearFile(1, 0.9, (10, 11, 12)), NearFile(2, 0.8, (20,))]
    assert [file.file_id for file in near_files(passages, {10: 0.1, 11: 0.1, 12: 0.1, 13: 0.1, 20: 0.2})] == [2, 1]


def test_files_in_both_are_the_nearest_files_among_the_first_by_words() -> None:
    words = by_words(*((number, 20.0 - number) for number in range(10)))
    long = [*((number, 0.3) for number in range(100, 140))]
    assert [file.file_id for file in files_in_both(words, near((4, 0.9), (1, 0.8), (0, 0.7), *long))] == [4, 1]
    assert [file.file_id for file in files_in_both(words, near((5, 0.9), (1, 0.8), (0, 0.7), *long))] == [1]
    assert files_in_both(words, near((8, 0.9), (9, 0.8), (0, 0.7), *long)) == []


def test_a_short_list_gives_no_feedback() -> None:
    """Files used for feedback come so near that no others would remain."""
    assert files_in_both(by_words((1, 9.0)), near((1, 0.9), *((number, 0.5) for number in range(2, 30)))) == []
    assert len(files_in_both(by_words((1, 9.0)), near((1, 0.9), *((number, 0.5) for number in range(2, 31))))) == 1


def test_feedback_moves_a_question_towards_the_given_vectors() -> None:
    vectors = {1: struct.pack("<2f", 1, 0), 2: struct.pack("<2f", 0, 1)}
    scores = feedback_scores((1.0, 0.0), [vectors[2]], vectors)
    assert scores[1] == pytest.approx(0.894, abs=0.001)
    assert scores[2] == pytest.approx(0.447, abs=0.001)
    assert feedback_scores((1.0, 0.0), [], vectors) == {}
