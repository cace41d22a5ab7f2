"""Folders for the files that attempts write on the way."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

OLD_SECONDS = 7 * 86400


class Scratch:
    """Lends folders. Making one for each small file costs more than digesting it, so most are used again."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._free: list[Path] = []
        self._guard = threading.Lock()
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._clear_old()

    @contextlib.contextmanager
    def lent(self, key: str | None) -> Iterator[Path]:
        """An empty folder, or the kept one of this key as it was left."""
        if key is not None:
            folder = self.root / key
            folder.mkdir(mode=0o700, exist_ok=True)
            yield folder
            return
        with self._guard:
            folder = self._free.pop() if self._free else self.root / f"lent-{uuid.uuid4().hex}"
        if not folder.is_dir():
            folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            if os.listdir(folder):
                shutil.rmtree(folder, ignore_errors=True)
            else:
                with self._guard:
                    self._free.append(folder)

    def forget(self, key: str | None) -> None:
        """The verdict is in: nobody needs what was kept."""
        if key is not None:
            shutil.rmtree(self.root / key, ignore_errors=True)

    def close(self) -> None:
        with self._guard:
            for folder in self._free:
                shutil.rmtree(folder, ignore_errors=True)
            self._free.clear()

    def _clear_old(self) -> None:
        """What a crash left behind goes at last; what another process uses is younger."""
        for folder in self.root.iterdir():
            with contextlib.suppress(OSError):
                if time.time() - folder.stat().st_mtime > OLD_SECONDS:
                    shutil.rmtree(folder, ignore_errors=True)
