"""Files that are like one another support each other."""

from __future__ import annotations

import numpy
import pytest

from chyme.search.ranking.neighbour_smoothing import SMOOTHED, smooth_scores
from chyme.search.ranking.word_and_meaning_fusion import FusedFile

SUBJECT, OTHER = (numpy.array(row, numpy.float32) for row in ((1, 0), (0, 1)))


def files(count: int, step: float = 0.1) -> list[FusedFile]:
    return [FusedFile(number, 10.0 - step * number) for number in range(count)]


def order(found: list[FusedFile]) -> list[int]:
    return [file.file_id for file in found]


def test_of_two_files_with_nearly_equal_scores_the_one_among_better_files_comes_first() -> None:
    """Files 0 to 12 and 21 are about one subject, the others about another one."""
    directions = {number: SUBJECT if number <= 12 or number == 21 else OTHER for number in range(30)}
    found = order(smooth_scores(files(30), directions))
    assert found.index(21) < found.index(20)
    assert found[0] == 0


def test_a_file_far_ahead_of_all_others_stays_first_though_none_is_like_it() -> None:
    ahead = [FusedFile(99, 20.0), *files(30)]
    directions = {99: OTHER} | dict.fromkeys(range(30), SUBJECT)
    assert order(smooth_scores(ahead, directions))[0] == 99


def test_a_file_without_vectors_stays_in_its_half() -> None:
    found = order(smooth_scores(files(30), {number: SUBJECT for number in range(30) if number != 5}))
    assert sorted(found) == list(range(30))
    assert found.index(5) < 15


def test_only_the_first_files_are_smoothed() -> None:
    found = smooth_scores(files(SMOOTHED + 10), dict.fromkeys(range(SMOOTHED + 10), SUBJECT))
    assert found[SMOOTHED:] == files(SMOOTHED + 10)[SMOOTHED:]


@pytest.mark.parametrize("count", [0, 1, 10])
def test_a_few_files_keep_their_scores(count: int) -> None:
    assert smooth_scores(files(count), dict.fromkeys(range(count), SUBJECT)) == files(count)
