"""Find the tags that a typed word means, by its spelling and by people's decisions about tags."""

from __future__ import annotations

from collections.abc import Collection

from chyme.text.spelling_variants import comparison_key
from chyme.understanding.tags.digest import Rules, apply_rules


def match_spelling(name: str, known: Collection[str]) -> list[str]:
    """The tag with exactly this name; if there is none, those that are only spelt differently."""
    return [name] if name in known else [tag for tag in known if comparison_key(tag) == comparison_key(name)]


def current_names(rules: Rules) -> dict[str, str]:
    """Tag → its current name after all decisions. A tag that became a banned one keeps its name."""
    return {name: becomes for name in rules if (becomes := apply_rules(name, rules))}


def resolve_tag(name: str, known: Collection[str], rules: Rules) -> list[str]:
    """The tags to look for: what it became, else tags spelt like it, else what another spelling of it became."""
    becomes = current_names(rules)
    if name in becomes:
        return [becomes[name]]
    return match_spelling(name, known) or [becomes[old] for old in match_spelling(name, becomes)[:1]] or [name]
