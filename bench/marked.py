"""Find and end the processes that we started, and their children, by a mark in their environment."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path


def environment(mark: Path) -> dict[str, str]:
    """Our environment with the mark. Children keep little of it, but they keep PYTHONPATH."""
    return {name: value for name, value in os.environ.items() if not name.startswith("CHYME_")} | {
        "CHYME_CRAWL": "false",
        "PYTHONPATH": os.fspath(mark),
    }


def alive(mark: Path) -> list[int]:
    """The processes that carry the mark; those that ended and were not reaped do not count."""
    wanted = b"PYTHONPATH=" + os.fsencode(mark) + b"\0"
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):  # it ended while we looked, or belongs to somebody else
                if wanted in (folder / "environ").read_bytes():
                    found.append(int(folder.name))
    return found


def kill(mark: Path, first: int) -> int:
    """End the process `first` and whatever carries the mark, at once. Returns how many there were."""
    found = [first, *(pid for pid in alive(mark) if pid != first)]
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return len(found)


def wait_until_gone(mark: Path, seconds: float) -> list[int]:
    """Those still there after so many seconds; empty as soon as there are none."""
    deadline = time.monotonic() + seconds
    while (left := alive(mark)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return left
