"""Folders for the temporary files of attempts."""

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
from chyme.core.pipeline.leases import is_dead

OLD_SECONDS = 7 * 86400
LENT = "lent-"
OWNER = "owner"
NAMELESS_SECONDS = 60.0  # within this time a process writes its name into its new folder


class ScratchFolders:
    """Lends folders. Most are reused, because creating one for a small file takes longer than digesting the file."""

    def __init__(self, root: Path, owner: str) -> None:
        self.root = root
        self._lent = root / (LENT + hashlib.sha256(owner.encode()).hexdigest()[:16])
        self._free: list[Path] = []
        self._made = 0
        self._in_use: set[str] = set()  # keys of kept folders that are lent at the moment
        self._guard = threading.Lock()
        make_private_folder(root)
        self._lent.mkdir(mode=0o700, exist_ok=True)
        with write_private(self._lent / OWNER) as stream:
            stream.write(owner.encode())
        self.remove_stale()

    @contextlib.contextmanager
    def lend(self, key: str | None) -> Iterator[Path]:
        """An empty folder, or the kept folder of this key, as the last attempt left it."""
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
                        folder.rmdir()  # only if it is empty
            return
        folder = self._take_empty()
        try:
            yield folder
        finally:
            self._take_back(folder)

    def _take_back(self, folder: Path) -> None:
        """Keep an empty folder for the next task. If it vanished with the vault, the finished work still counts."""
        try:
            is_empty = not os.listdir(folder)
        except OSError:
            return
        if is_empty:
            with self._guard:
                self._free.append(folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)

    def _take_empty(self) -> Path:
        with self._guard:
            if self._free:
                return self._free.pop()
            self._made += 1
            folder = self._lent / str(self._made)
        folder.mkdir(mode=0o700)
        return folder

    def forget(self, key: str | None) -> None:
        """Delete a kept folder: the verdict is recorded."""
        if key is not None:
            shutil.rmtree(self.root / key, ignore_errors=True)

    def kept_keys(self) -> list[str]:
        """The keys of folders kept for another attempt."""
        return [folder.name for folder in self.root.iterdir() if not folder.name.startswith(LENT)]

    def close(self) -> None:
        shutil.rmtree(self._lent, ignore_errors=True)

    def remove_stale(self) -> None:
        """Remove the folders of dead processes at once, and kept folders when they are old or empty.

        Empty ones stay if another process is alive: it may have just created them.
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
                    folder.rmdir()  # succeeds only for an empty folder

    @staticmethod
    def _remove_if_abandoned(folder: Path) -> bool:
        """Remove a folder whose process is dead, or died before it wrote its name. Returns whether it did."""
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
