"""What to do next with a file, and what must be made again when an output changes. All of it follows from `reads`."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from chyme.digester import Digester
from chyme.model import Digest, File, Form, Lane, Status

ABOUT_FORMS = frozenset({Form.CAPTION, Form.OBJECTS, Form.SUMMARY})  # texts about the file, not its own text


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
    max_attempts: int = 3,
    lanes: Collection[Lane] = frozenset(Lane),
    put_off: Collection[str] = (),
) -> Step | None:
    """The next step for this file, or None when everything is settled or waiting.

    Digesters of other lanes are skipped, and those whose outputs are put off. A model is asked only when nothing else
    is left to do, because nothing else of the file starts while it answers. One attempt makes all unsettled outputs of
    a digester: when one of them is due, the others do not wait for their own retry time.
    """
    deferred: Start | None = None
    for digester in registry:
        if _all_settled(digester.outputs, rows):
            continue
        known = {name: rows[name] for name in digester.outputs if name in rows}
        if any(row.status is Status.IN_PROGRESS for row in known.values()) or not known.keys().isdisjoint(put_off):
            continue
        if not any(is_pending(known.get(name), now, max_attempts) for name in digester.outputs):
            continue
        pending = tuple(name for name in digester.outputs if name not in known or not known[name].settled)
        if not digester.can_digest(file):
            return Skip(digester, pending)
        upstream = first_unsettled(registry, digester, file, rows)
        if upstream is not None:
            return Wait(digester, pending, upstream)
        if digester.runs.lane not in lanes or (deferred is not None and is_deferred(digester, file)):
            continue
        start = Start(digester, pending, input_hash(digester, file, rows))
        if not is_deferred(digester, file):
            return start
        deferred = start
    return deferred


def _all_settled(outputs: Iterable[str], rows: Mapping[str, Digest]) -> bool:
    for name in outputs:  # a loop, because this runs for every digester at every step
        row = rows.get(name)
        if row is None or not row.settled:
            return False
    return True


def is_deferred(digester: Digester, file: File) -> bool:
    """Whether everything else of the file comes first: the digester waits for a model, and has no optional inputs."""
    return digester.waits_for(file) and not digester.inputs.optional


def is_pending(row: Digest | None, now: str, max_attempts: int) -> bool:
    """Whether it is missing or todo, or failed, due and with attempts left. What waits is woken by its upstream."""
    if row is None or row.status is Status.TODO:
        return True
    if row.status is not Status.FAILED or row.settled:
        return False
    if row.attempts >= max_attempts:
        return False
    return row.retry_at is not None and row.retry_at <= now


def first_unsettled(
    registry: Iterable[Digester], digester: Digester, file: File, rows: Mapping[str, Digest]
) -> str | None:
    """The first output to wait for. Outputs that no digester makes do not count, nor do optional ones that a model has
    yet to make."""
    for name in digester.reads:
        if name not in rows or rows[name].settled:
            continue
        if name not in digester.inputs.optional or not _made_by_model(registry, file, name):
            return name
    return None


def _made_by_model(registry: Iterable[Digester], file: File, output: str) -> bool:
    return any(digester.waits_for(file) for digester in registry if output in digester.outputs)


def readable_inputs(digester: Digester, rows: Mapping[str, Digest]) -> tuple[str, ...]:
    """The outputs a digester is given: completed ones, and earlier versions of optional ones."""
    return tuple(name for name in digester.reads if _is_readable(digester, rows.get(name)))


def _is_readable(digester: Digester, row: Digest | None) -> bool:
    if row is None:
        return False
    if row.status is Status.COMPLETED:
        return True
    return row.digester in digester.inputs.optional and not row.settled and row.content_hash is not None


def input_hash(digester: Digester, file: File, rows: Mapping[str, Digest]) -> str:
    """A hash of everything the result depends on besides the recipe: equal hashes may share one result."""
    parts = [file.hash, file.kind, file.mime, file.name if digester.inputs.file_name else ""]
    for name in digester.reads:
        row = rows.get(name)
        empty = name in digester.inputs.optional and row is not None and row.content_hash is None
        if row is None or empty or not _is_readable(digester, row):
            parts.append(f"{name}=")
        else:  # an earlier version that is being made again differs from any completed one
            parts.append(f"{name}={row.content_hash if row.status is Status.COMPLETED else f'?{row.content_hash}'}")
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def readers_of(registry: Sequence[Digester]) -> dict[str, tuple[str, ...]]:
    """For each output, what must be made again when it changes: all outputs of every digester that reads it."""
    return {
        output: tuple(name for digester in registry if output in digester.reads for name in digester.outputs)
        for output in sorted({name for digester in registry for name in digester.reads})
    }


def optional_readers_of(registry: Sequence[Digester]) -> dict[str, tuple[Digester, ...]]:
    """For each output that digesters read without waiting for it, those digesters."""
    names = sorted({name for digester in registry for name in digester.inputs.optional})
    return {name: tuple(digester for digester in registry if name in digester.inputs.optional) for name in names}


def with_siblings(registry: Iterable[Digester], outputs: Iterable[str]) -> frozenset[str]:
    """All outputs of the digesters with these names or outputs."""
    names = set(outputs)
    return frozenset(
        name
        for digester in registry
        if digester.name in names or names.intersection(digester.outputs)
        for name in digester.outputs
    )


def with_dependents(registry: Sequence[Digester], outputs: Iterable[str]) -> frozenset[str]:
    """All outputs of these digesters, and everything made from them, directly or indirectly."""
    found = set(with_siblings(registry, outputs))
    for digester in registry:  # readers come after what they read, so one pass finds all
        if found.intersection(digester.reads):
            found.update(digester.outputs)
    return frozenset(found)


def find_misordered(registry: Sequence[Digester]) -> list[str]:
    """Problems of the registry: a digester that reads an output made after it, or does not read an output it calls
    optional, or makes an output that another makes."""
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
        problems += [
            f"{digester.name} calls {name} optional and does not read it"
            for name in sorted(digester.inputs.optional.difference(digester.reads))
        ]
    return problems


def connect_form_readers(registry: Sequence[Digester]) -> None:
    """Add the outputs of the forms it wants to what each digester reads. Calling this twice changes nothing.

    A reader does not wait for texts about the file, which a model may write, nor for corrections.
    """
    for reader in registry:
        if not reader.inputs.forms:
            continue
        made = {name: makes for other in registry if other is not reader for name, makes in other.traits.items()}
        fitting = {name: makes for name, makes in made.items() if makes.form in reader.inputs.forms}
        about = {name for name, makes in fitting.items() if makes.form in ABOUT_FORMS or makes.corrects is not None}
        reader.reads = (*reader.reads, *(name for name in fitting if name not in reader.reads))
        reader.inputs = replace(reader.inputs, optional=reader.inputs.optional | about)
