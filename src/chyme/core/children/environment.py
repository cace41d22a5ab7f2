"""How Python is started for a child, and the environment it gets."""

from __future__ import annotations

import os

PYTHON_OPTIONS = ("-P", "-s", "-X", "utf8", "-X", "faulthandler")  # -P: nothing is imported from the current folder
HERE = "/proc/self/cwd"
KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "PYTHONPATH")
OWN = {
    # This name for the current folder works even where the child may not enter the folders above it.
    "TMPDIR": HERE,
    "HOME": "/nonexistent",
    # Without the arena limit each thread's heap reserves 64 MB of the address space that limits count, and numpy's
    # linear algebra, which is not needed here, reserves as much for each core.
    "MALLOC_ARENA_MAX": "2",
    "OPENBLAS_NUM_THREADS": "1",
    # Otherwise onnxruntime starts a thread that reports to its makers, and threads are not copied with a process.
    "ORT_DISABLE_TELEMETRY": "1",
}


def child_environment() -> dict[str, str]:
    """No keys or tokens for parsers; temporary files go into the task's own folder."""
    return {name: os.environ[name] for name in KEPT if name in os.environ} | OWN
