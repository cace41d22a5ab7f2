"""Which tags a file has once a decision about them is undone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from chyme.understanding.tags.digest import TagDigest

Rule = str | Literal[False] | None  # what a tag becomes; None: it is never given; False: nobody decided anything


class TagChange(NamedTuple):
    """The tags of a file before and after the decision."""

    was: Sequence[str]
    became: Sequence[str]


def undo_decision(
    current: Sequence[str], digest: TagDigest | None, recorded: TagChange | None, becomes: Mapping[str, str]
) -> list[str]:
    """The file's tags without the decision, by which some tags became others.

    A file that is as the decision left it is as it was before. One that was digested since has the tags its digest
    proposes, as far as it has others only for the sake of the decision.
    """
    if recorded is not None and list(recorded.became) == list(current):
        return list(recorded.was)
    if digest is None:
        return list(current)
    freed = {tag: used for tag, used in digest.reused.items() if becomes.get(tag) == used and used in current}
    kept = {used for tag, used in digest.reused.items() if tag not in freed}.union(digest.proposed)
    tags: dict[str, None] = {}
    for name in current:
        tags.update(dict.fromkeys(tag for tag, used in freed.items() if used == name))
        if name in kept or name not in freed.values():
            tags[name] = None
    return list(tags)
