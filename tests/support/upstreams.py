"""Outputs as digesters see them, with what the built-in digesters declare about them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from chyme.digester import Makes
from chyme.digesters import built_in
from chyme.model import Form, Place, Upstream

TRAITS = {name: makes for digester in built_in() for name, makes in digester.traits.items()}


def upstream(
    name: str,
    content: str | None,
    places: tuple[Place, ...] = (),
    artifacts: Mapping[str, bytes] = MappingProxyType({}),
) -> Upstream:
    """A completed output of this name."""
    makes = TRAITS.get(name, Makes())
    return Upstream(name, content, places, artifacts, makes.form, makes.corrects)


def form_of(name: str) -> Form:
    """What the content of an output is."""
    return TRAITS.get(name, Makes()).form
