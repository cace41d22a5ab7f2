"""What was made by an older recipe than today's: how much it is, and having it made again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from chyme.core.pipeline.plan import with_siblings
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import files, outdated_digests
from chyme.core.store.sqlite.database import Database


@dataclass(frozen=True, slots=True)
class OutdatedDigester:
    """The files for which one digester would do its work again, and what that takes."""

    digester: str
    file_ids: tuple[int, ...]
    calls: int  # of a model, at least; one that answers badly is asked twice
    seconds: float  # of one after the other, as long as the last ones took


def find_outdated(
    database: Database, rules: Rules, paths: Sequence[str], names: Collection[str], private: Callable[[str], bool]
) -> list[OutdatedDigester]:
    """What is out of date at or below these paths, of these digesters; none of either means all."""
    wanted = with_siblings(rules.registry, names) if names else frozenset(rules.outputs)
    recipes = [(name, recipe) for name, recipe in rules.recipes() if name in wanted]
    found = []
    with database.snapshot() as db:
        by_name: dict[str, set[int]] = {}
        taken: dict[str, float] = {}
        for path in paths or ("",):
            for one in outdated_digests.by_output(db, recipes, path):
                by_name.setdefault(one.name, set()).update(one.file_ids)
                taken[one.name] = max(taken.get(one.name, 0.0), one.milliseconds)
        for digester in rules.registry:
            ids = sorted({file_id for name in digester.outputs for file_id in by_name.get(name, ())})
            if not ids:
                continue
            took = max(taken.get(name, 0.0) for name in digester.outputs)
            asking = [file for file in (files.by_id(db, id_) for id_ in ids) if file and digester.asks(file)]
            calls = sum(not private(file.path) for file in asking)
            found.append(OutdatedDigester(digester.name, tuple(ids), calls, len(ids) * took / 1000))
    return found
