"""The digest of a file's tags: which it has, where they come from, and which were replaced by others."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

Rules = Mapping[str, str | None]  # tag → what it becomes; None: it is banned


@dataclass(frozen=True, slots=True)
class TagDigest:
    """The tags of a file."""

    tags: tuple[str, ...]
    source: str  # where they come from: classification, or generated from the texts
    proposed: tuple[str, ...]  # before tags of the vault replaced some
    reused: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # proposed → assigned instead


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


def apply_rules(tag: str, rules: Rules) -> str | None:
    """What a tag becomes after all of people's decisions; None if it is banned."""
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


def update_digest(digest: TagDigest, tags: Sequence[str], rules: Rules) -> TagDigest:
    """The digest with these tags after a decision of a person."""
    reused = {}
    for tag in digest.proposed:
        used = apply_rules(digest.reused.get(tag, tag), rules)
        if tag not in tags and used in tags:
            reused[tag] = str(used)
    return replace(digest, tags=tuple(tags), reused=reused)
