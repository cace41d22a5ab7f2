"""The files of one embedder's vectors, in a folder that several processes share.

Files are written under another name and renamed, so that each is whole or not there. One that was superseded may be
removed while others read it: what they have mapped stays. Two processes that write the same write it twice, no more.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from chyme.core.files.permissions import make_private_folder
from chyme.core.files.regular_files import open_lock, open_regular
from chyme.search.vectors.id_ranges import Span, select_covering
from chyme.search.vectors.segment import DamagedSegment, Label, Piece, Segment, open_segment, write

if TYPE_CHECKING:
    from chyme.search.vectors.binary_codes import Whole

log = logging.getLogger(__name__)

_NAME = re.compile(r"(\d+)-(\d+)\.vectors")
_UNFINISHED = ".unfinished"
_LOCK = "lock"


class SegmentFolder:
    """What lies in one folder."""

    def __init__(self, folder: Path, label: Label) -> None:
        self._folder = folder
        self._label = label

    def _make_folder(self) -> None:
        """Two levels at most: where the vault's own folder is gone, none is made in its place."""
        self._folder.parent.mkdir(mode=0o700, exist_ok=True)
        make_private_folder(self._folder)

    def segments(self, known: Mapping[Path, Segment]) -> list[Segment]:
        """Those that together reach farthest without a gap, in order; the ones known are not opened again."""
        unusable: set[Span] = set()
        while True:
            chosen = []
            for span in select_covering(self._spans() - unusable):
                segment = self._opened(span, known)
                if segment is None:
                    unusable.add(span)
                    break
                chosen.append(segment)
            else:
                return chosen

    def _opened(self, span: Span, known: Mapping[Path, Segment]) -> Segment | None:
        path = self._path(span)
        held = known.get(path)
        try:
            if held is not None and path.stat().st_ino == held.inode:
                return held
            segment = open_segment(path, self._label)
            if segment.span != span:
                raise DamagedSegment("it bears the name of another")
        except OSError:  # as a rule because another process has joined it with others since
            return None
        except DamagedSegment as damage:
            log.warning("%s is read anew from the database: %s", path.name, damage)
            _remove(path)
            return None
        return segment

    def write(
        self, span: Span, parts: Sequence[tuple[Piece, Whole]], interrupted: Callable[[], bool] = lambda: False
    ) -> None:
        """Put a new file on the shelf, durably."""
        self._make_folder()
        path = self._path(span)
        unfinished = path.with_name(f"{path.name}.{os.getpid()}{os.urandom(4).hex()}{_UNFINISHED}")
        with open(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600), "wb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)  # let go when this process ends, however it does
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
        """Remove what the chosen ones make needless, and what a process left unfinished when it died."""
        wanted = {segment.path for segment in chosen}
        reached = chosen[-1].span.high if chosen else 0
        for span in self._spans():
            if span.high <= reached and self._path(span) not in wanted:
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
        """Whether no other process tidies up here; none does until the end of the block."""
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
