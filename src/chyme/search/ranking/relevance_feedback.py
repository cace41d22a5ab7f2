"""Learn from the best files of a first ranking what a question is about, and rank once more (relevance feedback).

A question is a few words; the files that answer it best have hundreds. Their vectors show where its meaning lies among
the files of the vault, and their rarest words which other words belong to it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, pstdev
from typing import TYPE_CHECKING

from chyme.search.query.spelling import tokens_of
from chyme.search.ranking.word_and_meaning_fusion import FusedFile
from chyme.text.common_words import stop_words
from chyme.text.stemmer import fold, stem

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]

MIN_LIST = 30  # files: in a shorter list the best would leave nothing to the others
FEEDBACK_FILES = 5  # best files towards which the question moves
NEAREST_PASSAGES = 3  # of a file that say how near it is and what it is like
WORD_FILES = 3  # best files whose words are looked for in the others
WORDS_TRIED = 30  # most frequent words of theirs, of which the rarest in the vault are chosen
RERANKED = 50  # best files in which these words are looked for
MAX_PASSAGES_WITH_WORD = 500  # a word in more passages costs too much to look for
_FEEDBACK_WEIGHT = 1.5  # of the best files together, relative to the question
_WORDS_CHOSEN = 12
_RARE_SHARE, _FEW_PASSAGES = 0.05, 20  # of all passages may have the word; in a little vault, so many
_SHORTEST_WORD = 3
_WORD_WEIGHT = 0.35  # standard deviations of these words count so much


@dataclass(frozen=True, slots=True)
class FeedbackWord:
    """A word of the best files: as it is written there, and how much it counts."""

    word: str
    weight: float


def feedback_weights(scores: Sequence[float]) -> list[float]:
    """How much each of the best files counts; a file that is one standard deviation behind counts a third."""
    best = max(scores, default=0.0)
    powers = [math.exp(score - best) for score in scores]
    return [power / sum(powers) for power in powers]


def move_question(question: Sequence[float], feedback: Sequence[tuple[bytes, float]]) -> list[float]:
    """The question's vector, moved towards other vectors that have weights (Rocchio)."""
    import numpy

    moved = numpy.array(question, numpy.float64)
    for vector, weight in feedback:
        moved += _FEEDBACK_WEIGHT * weight * numpy.frombuffer(vector, "<f4")
    length = float(numpy.linalg.norm(moved))
    return [float(number) / length for number in moved] if length else list(question)


def cosines(question: Sequence[float], vectors: Mapping[int, bytes]) -> dict[int, float]:
    """How near passages are to the question; vectors of another length are left out."""
    import numpy

    wanted = numpy.array(question, numpy.float32)
    fitting = {id_: vector for id_, vector in vectors.items() if len(vector) == wanted.nbytes}
    if not fitting:
        return {}
    rows = numpy.frombuffer(b"".join(fitting.values()), "<f4").reshape(len(fitting), -1)
    return dict(zip(fitting, (rows @ wanted).tolist(), strict=True))


def nearest_of_files(
    scores: Mapping[int, float], owners: Mapping[int, int], count: int = NEAREST_PASSAGES
) -> dict[int, list[tuple[int, float]]]:
    """By file, its best passages with their scores, best first; `owners`: the files of the passages."""
    by_file: dict[int, list[tuple[int, float]]] = {}
    for passage_id, score in sorted(scores.items(), key=lambda item: (-item[1], item[0])):
        found = by_file.setdefault(owners[passage_id], [])
        if len(found) < count:
            found.append((passage_id, score))
    return by_file


def nearness(nearest: Sequence[tuple[int, float]]) -> float:
    """How near a file is by its nearest passages: half by the nearest one, half by all of these."""
    return (nearest[0][1] + fmean(score for _, score in nearest)) / 2


def mean_direction(vectors: Sequence[bytes]) -> Floats:
    """The mean of vectors, with length 1."""
    import numpy

    total = numpy.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1).sum(axis=0)
    length = float(numpy.linalg.norm(total))
    mean: Floats = total / length if length else total
    return mean


def best_of_files(scores: Mapping[int, float], owners: Mapping[int, int]) -> dict[int, tuple[int, float]]:
    """By file, its best passage and that passage's score; `owners`: the files of the passages."""
    best: dict[int, tuple[int, float]] = {}
    for passage_id, score in scores.items():
        owner = owners[passage_id]
        if owner not in best or score > best[owner][1]:
            best[owner] = passage_id, score
    return best


def frequent_words(texts: Iterable[tuple[str, float]], asked: Iterable[str]) -> list[FeedbackWord]:
    """The words that take up most of these texts, which have weights; without those asked for, and small words."""
    known = {stem(fold(token[0])) for word in asked for token in tokens_of(word)}
    shares: dict[str, float] = {}
    written: dict[str, str] = {}
    for text, weight in texts:
        words = [fold(token[0]) for token in tokens_of(text)]
        for word in words:
            root = stem(word)
            if len(word) >= _SHORTEST_WORD and not word.isdigit() and root not in known and word not in stop_words():
                written.setdefault(root, word)
                shares[root] = shares.get(root, 0.0) + weight / len(words)
    most = sorted(shares.items(), key=lambda item: (-item[1], item[0]))[:WORDS_TRIED]
    return [FeedbackWord(written[root], share) for root, share in most]


def rarity_limit(passages: int) -> int:
    """In how many of all passages a word may be that tells something."""
    return min(max(_FEW_PASSAGES, int(_RARE_SHARE * passages)), MAX_PASSAGES_WITH_WORD)


def choose_words(counted: Iterable[tuple[FeedbackWord, int]], passages: int) -> list[FeedbackWord]:
    """The words that are frequent in the best files and rare in the vault; with each, how many passages have it.

    A word that is in one passage only cannot lead to another.
    """
    limit = rarity_limit(passages)
    rare = [
        (word, count, word.weight * math.log(max(passages, 2) / count))
        for word, count in counted
        if 2 <= count <= limit
    ]
    best = sorted(rare, key=lambda item: (-item[2], item[0].word))[:_WORDS_CHOSEN]
    return [
        FeedbackWord(word.word, share / best[0][2] * max(math.log((passages - count + 0.5) / (count + 0.5)), 0.0))
        for word, count, share in best
        if best[0][2] > 0
    ]


def add_word_scores(files: Sequence[FusedFile], shared: Mapping[int, float]) -> list[FusedFile]:
    """The files in the order that results when the first of them also count by these words; `shared`: how much of the
    words each file has."""
    first = files[:RERANKED]
    spread = pstdev([shared.get(file.file_id, 0.0) for file in first]) if first else 0.0
    if not spread:
        return list(files)
    raised = [replace(file, score=file.score + _WORD_WEIGHT * shared.get(file.file_id, 0.0) / spread) for file in first]
    return [*sorted(raised, key=lambda file: -round(file.score, 6)), *files[RERANKED:]]


def count_shared_words(
    words: Iterable[tuple[FeedbackWord, Collection[int]]], owners: Mapping[int, int]
) -> dict[int, float]:
    """By file, how much of the words its best passage has; with each word, the passages that have it."""
    by_passage: dict[int, float] = {}
    for word, passages in words:
        for passage_id in owners.keys() & set(passages):
            by_passage[passage_id] = by_passage.get(passage_id, 0.0) + word.weight
    return {file_id: score for file_id, (_, score) in best_of_files(by_passage, owners).items()}
