"""What the best files of a first ranking tell about a question."""

from __future__ import annotations

import struct

import pytest
from semantic_vault import MeaningShelf

from chyme.search.ranking.relevance_feedback import (
    MAX_PASSAGES_WITH_WORD,
    RERANKED,
    FeedbackWord,
    add_word_scores,
    best_of_files,
    choose_words,
    cosines,
    count_shared_words,
    feedback_weights,
    frequent_words,
    mean_direction,
    move_question,
    nearest_of_files,
    nearness,
    rarity_limit,
)
from chyme.search.ranking.word_and_meaning_fusion import FusedFile


def test_a_file_one_deviation_behind_the_best_counts_a_third() -> None:
    best, second = feedback_weights([3.0, 2.0])
    assert second / best == pytest.approx(0.37, abs=0.01)
    assert best + second == pytest.approx(1.0)
    assert feedback_weights([]) == []


def test_feedback_moves_a_question_towards_the_given_vectors() -> None:
    vectors = {1: struct.pack("<2f", 1, 0), 2: struct.pack("<2f", 0, 1)}
    moved = cosines(move_question((1.0, 0.0), [(vectors[2], 1.0)]), vectors)
    assert moved[1] == pytest.approx(0.555, abs=0.001)
    assert moved[2] == pytest.approx(0.832, abs=0.001)
    assert move_question((1.0, 0.0), []) == [1.0, 0.0]


def test_vectors_of_another_length_are_left_out() -> None:
    assert list(cosines((1.0, 0.0), {1: struct.pack("<3f", 1, 0, 0), 2: struct.pack("<2f", 0, 1)})) == [2]
    assert cosines((1.0, 0.0), {}) == {}


def test_the_best_passage_of_a_file_stands_for_it() -> None:
    assert best_of_files({10: 0.2, 11: 0.5, 20: 0.4}, {10: 1, 11: 1, 20: 2}) == {1: (11, 0.5), 2: (20, 0.4)}


def test_a_file_is_as_near_as_its_nearest_passage_and_its_three_nearest_together() -> None:
    nearest = nearest_of_files({10: 0.1, 11: 0.6, 12: 0.4, 13: 0.5, 20: 0.4}, dict.fromkeys(range(10, 14), 1) | {20: 2})
    assert nearest == {1: [(11, 0.6), (13, 0.5), (12, 0.4)], 2: [(20, 0.4)]}
    assert nearness(nearest[1]) == pytest.approx(0.55)
    assert nearness(nearest[2]) == pytest.approx(0.4)


def test_the_direction_of_several_vectors_has_length_one() -> None:
    assert mean_direction([struct.pack("<2f", 1, 0), struct.pack("<2f", 0, 1)]) == pytest.approx([0.7071] * 2, abs=1e-4)
    assert mean_direction([struct.pack("<2f", 1, 0), struct.pack("<2f", -1, 0)]) == pytest.approx([0.0, 0.0])


def test_frequent_words_are_neither_asked_for_nor_small_nor_numbers() -> None:
    texts = [("The whales sang of krill, krill and 1999; a whale", 2.0), ("Plankton", 0.1)]
    assert [word.word for word in frequent_words(texts, ["whale"])] == ["krill", "sang", "plankton"]


def test_of_frequent_words_the_rare_ones_are_chosen_that_lead_to_another_passage() -> None:
    counted = [
        (FeedbackWord(word, 1.0), count) for word, count in (("krill", 4), ("sea", 40), ("song", 1), ("is", 900))
    ]
    chosen = choose_words(counted, 1000)
    assert [word.word for word in chosen] == ["krill", "sea"]
    assert chosen[0].weight > chosen[1].weight > 0
    assert choose_words([], 1000) == []


def test_a_word_in_very_many_passages_is_never_looked_for() -> None:
    assert rarity_limit(100) == 20
    assert rarity_limit(6_000) == 300
    assert rarity_limit(10_000_000) == MAX_PASSAGES_WITH_WORD


def test_a_file_has_as_much_of_the_words_as_its_best_passage() -> None:
    words = [(FeedbackWord("krill", 2.0), [10, 20]), (FeedbackWord("sea", 1.0), [11, 20, 99])]
    assert count_shared_words(words, {10: 1, 11: 1, 20: 2}) == {1: 2.0, 2: 3.0}


def test_only_the_first_files_are_reordered_by_shared_words() -> None:
    files = [FusedFile(number, 100.0 - number / 1000) for number in range(RERANKED + 10)]
    order = [file.file_id for file in add_word_scores(files, {RERANKED - 1: 5.0, RERANKED + 5: 50.0})]
    assert order[0] == RERANKED - 1
    assert order[RERANKED:] == list(range(RERANKED, RERANKED + 10))
    assert add_word_scores(files, {}) == files
    assert add_word_scores([], {}) == []


@pytest.fixture
def ocean(meant: MeaningShelf) -> MeaningShelf:
    """Two notes about whales that share a rare word, one without the question's word, and many others near by."""
    meant.put_meant("best.txt", "whale song: krill, krill and baleen in the sea, the whale ocean")
    meant.put_meant("third.txt", "harbour wall of stone in sea water near the gate and bricks")
    meant.put_meant("other.txt", "krill and baleen in sea water near the harbour wall of stone")
    for number in range(40):
        meant.put_meant(f"{number:02}.txt", f"sea travel report about tickets, cabins and ports {number}")
    return meant


def test_files_with_the_words_of_the_best_file_rank_before_others_that_are_as_near(ocean: MeaningShelf) -> None:
    found = ocean.paths("whale song")
    assert found[0] == "best.txt"
    assert found.index("other.txt") < found.index("third.txt")


def test_feedback_neither_finds_nor_loses_a_file(ocean: MeaningShelf) -> None:
    result = ocean.hybrid("whale song", limit=100)
    assert result.total == len(result.hits) == 43
