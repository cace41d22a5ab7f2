"""Pictures of pages that were drawn once, in a folder that never grows beyond its size."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import threading
from collections.abc import Callable, Collection
from pathlib import Path

_NAME = re.compile(r"([0-9a-f]{16,128})-[0-9]{1,9}-[0-9]{1,5}\.jpg")
SHRINK_TO = 0.8  # of its size, so that not every page that comes sends another one away
PAGES_BETWEEN_CLEANUPS = 16  # pages between two looks at how large the folder is


class PageCache:
    """`HASH-PAGE-WIDTH.jpg`: named after content, so nothing in it is ever out of date. It may be deleted any time."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self._folder = folder
        self._most = most_bytes
        self._since_tidied = PAGES_BETWEEN_CLEANUPS
        self._guard = threading.Lock()

    def get(self, hash_: str, page: int, width: int) -> bytes | None:
        """A page that was drawn before; it stays longer for having been asked for."""
        path = self._path(hash_, page, width)
        if path is None:
            return None
        try:
            data = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        return data

    def put(self, hash_: str, page: int, width: int, data: bytes) -> None:
        """Keep a page. A disk that is full or read-only is no reason not to show it."""
        path = self._path(hash_, page, width)
        if path is None:
            return
        temporary = self._folder / f".{secrets.token_hex(8)}.part"
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as stream:
                stream.write(data)
            temporary.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()
            return
        self._tidy()

    def delete_unknown(self, known: Callable[[Collection[str]], Collection[str]]) -> None:
        """Pages of files that are nowhere any more go; `known` tells which of these hashes there still are."""
        hashes = {found[1] for name in self._names() if (found := _NAME.fullmatch(name))}
        gone = hashes.difference(known(hashes)) if hashes else hashes
        for name in self._names() if gone else ():
            found = _NAME.fullmatch(name)
            if found and found[1] in gone:
                with contextlib.suppress(OSError):
                    (self._folder / name).unlink()

    def _path(self, hash_: str, page: int, width: int) -> Path | None:
        name = f"{hash_}-{page:d}-{width:d}.jpg"
        return self._folder / name if _NAME.fullmatch(name) else None

    def _names(self) -> list[str]:
        try:
            return os.listdir(self._folder)
        except OSError:
            return []

    def _tidy(self) -> None:
        """The pages nobody has asked for longest go first."""
        with self._guard:
            self._since_tidied += 1
            if self._since_tidied < PAGES_BETWEEN_CLEANUPS:
                return
            self._since_tidied = 0
            found: list[tuple[float, int, str]] = []
            with contextlib.suppress(OSError), os.scandir(self._folder) as entries:
                for entry in entries:
                    with contextlib.suppress(OSError):
                        status = entry.stat(follow_symlinks=False)
                        found.append((status.st_mtime, status.st_size, entry.path))
            total = sum(size for _, size, _ in found)
            if total <= self._most:
                return
            for _, size, path in sorted(found):
                with contextlib.suppress(OSError):
                    os.unlink(path)
                    total -= size
                if total <= self._most * SHRINK_TO:
                    return
