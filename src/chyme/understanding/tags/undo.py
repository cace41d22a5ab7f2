"""Compute a file's tags after a decision about tags is undone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from chyme.understanding.tags.digest import TagDigest

Rule = str | Literal[False] | None  # what a tag becomes; None: it is banned; False: there is no decision


class TagChange(NamedTuple):
    """The tags of a file before and after the decision."""

    was: Sequence[str]
    became: Sequence[str]


def undo_decision(
    current: Sequence[str], digest: TagDigest | None, recorded: TagChange | None, becomes: Mapping[str, str]
) -> list[str]:
    """The file's tags without the decision, which replaced tags by others as `becomes` says.

    If the file still has the tags that the decision left, it gets its earlier ones back. If it was digested since, the
    tags that only the decision replaced become those that its digest proposes.
    """
    if recorded is not None and list(recorded.became) == list(current):
        return list(recorded.was)
    if digest is None:
        return list(current)
    restored = {tag: used for tag, used in digest.reused.items() if becomes.get(tag) == used and used in current}
    still_used = {used for tag, used in digest.reused.items() if tag not in restored}.union(digest.proposed)
    tags: dict[str, None] = {}
    for name in current:
        tags.update(dict.fromkeys(tag for tag, used in restored.items() if used == name))
        if name in still_used or name not in restored.values():
            tags[name] = None
    return list(tags)
