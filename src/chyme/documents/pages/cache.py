"""A cache of rendered pages, in a folder of limited size."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import threading
from collections.abc import Callable, Collection
from pathlib import Path

_NAME = re.compile(r"([0-9a-f]{16,128})-[0-9]{1,9}-[0-9]{1,5}\.jpg")
SHRINK_TO = 0.8  # of the limit, so that not every new page removes another one
PAGES_BETWEEN_CLEANUPS = 16  # pages between two checks of the folder's size


class PageCache:
    """`HASH-PAGE-WIDTH.jpg`: named after content, so nothing is ever out of date. It may be deleted at any time."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._since_cleanup = PAGES_BETWEEN_CLEANUPS
        self._lock = threading.Lock()

    def get(self, hash_: str, page: int, width: int) -> bytes | None:
        """A page that was rendered before; using it makes it stay longer."""
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
        """Store a page. If the disk is full or read-only, the page is still shown."""
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
        self._remove_oldest()

    def delete_unknown(self, known: Callable[[Collection[str]], Collection[str]]) -> None:
        """Delete pages of files that no longer exist; `known` returns which of the given hashes still do."""
        hashes = {name: match[1] for name in self._names() if (match := _NAME.fullmatch(name))}
        existing = known(set(hashes.values())) if hashes else ()
        for name, hash_ in hashes.items():
            if hash_ not in existing:
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

    def _remove_oldest(self) -> None:
        """Remove the pages that were not used for longest."""
        with self._lock:
            self._since_cleanup += 1
            if self._since_cleanup < PAGES_BETWEEN_CLEANUPS:
                return
            self._since_cleanup = 0
            pages: list[tuple[float, int, str]] = []
            with contextlib.suppress(OSError), os.scandir(self._folder) as entries:
                for entry in entries:
                    with contextlib.suppress(OSError):
                        status = entry.stat(follow_symlinks=False)
                        pages.append((status.st_mtime, status.st_size, entry.path))
            total = sum(size for _, size, _ in pages)
            if total <= self._max_bytes:
                return
            for _, size, path in sorted(pages):
                with contextlib.suppress(OSError):
                    os.unlink(path)
                    total -= size
                if total <= self._max_bytes * SHRINK_TO:
                    return
