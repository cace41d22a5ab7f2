"""Receive the kernel's events for the folders of a vault.

Uses inotify directly: the usual library follows links out of the vault and gives up at the first name that is not
UTF-8.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field

MODIFY, ATTRIB, CLOSE_WRITE, MOVED_FROM, MOVED_TO = 0x2, 0x4, 0x8, 0x40, 0x80
CREATE, DELETE, OVERFLOW, GONE = 0x100, 0x200, 0x4000, 0x8000
ONLY_FOLDERS, NO_LINKS, NOT_UNLINKED, IS_FOLDER = 0x1000000, 0x2000000, 0x4000000, 0x40000000
WATCH_MASK = (
    MODIFY | ATTRIB | CLOSE_WRITE | MOVED_FROM | MOVED_TO | CREATE | DELETE | ONLY_FOLDERS | NO_LINKS | NOT_UNLINKED
)

QUIET_SECONDS = 0.05
GATHER_SECONDS = 0.2
SLICE_FOLDERS = 200  # of a tree that appeared at once; watched before events are read again
_EVENT = struct.Struct("iIII")
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass
class FileEvents:
    """Paths (as the disk spells them) to check again; `lost` if the kernel could not keep up."""

    paths: set[str] = field(default_factory=set)
    lost: bool = False


class InotifyListener:
    """Watches every folder of a vault that is not ignored. Must be closed."""

    def __init__(self, root: str, ignores: Callable[[str], bool]) -> None:
        self._root = os.fsencode(os.path.join(root, ""))
        self._ignores = ignores
        self._fd = _check_result(_libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        self._wake_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._folder_by_watch: dict[int, str] = {}
        self._to_watch: list[tuple[str, bool]] = []  # folders; True: all folders below it are watched by now
        self._poll = select.poll()
        for fd in (self._fd, self._wake_fd):
            self._poll.register(fd, select.POLLIN)
        self.unwatched_count = 0  # folders that exceed the kernel's limit
        self.watch_tree("")

    def close(self) -> None:
        """Call this only when no thread is in `wait_for_events` any more; see `interrupt`."""
        os.close(self._fd)
        os.close(self._wake_fd)

    def interrupt(self) -> None:
        """Make `wait_for_events` return at once, now and always from then on."""
        os.eventfd_write(self._wake_fd, 1)

    def watch_tree(self, folder: str) -> set[str]:
        """Watch this folder and all below it; return those that were not watched before.

        Each folder is watched before it is listed, so that no change between the two is missed.
        """
        added = set()
        if not folder:
            self.unwatched_count = 0
        stack = [folder]
        while stack:
            current = stack.pop()
            if self._add_watch(current):
                added.add(current)
            stack.extend(self._folders_in(current))
        return added

    def _add_watch(self, folder: str) -> bool:
        """Watch one folder and return whether it was not watched before."""
        watch = _libc.inotify_add_watch(self._fd, self._root + os.fsencode(folder), WATCH_MASK)
        if watch < 0:
            self.unwatched_count += ctypes.get_errno() == errno.ENOSPC
            return False
        is_new = self._folder_by_watch.get(watch) != folder
        self._folder_by_watch[watch] = folder
        return is_new

    def _folders_in(self, folder: str) -> list[str]:
        """The subfolders that are not ignored."""
        try:
            with os.scandir(os.fsdecode(self._root + os.fsencode(folder))) as entries:
                names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError:
            return []
        paths = [f"{folder}/{name}" if folder else name for name in names]
        return [path for path in paths if not self._ignores(path)]

    def _watch_some(self, events: FileEvents) -> None:
        """Continue watching trees that have appeared. Each is reported once all of it is watched."""
        for _ in range(SLICE_FOLDERS):
            if not self._to_watch:
                return
            folder, is_done = self._to_watch.pop()
            if is_done:
                events.paths.add(folder)
                continue
            if self._add_watch(folder):  # else its new subfolders had events, and are watched because of those
                self._to_watch.extend((subfolder, False) for subfolder in self._folders_in(folder))

    def wait_for_events(self, seconds: float | None) -> FileEvents:
        """Wait for an event, then until there are none for a moment."""
        events = FileEvents()
        ready = self._poll.poll(self._milliseconds(seconds))
        started = time.monotonic()
        while (ready or self._to_watch) and not any(fd == self._wake_fd for fd, _ in ready):
            if ready:
                self._read_events(events)
            self._watch_some(events)
            if time.monotonic() - started > GATHER_SECONDS:
                break
            ready = self._poll.poll(self._milliseconds(QUIET_SECONDS))
        return events

    def _milliseconds(self, seconds: float | None) -> float | None:
        """How long to wait for an event: not at all while folders remain to be watched."""
        if self._to_watch:
            return 0
        return None if seconds is None else max(0.0, seconds) * 1000

    def _read_events(self, events: FileEvents) -> None:
        try:
            data = os.read(self._fd, 256 * 1024)
        except BlockingIOError:
            return
        position = 0
        while position < len(data):
            watch, mask, _, length = _EVENT.unpack_from(data, position)
            position += _EVENT.size
            name = os.fsdecode(data[position : position + length].rstrip(b"\0"))
            position += length
            if mask & OVERFLOW:
                events.lost = True
            elif mask & GONE:
                self._folder_by_watch.pop(watch, None)
            elif name and watch in self._folder_by_watch:
                self._handle_event(self._folder_by_watch[watch], name, mask, events)

    def _handle_event(self, folder: str, name: str, mask: int, events: FileEvents) -> None:
        path = f"{folder}/{name}" if folder else name
        if mask & IS_FOLDER and mask & (CREATE | MOVED_TO | ATTRIB) and not self._ignores(path):
            self._to_watch += [(path, True), (path, False)]
            return
        events.paths.add(path)
        if mask & IS_FOLDER and mask & MOVED_FROM:
            self._remove_watches(path)

    def _remove_watches(self, folder: str) -> None:
        """Remove the watches of a folder that was moved away: the kernel keeps them wherever the folder goes."""
        prefix = folder + "/"
        watches = [
            watch for watch, path in list(self._folder_by_watch.items()) if path == folder or path.startswith(prefix)
        ]
        for watch in watches:
            del self._folder_by_watch[watch]
            _libc.inotify_rm_watch(self._fd, watch)


def _check_result(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
