"""Who is able to make what: a hash for each digester that is equal only where its result would be."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from chyme.digester import Digester
from chyme.workers.wire import WIRE


def abilities_of(registry: Iterable[Digester]) -> dict[str, str]:
    """The ability of each digester that may run on another machine, by its name.

    It consists of the version of messages, the digester's own, and its fingerprint in portable words: versions of
    libraries and programs, hashes of weights, settings. A worker with another ability never gets its work.
    """
    return {
        digester.name: _ability(digester)
        for digester in registry
        if may_travel(digester) and digester.portable_fingerprint
    }


def may_travel(digester: Digester) -> bool:
    """Whether it may run elsewhere at all: not if it goes out or only waits on HTTP."""
    return not (digester.runs.goes_out or digester.runs.waits)


def _ability(digester: Digester) -> str:
    identity = f"{WIRE}\0{digester.name}\0{digester.version}\0{digester.portable_fingerprint}"
    return hashlib.sha256(identity.encode()).hexdigest()[:32]


def find_fitting(own: Mapping[str, str], wanted: Mapping[str, str], only: frozenset[str] | None) -> dict[str, str]:
    """Of what a coordinator wants, what this worker is able and willing to make."""
    return {
        name: ability for name, ability in wanted.items() if own.get(name) == ability and (only is None or name in only)
    }


def explain_misfits(own: Mapping[str, str], wanted: Mapping[str, str], only: frozenset[str] | None) -> dict[str, str]:
    """Of the rest, why not."""
    misfits: dict[str, str] = {}
    for name, ability in wanted.items():
        if only is not None and name not in only:
            misfits[name] = "not among --only"
        elif name not in own:
            misfits[name] = "has no such digester, or cannot tell its version"
        elif own[name] != ability:
            misfits[name] = "another version, other weights, or other programs"
    return misfits
