"""What to do next with one file, and what a changed output undoes. All of it follows from `reads`."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from chyme.digester import Digester
from chyme.model import Digest, File, Lane, Status


@dataclass(frozen=True, slots=True)
class Skip:
    """These outputs do not apply to this kind of file."""

    digester: Digester
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """These outputs wait for an upstream that is not settled."""

    digester: Digester
    outputs: tuple[str, ...]
    upstream: str


@dataclass(frozen=True, slots=True)
class Start:
    """These outputs can be made now."""

    digester: Digester
    outputs: tuple[str, ...]
    input_hash: str


Step = Skip | Wait | Start


def next_step(
    registry: Sequence[Digester],
    file: File,
    rows: Mapping[str, Digest],
    now: str,
    wanted: frozenset[str] | None = None,
    max_attempts: int = 3,
    lanes: Collection[Lane] = frozenset(Lane),
) -> Step | None:
    """The first thing to do for this file, or None when all is settled or waiting.

    `wanted`: only these outputs. What belongs to another of the `lanes` is passed over.
    """
    for digester in registry:
        known = {name: rows[name] for name in digester.outputs if name in rows}
        if any(row.status is Status.IN_PROGRESS for row in known.values()):
            continue
        pending = tuple(
            name
            for name in digester.outputs
            if (wanted is None or name in wanted) and is_pending(known.get(name), now, max_attempts)
        )
        if not pending:
            continue
        if not digester.can_digest(file):
            return Skip(digester, pending)
        upstream = first_unsettled(digester, rows)
        if upstream is None and digester.lane not in lanes:
            continue
        if upstream is None:
            return Start(digester, pending, input_hash(digester, file, rows))
        return Wait(digester, pending, upstream)
    return None


def is_pending(row: Digest | None, now: str, max_attempts: int) -> bool:
    """Missing, todo, or failed with attempts left and its time come. What waits is woken by what it waits for."""
    if row is None or row.status is Status.TODO:
        return True
    if row.status is not Status.FAILED or row.settled:
        return False
    if row.attempts >= max_attempts:
        return False
    return row.retry_at is not None and row.retry_at <= now


def first_unsettled(digester: Digester, rows: Mapping[str, Digest]) -> str | None:
    """The first upstream that has not settled. Outputs nobody here makes are no upstream."""
    for name in digester.reads:
        if name in rows and not rows[name].settled:
            return name
    return None


def input_hash(digester: Digester, file: File, rows: Mapping[str, Digest]) -> str:
    """What the outcome depends on, besides the recipe: equal hashes may share one result."""
    told = [file.hash, file.kind, file.mime, file.name if digester.uses_name else ""]
    for name in digester.reads:
        row = rows.get(name)
        done = row is not None and row.status is Status.COMPLETED
        told.append(f"{name}={row.content_hash if done and row else ''}")
    return hashlib.sha256("\0".join(told).encode("utf-8", "surrogateescape")).hexdigest()


def downstream_of(registry: Iterable[Digester], output: str) -> tuple[str, ...]:
    """The outputs to be made again when `output` changed: all outputs of every digester that reads it."""
    return tuple(name for digester in registry if output in digester.reads for name in digester.outputs)


def readers_of(registry: Iterable[Digester]) -> dict[str, tuple[str, ...]]:
    """downstream_of for every output that somebody reads."""
    digesters = list(registry)
    read = {name for digester in digesters for name in digester.reads}
    return {name: downstream_of(digesters, name) for name in sorted(read)}


def with_siblings(registry: Iterable[Digester], outputs: Iterable[str]) -> frozenset[str]:
    """Outputs or digester names, widened to all outputs of their digesters."""
    asked = set(outputs)
    return frozenset(
        name
        for digester in registry
        if digester.name in asked or asked.intersection(digester.outputs)
        for name in digester.outputs
    )


def misordered(registry: Sequence[Digester]) -> list[str]:
    """Digesters that read an output made after them, or two that make the same output; empty when all is well."""
    makers: dict[str, int] = {}
    problems: list[str] = []
    for position, digester in enumerate(registry):
        for name in digester.outputs:
            if name in makers:
                problems.append(f"{digester.name} makes {name}, which {registry[makers[name]].name} makes already")
            makers[name] = position
    for position, digester in enumerate(registry):
        problems += [
            f"{digester.name} reads {name}, which is made after it"
            for name in digester.reads
            if makers.get(name, -1) >= position
        ]
    return problems
