"""One ranking of files from two lists with different measures."""

from __future__ import annotations

import pytest

from chyme.search.ranking.keyword_ranking import Match, RankedFile
from chyme.search.ranking.word_and_meaning_fusion import (
    DEPTH,
    NearFile,
    fuse,
    near_files,
    query_coverage,
    words_weight,
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
        return fuse(by_words((7, 5.0)), near((2, 0.5)), FLOOR, words_weight(answered))[0].file_id

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


def test_in_a_long_list_half_of_the_question_is_no_answer_yet() -> None:
    assert words_weight(0.5) == words_weight(1.0) == 1.0
    assert words_weight(0.45, in_long_list=True) == pytest.approx(0.5)
    assert words_weight(0.95, in_long_list=True) == 1.0


def test_better_knowledge_of_nearness_counts_for_files_found_by_words_alone_too() -> None:
    words, meaning = by_words((1, 9.0), (2, 9.0)), near((3, 0.6))
    found = fuse(words, meaning, FLOOR, cosines={1: 0.3, 2: 0.7, 3: 0.5})
    assert found[0].file_id == 2
    assert [file.near is None for file in found if file.file_id in (1, 2)] == [True, True]


def test_words_in_the_name_count_once_more_if_asked_for() -> None:
    words = [RankedFile(1, 9.0, (), True, False), RankedFile(2, 8.9, (), True, True, name_score=3.0)]
    assert [file.file_id for file in fuse(words, near((3, 0.5)), FLOOR)] == [1, 2, 3]
    assert [file.file_id for file in fuse(words, near((3, 0.5)), FLOOR, name_weight=1.0)] == [2, 1, 3]
    assert next(iter(fuse(words, near((3, 0.5)), FLOOR, 0.0, name_weight=1.0))).file_id == 3
