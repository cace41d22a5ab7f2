"""The files of one embedder's vectors, in a folder that several processes share.

Files are written under another name and renamed, so that each is complete or absent. A superseded file may be removed
while others read it: what they have mapped stays. If two processes write the same data, it is only written twice.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from chyme.core.files.permissions import make_private_folder
from chyme.core.files.untrusted_files import open_lock, open_regular
from chyme.search.vectors.segment import DamagedSegment, Label, Piece, Segment, Span, open_segment, write

if TYPE_CHECKING:
    from chyme.search.vectors.binary_codes import Whole

log = logging.getLogger(__name__)
_NAME = re.compile(r"(\d+)-(\d+)\.vectors")
_UNFINISHED = ".unfinished"
_LOCK = "lock"


class SegmentFolder:
    """The files in one folder."""

    def __init__(self, folder: Path, label: Label) -> None:
        self._folder = folder
        self._label = label

    def _make_folder(self) -> None:
        """Create two levels at most: if the vault's own folder is gone, it must not be created again."""
        self._folder.parent.mkdir(mode=0o700, exist_ok=True)
        make_private_folder(self._folder)

    def segments(self, known: Mapping[Path, Segment]) -> list[Segment]:
        """The segments that together reach farthest without a gap, in order; known ones are not opened again."""
        unusable: set[Span] = set()
        while True:
            chosen = []
            for span in select_covering(self._spans() - unusable):
                segment = self._open_known(span, known)
                if segment is None:
                    unusable.add(span)
                    break
                chosen.append(segment)
            else:
                return chosen

    def _open_known(self, span: Span, known: Mapping[Path, Segment]) -> Segment | None:
        path = self._path(span)
        cached = known.get(path)
        try:
            if cached is not None and path.stat().st_ino == cached.inode:
                return cached
            segment = open_segment(path, self._label)
            if segment.span != span:
                raise DamagedSegment("it has the name of another")
        except OSError:  # usually because another process has merged it with others since
            return None
        except DamagedSegment as damage:
            log.warning("%s is read anew from the database: %s", path.name, damage)
            _remove(path)
            return None
        return segment

    def write(
        self, span: Span, parts: Sequence[tuple[Piece, Whole]], interrupted: Callable[[], bool] = lambda: False
    ) -> None:
        """Write a new file durably."""
        self._make_folder()
        path = self._path(span)
        unfinished = path.with_name(f"{path.name}.{os.getpid()}{os.urandom(4).hex()}{_UNFINISHED}")
        with open(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600), "wb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)  # released when this process ends in any way
            try:
                write(stream, self._label, span, parts, interrupted)
                stream.flush()
                os.fsync(stream.fileno())
                unfinished.rename(path)
            except BaseException:
                unfinished.unlink(missing_ok=True)
                raise
        _sync(self._folder)

    def remove_superseded(self, chosen: Sequence[Segment]) -> None:
        """Remove files that the chosen ones replace, and unfinished files of processes that died."""
        wanted = {segment.path for segment in chosen}
        highest = chosen[-1].span.high if chosen else 0
        for span in self._spans():
            if span.high <= highest and self._path(span) not in wanted:
                _remove(self._path(span))
        for path in self._folder.glob(f"*{_UNFINISHED}"):
            with contextlib.suppress(OSError), open_regular(path) as stream:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()

    def clear(self) -> None:
        """Remove every file."""
        for span in self._spans():
            _remove(self._path(span))

    @contextlib.contextmanager
    def lock_cleanup(self) -> Iterator[bool]:
        """Yield whether no other process cleans up here; if so, none does until the end of the block."""
        self._make_folder()
        with open_lock(self._folder / _LOCK) as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield False
            else:
                yield True

    def _spans(self) -> set[Span]:
        try:
            names = os.listdir(self._folder)
        except OSError:
            return set()
        return {Span(int(found[1]), int(found[2])) for name in names if (found := _NAME.fullmatch(name))}

    def _path(self, span: Span) -> Path:
        return self._folder / f"{span.low}-{span.high}.vectors"


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def select_covering(spans: Iterable[Span]) -> list[Span]:
    """A few spans, in order, that together cover all ids from the first on without a gap, as far as possible."""
    candidates = list(spans)
    chosen: list[Span] = []
    reached = 0
    while True:
        longest = max((span for span in candidates if span.low <= reached < span.high), key=_reach, default=None)
        if longest is None:
            return chosen
        chosen.append(longest)
        reached = longest.high


def _reach(span: Span) -> tuple[int, int]:
    return span.high, -span.low


def select_merge(counts: Sequence[int], unit: int, fan: int, max_size: int) -> slice | None:
    """Neighbours of about one size that are to be merged; None if there are few enough.

    Sizes grow by `fan` with each merge, so that the total amount copied is a small multiple of the data.
    """
    tiers = [_tier(count, unit, fan) for count in counts]
    for tier in sorted(set(tiers)):
        run: list[int] = []  # those of this size with no larger one between them
        for position, own_tier in enumerate([*tiers, tier + 1]):
            if own_tier == tier and (not run or sum(counts[run[0] : position + 1]) <= max_size):
                run.append(position)
            elif own_tier >= tier:
                if len(run) >= fan:
                    return slice(run[0], run[-1] + 1)
                run = [position] if own_tier == tier else []
    return None


def _tier(count: int, unit: int, fan: int) -> int:
    tier = 0
    while count >= unit * fan:
        count //= fan
        tier += 1
    return tier
