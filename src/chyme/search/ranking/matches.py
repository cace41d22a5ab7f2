"""Bring what matched in texts and what matched in names into one order of files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

PASSAGES_SHOWN = 3
NAME_WEIGHTS = (1.0, 2.0, 1.0, 1.0)  # name, title, tags, summary
_NAME_SHARE = 0.35
_TOGETHER_SHARE = 0.3  # what words count again where they stand side by side as in the question
_FURTHER_SHARE = 0.1  # what a file's second-best passage adds, its third half as much, and so on


@dataclass(frozen=True, slots=True)
class Match:
    """A passage that matched; more is better."""

    passage_id: int
    file_id: int
    score: float


@dataclass(frozen=True, slots=True)
class RankedFile:
    """A file, how well it answers, and the passages to show for it."""

    file_id: int
    score: float
    passages: tuple[int, ...]
    by_words: bool
    by_name: bool


def rank(
    passages: Sequence[Match],
    names: Sequence[tuple[int, float]],
    name_share: float = _NAME_SHARE,
    further_share: float = _FURTHER_SHARE,
    together: Sequence[Match] = (),
) -> list[RankedFile]:
    """Files, best first. `passages` come best first; `together` are those with neighbours of the question in them."""
    by_file: dict[int, list[Match]] = {}
    for match in _with_neighbours(passages, together):
        by_file.setdefault(match.file_id, []).append(match)
    name_scores = dict(names)
    ranked = []
    for file_id in by_file.keys() | name_scores.keys():
        matches = by_file.get(file_id, [])
        score = name_share * name_scores.get(file_id, 0.0)
        for place, match in enumerate(matches[:5]):
            score += match.score * (1.0 if place == 0 else further_share / 2 ** (place - 1))
        shown = tuple(match.passage_id for match in matches[:PASSAGES_SHOWN])
        ranked.append(RankedFile(file_id, score, shown, bool(matches), file_id in name_scores))
    return sorted(ranked, key=lambda file: (-file.score, file.file_id))


def _with_neighbours(passages: Sequence[Match], together: Sequence[Match]) -> Sequence[Match]:
    if not together:
        return passages
    more = {match.passage_id: _TOGETHER_SHARE * match.score for match in together}
    scored = [
        Match(match.passage_id, match.file_id, match.score + more[match.passage_id])
        if match.passage_id in more
        else match
        for match in passages
    ]
    return sorted(scored, key=lambda match: -match.score)
