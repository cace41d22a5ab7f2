"""Bring what was found by words and what was found by meaning into one order of files.

BM25 and cosines cannot be added: each is first measured in spreads (standard deviations) of its own list, from the
score of a file that is not in the list on. Both then count alike, unless even the best file by words has little of the
question: in a list of one file, any word of it would lift as high as all of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import pstdev

from chyme.search.ranking.matches import PASSAGES_SHOWN, Match, RankedFile

DEPTH = 100  # files of each list that are fused; behind them the order by words goes on
_LEAST_SPREAD = 0.05  # of what lies above the floor: files that are all about as near differ by nothing much
_ENOUGH = 0.5  # who has so much of what the question says has answered it
_CLEARLY = 1 / 3  # of the way from the floor to equality: who is so near is not near by chance
_FIRST_BY_WORDS = 5  # files among which the nearest may stand too
_LEAN_ON = 2  # the nearest files: those that are among the first by words say what else may be meant
_LONG = 30  # files: in a shorter list those that are leaned on would leave nothing to the others
_LEAN = 0.5  # how much they count beside the question


@dataclass(frozen=True, slots=True)
class NearFile:
    """A file that is near to what was meant, and its passages that are, nearest first."""

    file_id: int
    score: float
    passages: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FusedFile:
    """A file that was found by words, by meaning, by both, or listed for what it is."""

    file_id: int
    score: float
    worded: RankedFile | None = None
    near: NearFile | None = None


def near_files(passages: Sequence[Match], scores: Mapping[int, float] | None = None) -> list[NearFile]:
    """Files by their best passage, best first. `passages` come nearest first; `scores` may order them otherwise."""
    by_file: dict[int, list[Match]] = {}
    for match in passages:
        by_file.setdefault(match.file_id, []).append(match)
    known = scores or {}
    found = [
        NearFile(
            file_id,
            max(known.get(match.passage_id, match.score) for match in matches),
            tuple(match.passage_id for match in matches[:PASSAGES_SHOWN]),
        )
        for file_id, matches in by_file.items()
    ]
    return sorted(found, key=lambda near: (-near.score, near.file_id))


def query_coverage(held: Sequence[tuple[int, bool]], texts: int) -> float:
    """How much of a question a file has: of each word, in how many of all texts it stands, and whether the file has it.

    The rarer a word, the more it says; most, what stands nowhere.
    """
    says = [math.log1p((max(texts - with_it, 0) + 0.5) / (with_it + 0.5)) for with_it, _ in held]
    return sum(much for much, (_, has_it) in zip(says, held, strict=True) if has_it) / sum(says) if says else 0.0


def fuse(
    worded: Sequence[RankedFile], near: Sequence[NearFile], floor: float, answered: float = 1.0
) -> list[FusedFile]:
    """The first DEPTH files of both lists in one order, best first.

    Nothing in `near` is less than `floor` near. `answered`: how much of the question the best file by words has.
    """
    words = {file.file_id: file for file in worded[:DEPTH]}
    meaning = {file.file_id: file for file in near[:DEPTH]}
    counts = min(1.0, answered / _ENOUGH)
    lifted = _lifted({file.file_id: file.score for file in words.values()}, 0.0, 0.0)
    by_words = {file_id: counts * lift for file_id, lift in lifted.items()}
    by_meaning = _lifted({file.file_id: file.score for file in meaning.values()}, floor, _LEAST_SPREAD * (1 - floor))
    fused = [
        FusedFile(
            file_id,
            by_words.get(file_id, 0.0) + by_meaning.get(file_id, 0.0),
            words.get(file_id),
            meaning.get(file_id),
        )
        for file_id in words.keys() | meaning.keys()
    ]
    return sorted(fused, key=lambda file: (-round(file.score, 6), _second_to(file, floor), file.file_id))


def _second_to(file: FusedFile, floor: float) -> int:
    """Of files that score alike: words in the text first, then what is clearly near, words in the name, the rest."""
    if file.worded is not None and file.worded.by_words:
        return 0
    if file.near is not None and file.near.score >= floor + _CLEARLY * (1 - floor):
        return 1
    return 2 if file.worded is not None else 3


def _lifted(scores: Mapping[int, float], nothing: float, least_spread: float) -> dict[int, float]:
    """How far each file stands above those that are not in its list, in spreads of the list.

    Of a full list nobody knows more than that the absent are no better than the last. A shorter one has everything:
    whatever is absent scores `nothing`.
    """
    values = list(scores.values())
    absent = min(values, default=nothing)
    if len(values) < DEPTH:
        absent = min(absent, nothing)
        values.append(absent)
    spread = max(pstdev(values), least_spread)
    return {file_id: (score - absent) / spread if spread else 0.0 for file_id, score in scores.items()}


def files_in_both(worded: Sequence[RankedFile], near: Sequence[NearFile]) -> list[NearFile]:
    """The nearest files of a long list that are among the first by words too: they are likely to be what is meant."""
    first = {file.file_id for file in worded[:_FIRST_BY_WORDS]}
    return [file for file in near[:_LEAN_ON] if file.file_id in first] if len(near) >= _LONG else []


def feedback_scores(
    question: Sequence[float], towards: Sequence[bytes], vectors: Mapping[int, bytes]
) -> dict[int, float]:
    """How near passages are to a question that leans towards other passages (Rocchio's way to ask again)."""
    import numpy

    if not towards or not vectors:
        return {}
    asked = numpy.array(question, numpy.float32)
    asked = asked + _LEAN * numpy.mean([numpy.frombuffer(vector, "<f4") for vector in towards], axis=0)
    rows = numpy.frombuffer(b"".join(vectors.values()), "<f4").reshape(len(vectors), -1)
    scores = rows @ (asked / numpy.linalg.norm(asked)).astype(numpy.float32)
    return dict(zip(vectors, scores.tolist(), strict=True))
