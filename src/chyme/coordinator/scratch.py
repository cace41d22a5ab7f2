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

from chyme.coordinator.owner import is_dead
from chyme.engines.private_modes import make_private_folder, write_private

OLD_SECONDS = 7 * 86400
LENT = "lent-"
OWNER = "owner"


class Scratch:
    """Lends folders. Making one for each small file costs more than digesting it, so most are used again."""

    def __init__(self, root: Path, owner: str) -> None:
        self.root = root
        self._lent = root / (LENT + hashlib.sha256(owner.encode()).hexdigest()[:16])
        self._free: list[Path] = []
        self._made = 0
        self._guard = threading.Lock()
        make_private_folder(root)
        self._lent.mkdir(mode=0o700, exist_ok=True)
        with write_private(self._lent / OWNER) as stream:
            stream.write(owner.encode())
        self._clear_up()

    @contextlib.contextmanager
    def lent(self, key: str | None) -> Iterator[Path]:
        """An empty folder, or the kept one of this key as it was left."""
        if key is not None:
            folder = self.root / key
            folder.mkdir(mode=0o700, exist_ok=True)
            yield folder
            return
        folder = self._empty()
        try:
            yield folder
        finally:
            if os.listdir(folder):
                shutil.rmtree(folder, ignore_errors=True)
            else:
                with self._guard:
                    self._free.append(folder)

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

    def kept(self) -> list[str]:
        """The keys of folders that wait for another attempt."""
        return [folder.name for folder in self.root.iterdir() if not folder.name.startswith(LENT)]

    def close(self) -> None:
        shutil.rmtree(self._lent, ignore_errors=True)

    def _clear_up(self) -> None:
        """What dead processes were lent goes at once; what was kept for another attempt, at last."""
        for folder in self.root.iterdir():
            with contextlib.suppress(OSError):
                old = time.time() - folder.stat().st_mtime > OLD_SECONDS
                lent = folder.name.startswith(LENT)
                if (lent and is_dead((folder / OWNER).read_text())) or (old and not lent):
                    shutil.rmtree(folder, ignore_errors=True)
