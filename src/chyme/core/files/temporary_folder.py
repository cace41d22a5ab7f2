"""A folder for an outside program and its files, which does not outlive us, whatever the way we end.

It lies in the system's temporary folder, because the scratch of a task goes with the task and may not be reachable
by path. We hold a lock on it. When we die, a shell that waits for just that removes it; should that shell die too,
the next start removes every folder that nobody holds.
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

TEMPORARY = ("/tmp", "/var/tmp")  # not TMPDIR: in a child that is the task's scratch
# A program that is dying may write once more, so it looks again until nothing has come back.
_CARETAKER = """cat >/dev/null; rm -rf -- "$@"
for _ in 1 2 3 4 5; do sleep 1; [ -e "$1" ]; back=$?; rm -rf -- "$@"; [ $back = 0 ] || break; done"""

Beside = Callable[[Path], Iterable[Path]]  # the files that a program keeps outside of its folder


def _nothing(_folder: Path) -> Iterable[Path]:
    return ()


class TemporaryFolder:
    """One process's folder, and the files beside it that go with it."""

    def __init__(self, prefix: str, beside: Beside = _nothing) -> None:
        parent = _temporary()
        _sweep(parent, prefix, beside)
        self.path, self._lock = _locked(parent, prefix)
        self._beside = tuple(beside(self.path))
        try:
            self._caretaker: subprocess.Popen[bytes] | None = subprocess.Popen(
                ["/bin/sh", "-c", _CARETAKER, "sh", str(self.path), *map(str, self._beside)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,  # who ends our group must not end this one
            )
        except OSError:
            self._caretaker = None
            self.remove()
            raise

    def remove(self) -> None:
        """The folder and all in it. To be called once; whoever used it has ended."""
        shutil.rmtree(self.path, ignore_errors=True)
        for path in self._beside:
            with suppress(OSError):
                path.unlink(missing_ok=True)
        caretaker = self._caretaker
        if caretaker is not None and caretaker.stdin is not None:
            if not self.path.exists():
                caretaker.kill()  # nothing is left for it to do
            caretaker.stdin.close()
            caretaker.wait()
        os.close(self._lock)


def recreate_folder(path: Path) -> Path:
    """The folder as new, for us alone."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(mode=0o700)
    return path


def _temporary() -> Path:
    return Path(next((folder for folder in TEMPORARY if os.access(folder, os.W_OK | os.X_OK)), TEMPORARY[0]))


def _locked(parent: Path, prefix: str) -> tuple[Path, int]:
    """A new folder and the descriptor that holds it."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        try:
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue  # swept away already
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.stat().st_ino == os.fstat(lock).st_ino:
                return path, lock
        os.close(lock)  # somebody swept it away before we held it


def _sweep(parent: Path, prefix: str, beside: Beside) -> None:
    """Remove our user's folders that no living process holds."""
    for path in parent.glob(f"{prefix}*"):
        try:
            found = path.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
                continue
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
            for left in beside(path):
                left.unlink(missing_ok=True)
        except OSError:
            continue  # it is in use
        finally:
            os.close(lock)
