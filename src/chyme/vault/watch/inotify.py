"""Hear from the kernel what happens in the folders of a vault.

Written against inotify itself: the usual library follows links out of the vault and gives up at the first name that
is not UTF-8.
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
SLICE_FOLDERS = 200  # of a tree that appeared at once: listened to before events are read again
_EVENT = struct.Struct("iIII")
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass
class FileEvents:
    """Paths (as the disk spells them) worth another look; `lost` when the kernel could not keep up."""

    paths: set[str] = field(default_factory=set)
    lost: bool = False


class InotifyListener:
    """Listens to every folder of a vault that is not passed over. Must be closed."""

    def __init__(self, root: str, passes_over: Callable[[str], bool]) -> None:
        self._root = os.fsencode(os.path.join(root, ""))
        self._passes_over = passes_over
        self._fd = _checked(_libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._folders: dict[int, str] = {}
        self._to_listen: list[tuple[str, bool]] = []  # folders; True: all below it are listened to by now
        self._poll = select.poll()
        for each in (self._fd, self._wake):
            self._poll.register(each, select.POLLIN)
        self.unwatched_count = 0  # folders the kernel had no room for
        self.watch_tree("")

    def close(self) -> None:
        """Only when nobody is in `hear` any more; see `interrupt`."""
        os.close(self._fd)
        os.close(self._wake)

    def interrupt(self) -> None:
        """Make `hear` return at once, now and ever after."""
        os.eventfd_write(self._wake, 1)

    def watch_tree(self, folder: str) -> set[str]:
        """Listen to this folder and all below; returns those not listened to before.

        Each is listened to before it is read: nothing slips in between.
        """
        added = set()
        if not folder:
            self.unwatched_count = 0
        stack = [folder]
        while stack:
            here = stack.pop()
            if self._add_watch(here):
                added.add(here)
            stack.extend(self._folders_in(here))
        return added

    def _add_watch(self, here: str) -> bool:
        """Listen to one folder. Whether it was not listened to before."""
        watch = _libc.inotify_add_watch(self._fd, self._root + os.fsencode(here), WATCH_MASK)
        if watch < 0:
            self.unwatched_count += ctypes.get_errno() == errno.ENOSPC
            return False
        is_new = self._folders.get(watch) != here
        self._folders[watch] = here
        return is_new

    def _folders_in(self, here: str) -> list[str]:
        """The folders in this one that are not passed over."""
        try:
            with os.scandir(os.fsdecode(self._root + os.fsencode(here))) as entries:
                names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError:
            return []
        below = [f"{here}/{name}" if here else name for name in names]
        return [each for each in below if not self._passes_over(each)]

    def _listen_to_some(self, heard: FileEvents) -> None:
        """Go on with trees that have appeared. Each is heard of once all of it is listened to."""
        for _ in range(SLICE_FOLDERS):
            if not self._to_listen:
                return
            here, is_done = self._to_listen.pop()
            if is_done:
                heard.paths.add(here)
                continue
            if self._add_watch(here):  # else what has appeared in it was heard of, and is listened to for its own sake
                self._to_listen.extend((each, False) for each in self._folders_in(here))

    def wait_for_events(self, seconds: float | None) -> FileEvents:
        """Wait for something to happen, then for it to be quiet for a moment."""
        heard = FileEvents()
        ready = self._poll.poll(self._milliseconds(seconds))
        began = time.monotonic()
        while (ready or self._to_listen) and not any(fd == self._wake for fd, _ in ready):
            if ready:
                self._read(heard)
            self._listen_to_some(heard)
            if time.monotonic() - began > GATHER_SECONDS:
                break
            ready = self._poll.poll(self._milliseconds(QUIET_SECONDS))
        return heard

    def _milliseconds(self, seconds: float | None) -> float | None:
        """How long to wait for an event: not at all while there is something else to do."""
        if self._to_listen:
            return 0
        return None if seconds is None else max(0.0, seconds) * 1000

    def _read(self, heard: FileEvents) -> None:
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
                heard.lost = True
            elif mask & GONE:
                self._folders.pop(watch, None)
            elif name and watch in self._folders:
                self._note(self._folders[watch], name, mask, heard)

    def _note(self, folder: str, name: str, mask: int, heard: FileEvents) -> None:
        path = f"{folder}/{name}" if folder else name
        if mask & IS_FOLDER and mask & (CREATE | MOVED_TO | ATTRIB) and not self._passes_over(path):
            self._to_listen += [(path, True), (path, False)]
            return
        heard.paths.add(path)
        if mask & IS_FOLDER and mask & MOVED_FROM:
            self._leave(path)

    def _leave(self, folder: str) -> None:
        """A folder that was moved away takes its watches along, wherever it goes."""
        inside = folder + "/"
        left = [watch for watch, path in list(self._folders.items()) if path == folder or path.startswith(inside)]
        for watch in left:
            del self._folders[watch]
            _libc.inotify_rm_watch(self._fd, watch)


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
