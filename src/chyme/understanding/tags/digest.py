"""The digest of a file's tags: which it has, which were replaced by others, and what people's decisions change."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal, NamedTuple

from chyme.understanding.tags.names import Rules, apply_rules

Rule = str | Literal[False] | None  # what a tag becomes; None: it is banned; False: there is no decision


@dataclass(frozen=True, slots=True)
class TagDigest:
    """The tags of a file."""

    tags: tuple[str, ...]
    source: str  # where they come from: classification, or generated from the texts
    proposed: tuple[str, ...]  # before tags of the vault replaced some
    reused: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # proposed → assigned instead


class TagChange(NamedTuple):
    """The tags of a file before and after the decision."""

    was: Sequence[str]
    became: Sequence[str]


def as_json(digest: TagDigest) -> str:
    """The content of the digest."""
    data: dict[str, object] = {"tags": list(digest.tags), "source": digest.source, "proposed": list(digest.proposed)}
    if digest.reused:
        data["reused"] = dict(digest.reused)
    return json.dumps(data, ensure_ascii=False)


def from_json(content: str | None) -> TagDigest | None:
    """Read the content back; None if it is something else."""
    try:
        data = json.loads(content or "null")
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or not isinstance(data.get("tags"), list):
        return None
    tags, proposed, reused = data["tags"], data.get("proposed", data["tags"]), data.get("reused")
    return TagDigest(
        _strings_in(tags),
        str(data.get("source", "")),
        _strings_in(proposed if isinstance(proposed, list) else tags),
        {str(tag): str(used) for tag, used in reused.items()} if isinstance(reused, dict) else {},
    )


def _strings_in(values: Sequence[object]) -> tuple[str, ...]:
    return tuple(value for value in values if isinstance(value, str))


def update_digest(digest: TagDigest, tags: Sequence[str], rules: Rules) -> TagDigest:
    """The digest with these tags after a decision of a person."""
    reused = {}
    for tag in digest.proposed:
        used = apply_rules(digest.reused.get(tag, tag), rules)
        if tag not in tags and used in tags:
            reused[tag] = str(used)
    return replace(digest, tags=tuple(tags), reused=reused)


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
