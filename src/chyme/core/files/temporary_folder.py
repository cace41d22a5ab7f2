"""Folders in the system's temporary folder that do not stay behind when this process is killed.

This process holds a lock on each. If it is killed, the next process that makes such a folder removes every one that is
not locked. The folder of an external program also disappears at once: a waiting shell removes it. It does not lie in
the scratch folder of a task, which goes with the task and may not be reachable by path.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

TEMPORARY = ("/tmp", "/var/tmp")  # not TMPDIR: in a child that is the task's scratch folder
# A dying program may write once more, so the shell looks again until nothing has come back.
_CARETAKER = """cat >/dev/null; rm -rf -- "$@"
for _ in 1 2 3 4 5; do sleep 1; [ -e "$1" ]; back=$?; rm -rf -- "$@"; [ $back = 0 ] || break; done"""

Beside = Callable[[Path], Iterable[Path]]  # the files that a program keeps outside its folder


class LockedFolder:
    """A folder of this process for its children."""

    def __init__(self, prefix: str, run_as: tuple[int, int] | None = None) -> None:
        """`run_as`: user and group of the children, who then own the folder."""
        parent = Path(tempfile.gettempdir())
        _remove_abandoned(parent, prefix, lambda _folder: (), run_as)
        self.path, self._lock = _create_locked(parent, prefix)

    def remove(self) -> None:
        """Remove the folder and everything in it, after the children that used it have ended."""
        shutil.rmtree(self.path, ignore_errors=True)
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)


class TemporaryFolder:
    """The folder of an external program, and the files outside it that go with it."""

    def __init__(self, prefix: str, beside: Beside = lambda _folder: ()) -> None:
        parent = _temporary_parent()
        _remove_abandoned(parent, prefix, beside)
        self.path, self._lock = _create_locked(parent, prefix)
        self._beside = tuple(beside(self.path))
        try:
            self._caretaker: subprocess.Popen[bytes] | None = subprocess.Popen(
                ["/bin/sh", "-c", _CARETAKER, "sh", str(self.path), *map(str, self._beside)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,  # killing our process group must not kill the shell
            )
        except OSError:
            self._caretaker = None
            self.remove()
            raise

    def remove(self) -> None:
        """Remove the folder and everything in it. Call once, after the programs that used it have ended."""
        shutil.rmtree(self.path, ignore_errors=True)
        for path in self._beside:
            with suppress(OSError):
                path.unlink(missing_ok=True)
        caretaker = self._caretaker
        if caretaker is not None and caretaker.stdin is not None:
            if not self.path.exists():
                caretaker.kill()  # it has nothing left to do
            caretaker.stdin.close()
            caretaker.wait()
        os.close(self._lock)


def recreate_folder(path: Path) -> Path:
    """Replace the folder by an empty one for us alone."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(mode=0o700)
    return path


def _temporary_parent() -> Path:
    return Path(next((folder for folder in TEMPORARY if os.access(folder, os.W_OK | os.X_OK)), TEMPORARY[0]))


def _create_locked(parent: Path, prefix: str) -> tuple[Path, int]:
    """A new folder and the descriptor that locks it."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        try:
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue  # another process has already removed it
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.stat().st_ino == os.fstat(lock).st_ino:
                return path, lock
        os.close(lock)  # another process removed it before we had the lock


def _remove_abandoned(parent: Path, prefix: str, beside: Beside, run_as: tuple[int, int] | None = None) -> None:
    """Remove the folders of this user and of its children that no running process has locked."""
    owners = {os.geteuid(), *([run_as[0]] if run_as and os.geteuid() == 0 else [])}
    for path in parent.glob(f"{prefix}*"):
        try:
            status = path.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid not in owners:
                continue
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
            for leftover in beside(path):
                leftover.unlink(missing_ok=True)
        except OSError:
            continue  # it is in use
        finally:
            os.close(lock)
