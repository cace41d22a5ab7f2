"""What failed, grouped by cause, and trying all of one group again."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from chyme.core.pipeline.failure_causes import Cause, cause_of, group_id
from chyme.core.store import failed_digests
from chyme.core.store.failed_digests import Failure
from chyme.core.store.sqlite.database import Database
from chyme.errors import Category, NotFound

SAMPLES = 5


@dataclass(frozen=True, slots=True)
class OutputDigester:
    """The digester that makes an output."""

    name: str
    label: str
    counts: bool = True  # False: nobody misses it
    reads: tuple[str, ...] = ()  # outputs


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """All that failed by the same digester for the same cause."""

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
    again: int  # digests that are tried again by themselves
    again_at: str | None  # when the first of them is


@dataclass
class _Group:
    maker: OutputDigester
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
    """What failed in a vault. `retry` has failures made again and returns how many digests that were."""

    def __init__(
        self,
        database: Database,
        makers: Callable[[], Mapping[str, OutputDigester]],
        retry: Callable[[Sequence[Failure]], int],
    ) -> None:
        self._database = database
        self._makers = makers
        self._retry = retry

    def groups(self) -> list[FailureGroup]:
        """All groups, those with most files first."""
        found: dict[str, _Group] = {}
        for id_, maker, failure, cause in self._each():
            group = found.get(id_)
            if group is None:
                group = found[id_] = _Group(maker, failure.category, cause)
            group.add(failure, cause)
        groups = [_summarise(id_, group) for id_, group in found.items()]
        return sorted(groups, key=lambda group: (-group.files, group.digester, group.cause))

    def retry(self, group: str) -> int:
        """Have all of one group tried again, and nothing else. Returns how many digests; NotFound when none."""
        members = [failure for id_, _, failure, _ in self._each() if id_ == group]
        if not members:
            raise NotFound("nothing fails for this cause any more; look at the failures anew")
        return self._retry(members)

    def _each(self) -> Iterator[tuple[str, OutputDigester, Failure, Cause]]:
        makers = self._makers()
        with self._database.snapshot() as db:
            failed = failed_digests.failed_outputs(db)
            for failure in failed_digests.iterate_failures(db):
                maker = makers.get(failure.output, OutputDigester(failure.output, failure.output))
                if maker.counts and not _follows(failure, maker, failed):
                    cause = cause_of(failure.error, failure.path, failure.category)
                    yield group_id(maker.name, failure.category, cause.alike), maker, failure, cause


def _follows(failure: Failure, maker: OutputDigester, failed: Set[tuple[int, str]]) -> bool:
    """Whether it failed because what it reads did: that is reported there, and once it is made, so is this."""
    return failure.category == Category.VALIDATION and any((failure.file_id, name) in failed for name in maker.reads)


def _summarise(id_: str, group: _Group) -> FailureGroup:
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
