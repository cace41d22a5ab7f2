"""Combine matches in texts and matches in names into one ranking of files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

PASSAGES_SHOWN = 3
NAME_WEIGHTS = (1.0, 2.0, 1.0, 1.0)  # name, title, tags, summary
_NAME_SHARE = 0.35
_ADJACENT_SHARE = 0.3  # extra weight of words that are adjacent as in the question
_FURTHER_SHARE = 0.1  # weight of a file's second-best passage; the third has half of it, and so on


@dataclass(frozen=True, slots=True)
class Match:
    """A passage that matched; a higher score is better."""

    passage_id: int
    file_id: int
    score: float


@dataclass(frozen=True, slots=True)
class RankedFile:
    """A file, its score, and the passages to show for it."""

    file_id: int
    score: float
    passages: tuple[int, ...]
    by_words: bool
    by_name: bool
    name_score: float = 0.0  # by name, title, tags and summary alone; a share of it is in the score


def rank(
    passages: Sequence[Match], names: Sequence[tuple[int, float]], together: Sequence[Match] = ()
) -> list[RankedFile]:
    """Files, best first. `passages` come best first; `together` are those with adjacent words of the question."""
    by_file: dict[int, list[Match]] = {}
    for match in _add_adjacent(passages, together):
        by_file.setdefault(match.file_id, []).append(match)
    name_scores = dict(names)
    ranked = []
    for file_id in by_file.keys() | name_scores.keys():
        matches = by_file.get(file_id, [])
        name_score = name_scores.get(file_id, 0.0)
        score = _NAME_SHARE * name_score
        for i, match in enumerate(matches[:5]):
            score += match.score * (1.0 if i == 0 else _FURTHER_SHARE / 2 ** (i - 1))
        shown = tuple(match.passage_id for match in matches[:PASSAGES_SHOWN])
        ranked.append(RankedFile(file_id, score, shown, bool(matches), file_id in name_scores, name_score))
    return sorted(ranked, key=lambda file: (-file.score, file.file_id))


def _add_adjacent(passages: Sequence[Match], adjacent: Sequence[Match]) -> Sequence[Match]:
    if not adjacent:
        return passages
    extra = {match.passage_id: _ADJACENT_SHARE * match.score for match in adjacent}
    scored = [
        Match(match.passage_id, match.file_id, match.score + extra[match.passage_id])
        if match.passage_id in extra
        else match
        for match in passages
    ]
    return sorted(scored, key=lambda match: -match.score)
