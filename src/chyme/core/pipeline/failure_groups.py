"""Failed digests grouped by cause, and retrying a whole group."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from sqlite3 import Connection
from typing import NamedTuple

from chyme.core.pipeline.again import make_again
from chyme.core.pipeline.failure_causes import Cause, cause_of, group_id
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import digests, failed_digests
from chyme.core.store.failed_digests import Failure
from chyme.core.store.sqlite.database import Database
from chyme.errors import Category, NotFound
from chyme.model import Again, Mode, iso

SAMPLES = 5
BATCH = 200
FEW = 20  # up to so many failures, a person may wait for the result


class _Maker(NamedTuple):
    """The digester that makes an output; for outputs of removed digesters only a name."""

    name: str
    label: str
    counts: bool = True  # False: its failures do not matter to people
    reads: tuple[str, ...] = ()  # outputs


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """All failures of one digester for the same cause."""

    id: str
    digester: str
    label: str
    category: str
    cause: str
    way_out: str
    files: int
    digests: int
    sample_paths: tuple[str, ...]
    newest_at: str
    again: int  # digests that are retried automatically
    again_at: str | None  # when the first of them is retried


@dataclass
class _Group:
    maker: _Maker
    category: str
    cause: Cause
    same: bool = True  # whether all have the same message
    files: set[int] = field(default_factory=set)
    samples: list[str] = field(default_factory=list)
    digests: int = 0
    newest_at: str = ""
    again: int = 0
    again_at: str | None = None

    def add(self, failure: Failure, cause: Cause) -> None:
        self.same &= cause.message == self.cause.message
        if failure.file_id not in self.files:
            insort(self.samples, failure.path)
            del self.samples[SAMPLES:]
        self.files.add(failure.file_id)
        self.digests += 1
        self.newest_at = max(self.newest_at, failure.updated_at)
        if failure.retry_at is not None:
            self.again += 1
            self.again_at = min(self.again_at or failure.retry_at, failure.retry_at)


class Failures:
    """The failures of a vault."""

    def __init__(
        self, database: Database, rules: Rules, clock: Callable[[], datetime], wake: Callable[[], None]
    ) -> None:
        self._database = database
        self._rules = rules
        self._clock = clock
        self._wake = wake

    def groups(self) -> list[FailureGroup]:
        """All groups, those with most files first."""
        found: dict[str, _Group] = {}
        for id_, maker, failure, cause in self._each():
            group = found.get(id_)
            if group is None:
                group = found[id_] = _Group(maker, failure.category, cause)
            group.add(failure, cause)
        groups = [_failure_group(id_, group) for id_, group in found.items()]
        return sorted(groups, key=lambda group: (-group.files, group.digester, group.cause))

    def retry(self, group: str) -> int:
        """Retry all failures of one group. Returns how many digests; raises NotFound when there are none."""
        members = [failure for id_, _, failure, _ in self._each() if id_ == group]
        if not members:
            raise NotFound("nothing fails for this cause any more; look at the failures anew")
        count = retry_failures(self._database, self._rules, members, iso(self._clock()))
        self._wake()
        return count

    def _each(self) -> Iterator[tuple[str, _Maker, Failure, Cause]]:
        makers = {
            name: _Maker(digester.name, digester.label, digester.promises.counts, digester.reads)
            for digester in self._rules.registry
            for name in digester.outputs
        }
        with self._database.snapshot() as db:
            failed = failed_digests.failed_outputs(db)
            for failure in failed_digests.iterate_failures(db):
                maker = makers.get(failure.output, _Maker(failure.output, failure.output))
                if maker.counts and not _follows(failure, maker, failed):
                    cause = cause_of(failure.error, failure.path, failure.category)
                    yield group_id(maker.name, failure.category, cause.alike), maker, failure, cause


def _follows(failure: Failure, maker: _Maker, failed: Set[tuple[int, str]]) -> bool:
    """Whether it failed because an output it reads failed: that failure is listed, and fixing it fixes this one."""
    return failure.category == Category.VALIDATION and any((failure.file_id, name) in failed for name in maker.reads)


def _failure_group(id_: str, group: _Group) -> FailureGroup:
    return FailureGroup(
        id_,
        group.maker.name,
        group.maker.label,
        group.category,
        group.cause.message if group.same else group.cause.alike,
        group.cause.way_out,
        len(group.files),
        group.digests,
        tuple(group.samples),
        group.newest_at,
        group.again,
        group.again_at,
    )


def retry_failures(database: Database, rules: Rules, chosen: Sequence[Failure], now: str) -> int:
    """Retry these failures with new attempts; a few come first, many wait in the queue. Returns how many digests."""
    priority = digests.PERSON if len(chosen) <= FEW else digests.AGAIN
    count = 0
    for start in range(0, len(chosen), BATCH):

        def retry_some(db: Connection, batch: Sequence[Failure] = tuple(chosen[start : start + BATCH])) -> int:
            unchanged = failed_digests.find_unchanged(db, batch)
            outputs: dict[int, list[str]] = {}
            for failure in unchanged:
                outputs.setdefault(failure.file_id, []).append(failure.output)
            for file_id, names in outputs.items():
                make_again(db, rules, file_id, Again(Mode.RETRY, tuple(names), priority), now)
            return len(unchanged)

        count += database.write(retry_some)
    return count
