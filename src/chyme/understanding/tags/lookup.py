"""Which tags somebody means by a word: by how it is spelt, and by what persons decided about it."""

from __future__ import annotations

from collections.abc import Collection

from chyme.text.spelling_variants import comparison_key
from chyme.understanding.tags.digest import Rules, apply_rules


def match_spelling(name: str, known: Collection[str]) -> list[str]:
    """The tag that is written so; where there is none, those that are only spelt otherwise."""
    return [name] if name in known else [one for one in known if comparison_key(one) == comparison_key(name)]


def current_names(rules: Rules) -> dict[str, str]:
    """Tag → what it is called now, by one decision after the other. What became a banned one keeps its name."""
    return {name: becomes for name in rules if (becomes := apply_rules(name, rules))}


def resolve_tag(name: str, known: Collection[str], rules: Rules) -> list[str]:
    """The tags to look for: what it became, else what is spelt so, else what another spelling of it became."""
    becomes = current_names(rules)
    if name in becomes:
        return [becomes[name]]
    return match_spelling(name, known) or [becomes[old] for old in match_spelling(name, becomes)[:1]] or [name]
