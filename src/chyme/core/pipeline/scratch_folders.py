"""Folders for the files that attempts write on the way."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from chyme.core.files.permissions import make_private_folder, write_private
from chyme.core.pipeline.lease_owner import is_dead

OLD_SECONDS = 7 * 86400
LENT = "lent-"
OWNER = "owner"
NAMELESS_SECONDS = 60.0  # in which a process says whose folder it has made


class ScratchFolders:
    """Lends folders. Making one for each small file costs more than digesting it, so most are used again."""

    def __init__(self, root: Path, owner: str) -> None:
        self.root = root
        self._lent = root / (LENT + hashlib.sha256(owner.encode()).hexdigest()[:16])
        self._free: list[Path] = []
        self._made = 0
        self._in_use: set[str] = set()  # keys of kept folders that are lent right now
        self._guard = threading.Lock()
        make_private_folder(root)
        self._lent.mkdir(mode=0o700, exist_ok=True)
        with write_private(self._lent / OWNER) as stream:
            stream.write(owner.encode())
        self.remove_stale()

    @contextlib.contextmanager
    def lend(self, key: str | None) -> Iterator[Path]:
        """An empty folder, or the kept one of this key as it was left."""
        if key is not None:
            folder = self.root / key
            with self._guard:
                self._in_use.add(key)
                folder.mkdir(mode=0o700, exist_ok=True)
            try:
                yield folder
            finally:
                with self._guard:
                    self._in_use.discard(key)
                    with contextlib.suppress(OSError):
                        folder.rmdir()  # where nothing was kept
            return
        folder = self._empty()
        try:
            yield folder
        finally:
            self._take_back(folder)

    def _take_back(self, folder: Path) -> None:
        """Keep an empty folder for the next task. One that went with the vault spoils no work that was done in it."""
        try:
            is_empty = not os.listdir(folder)
        except OSError:
            return
        if is_empty:
            with self._guard:
                self._free.append(folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)

    def _empty(self) -> Path:
        with self._guard:
            if self._free:
                return self._free.pop()
            self._made += 1
            folder = self._lent / str(self._made)
        folder.mkdir(mode=0o700)
        return folder

    def forget(self, key: str | None) -> None:
        """The verdict is in: nobody needs what was kept."""
        if key is not None:
            shutil.rmtree(self.root / key, ignore_errors=True)

    def kept_keys(self) -> list[str]:
        """The keys of folders that wait for another attempt."""
        return [folder.name for folder in self.root.iterdir() if not folder.name.startswith(LENT)]

    def close(self) -> None:
        shutil.rmtree(self._lent, ignore_errors=True)

    def remove_stale(self) -> None:
        """Remove what dead processes were lent, at once; what was kept for another attempt, when it is old or empty.

        An empty one may be another process's, which has just begun: then it stays.
        """
        alone = True
        kept = []
        for folder in self.root.iterdir():
            if not folder.name.startswith(LENT):
                kept.append(folder)
            elif folder != self._lent:
                alone &= self._remove_if_abandoned(folder)
        for folder in kept:
            with contextlib.suppress(OSError):
                if time.time() - folder.stat().st_mtime > OLD_SECONDS:
                    shutil.rmtree(folder, ignore_errors=True)
                elif alone and folder.name not in self._in_use:
                    folder.rmdir()  # only an empty one can be removed so

    @staticmethod
    def _remove_if_abandoned(folder: Path) -> bool:
        """Whether what another process was lent is gone: its owner is dead, or died before it said who it was."""
        try:
            owner = (folder / OWNER).read_text()
            abandoned = is_dead(owner) if owner else _is_older(folder, NAMELESS_SECONDS)
        except FileNotFoundError:
            abandoned = _is_older(folder, NAMELESS_SECONDS)
        except OSError:
            return False
        if abandoned:
            shutil.rmtree(folder, ignore_errors=True)
        return abandoned


def _is_older(folder: Path, seconds: float) -> bool:
    try:
        return time.time() - folder.stat().st_mtime > seconds
    except OSError:
        return False
