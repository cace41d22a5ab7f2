"""What an older recipe than the current one made, and what it costs to make it again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from chyme.core.pipeline.plan import with_siblings
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import files, outdated_digests
from chyme.core.store.sqlite.database import Database


@dataclass(frozen=True, slots=True)
class OutdatedDigester:
    """The files for which one digester would run again, and what that costs."""

    digester: str
    file_ids: tuple[int, ...]
    calls: int  # of a model, at least: a bad answer is followed by a second call
    seconds: float  # one after the other, estimated from their last durations


def find_outdated(
    database: Database, rules: Rules, paths: Sequence[str], names: Collection[str], private: Callable[[str], bool]
) -> list[OutdatedDigester]:
    """What is out of date at or below these paths, made by these digesters; empty means all."""
    wanted = with_siblings(rules.registry, names) if names else frozenset(rules.outputs)
    recipes = [(name, recipe) for name, recipe in rules.recipes() if name in wanted]
    found = []
    with database.snapshot() as db:
        by_name: dict[str, set[int]] = {}
        durations: dict[str, float] = {}
        for path in paths or ("",):
            for outdated in outdated_digests.by_output(db, recipes, path):
                by_name.setdefault(outdated.name, set()).update(outdated.file_ids)
                durations[outdated.name] = max(durations.get(outdated.name, 0.0), outdated.milliseconds)
        for digester in rules.registry:
            ids = sorted({file_id for name in digester.outputs for file_id in by_name.get(name, ())})
            if not ids:
                continue
            duration = max(durations.get(name, 0.0) for name in digester.outputs)
            asking = [file for file in (files.by_id(db, id_) for id_ in ids) if file and digester.asks(file)]
            calls = sum(not private(file.path) for file in asking)
            found.append(OutdatedDigester(digester.name, tuple(ids), calls, len(ids) * duration / 1000))
    return found
