"""What the digest of a file's tags says: which it has, who thought of them, and which became others."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

Rules = Mapping[str, str | None]  # tag → what it becomes; None: it is never given


@dataclass(frozen=True, slots=True)
class TagDigest:
    """The tags of a file."""

    tags: tuple[str, ...]
    source: str  # who proposed them: classification, or generated from the texts
    proposed: tuple[str, ...]  # before those of the vault were preferred
    reused: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # proposed → given instead


def as_json(tagged: TagDigest) -> str:
    """The content of the digest."""
    told: dict[str, object] = {"tags": list(tagged.tags), "source": tagged.source, "proposed": list(tagged.proposed)}
    if tagged.reused:
        told["reused"] = dict(tagged.reused)
    return json.dumps(told, ensure_ascii=False)


def from_json(content: str | None) -> TagDigest | None:
    """The same, read back; None when it is something else."""
    try:
        told = json.loads(content or "null")
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict) or not isinstance(told.get("tags"), list):
        return None
    tags, proposed, reused = told["tags"], told.get("proposed", told["tags"]), told.get("reused")
    return TagDigest(
        _texts(tags),
        str(told.get("source", "")),
        _texts(proposed if isinstance(proposed, list) else tags),
        {str(tag): str(used) for tag, used in reused.items()} if isinstance(reused, dict) else {},
    )


def _texts(values: Sequence[object]) -> tuple[str, ...]:
    return tuple(value for value in values if isinstance(value, str))


def apply_rules(tag: str, rules: Rules) -> str | None:
    """What a tag becomes by what persons decided, one decision after the other; None when it is never given."""
    seen = {tag}
    while tag in rules:
        becomes = rules[tag]
        if becomes is None:
            return None
        if becomes in seen:
            return becomes
        seen.add(becomes)
        tag = becomes
    return tag


def update_digest(tagged: TagDigest, tags: Sequence[str], rules: Rules) -> TagDigest:
    """The digest after a person decided something: its tags are these now."""
    reused = {}
    for tag in tagged.proposed:
        used = apply_rules(tagged.reused.get(tag, tag), rules)
        if tag not in tags and used in tags:
            reused[tag] = str(used)
    return replace(tagged, tags=tuple(tags), reused=reused)
