"""Combine files found by words and files found by meaning into one ranking.

BM25 scores and cosines cannot be added: each is first measured in standard deviations of its own list, starting from
the score of a file that is not in the list. Both then count equally, unless even the best file by words has little of
the question: in a list of one file, any single word would raise it as high as all of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import pstdev

from chyme.search.ranking.keyword_ranking import PASSAGES_SHOWN, Match, RankedFile

DEPTH = 100  # files of each list that are fused; after them the order by words continues
_MIN_SPREAD = 0.05  # of the range above the floor: files that are all about equally near hardly differ
_FULL_COVERAGE = 0.5  # a file with so much of the question counts as an answer
_FULL_COVERAGE_IN_LONG_LIST = 0.9  # where many files are found, some have half of the words by chance
NAME_WEIGHT = 0.2  # of words in names and titles in a long list, on top of their share in the score by words
_CLEARLY_NEAR = 1 / 3  # of the way from the floor to equality: a file this near is not near by chance


@dataclass(frozen=True, slots=True)
class NearFile:
    """A file near to the question's meaning, with its near passages, nearest first; none if only a tag is near."""

    file_id: int
    score: float
    passages: tuple[int, ...]
    tag: str | None = None  # its tag that is near to the question
    pictured: bool = False  # it is a picture that shows what the question asks for


@dataclass(frozen=True, slots=True)
class FusedFile:
    """A file that was found by words, by meaning, by both, or by filters alone."""

    file_id: int
    score: float
    keyword_match: RankedFile | None = None
    near: NearFile | None = None


def near_files(passages: Sequence[Match]) -> list[NearFile]:
    """Files by their best passage, best first. `passages` come nearest first."""
    by_file: dict[int, list[Match]] = {}
    for match in passages:
        by_file.setdefault(match.file_id, []).append(match)
    found = [
        NearFile(file_id, matches[0].score, tuple(match.passage_id for match in matches[:PASSAGES_SHOWN]))
        for file_id, matches in by_file.items()
    ]
    return sorted(found, key=lambda near: (-near.score, near.file_id))


def query_coverage(word_counts: Sequence[tuple[int, bool]], texts: int) -> float:
    """How much of a question a file has. For each word: how many of all texts have it, and whether the file does.

    The rarer a word, the more it counts; a word that is in no text counts most.
    """
    information = [math.log1p((max(texts - with_it, 0) + 0.5) / (with_it + 0.5)) for with_it, _ in word_counts]
    return (
        sum(value for value, (_, has_it) in zip(information, word_counts, strict=True) if has_it) / sum(information)
        if information
        else 0.0
    )


def fuse(
    by_words: Sequence[RankedFile],
    near: Sequence[NearFile],
    floor: float,
    words_weight: float = 1.0,
    cosines: Mapping[int, float] | None = None,
    name_weight: float = 0.0,
) -> list[FusedFile]:
    """The first DEPTH files of both lists in one order, best first.

    All files in `near` score at least `floor`. `words_weight`: how much words count relative to meaning. `cosines`: how
    near files are to the meaning, also those found by words alone, if that is known better than from `near`.
    `name_weight`: how much words in names and titles count once more, relative to words.
    """
    words = {file.file_id: file for file in by_words[:DEPTH]}
    meaning = {file.file_id: file for file in near[:DEPTH]}
    normalized = _normalize({file.file_id: file.score for file in words.values()}, 0.0, 0.0)
    named = _deviations({file_id: words[file_id].name_score for file_id in words}, len(words.keys() | meaning.keys()))
    word_scores = {
        file_id: words_weight * (score + name_weight * named[file_id]) for file_id, score in normalized.items()
    }
    nearness = {file.file_id: file.score for file in meaning.values()} if cosines is None else _highest(cosines)
    meaning_scores = _normalize(nearness, floor, _MIN_SPREAD * (1 - floor))
    fused = [
        FusedFile(
            file_id,
            word_scores.get(file_id, 0.0) + meaning_scores.get(file_id, 0.0),
            words.get(file_id),
            meaning.get(file_id),
        )
        for file_id in words.keys() | meaning.keys()
    ]
    return sorted(fused, key=lambda file: (-round(file.score, 6), _tie_order(file, floor), file.file_id))


def words_weight(coverage: float, in_long_list: bool = False) -> float:
    """How much words count relative to meaning if the best file by words has so much of the question."""
    return min(1.0, coverage / (_FULL_COVERAGE_IN_LONG_LIST if in_long_list else _FULL_COVERAGE))


def _deviations(scores: Mapping[int, float], count: int) -> dict[int, float]:
    """The scores in standard deviations among so many files, of which the others have none."""
    spread = pstdev([*scores.values(), *([0.0] * (count - len(scores)))]) if count else 0.0
    return {file_id: score / spread if spread else 0.0 for file_id, score in scores.items()}


def _highest(scores: Mapping[int, float]) -> dict[int, float]:
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:DEPTH])


def _tie_order(file: FusedFile, floor: float) -> int:
    """Of files with equal scores: words in the text first, then clearly near, then words in the name, then others."""
    if file.keyword_match is not None and file.keyword_match.by_words:
        return 0
    if file.near is not None and file.near.score >= floor + _CLEARLY_NEAR * (1 - floor):
        return 1
    return 2 if file.keyword_match is not None else 3


def _normalize(scores: Mapping[int, float], absent_score: float, min_spread: float) -> dict[int, float]:
    """How far each file is above those that are not in its list, in standard deviations of the list.

    For a full list it is only known that absent files are no better than the last. A shorter list is complete: absent
    files have `absent_score`.
    """
    values = list(scores.values())
    absent = min(values, default=absent_score)
    if len(values) < DEPTH:
        absent = min(absent, absent_score)
        values.append(absent)
    spread = max(pstdev(values), min_spread)
    return {file_id: (score - absent) / spread if spread else 0.0 for file_id, score in scores.items()}
