"""A runner with real children, and tasks to give them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from chyme.core.children.places import Family
from chyme.core.children.runner import Runner
from chyme.core.children.task import Task
from chyme.model import Limits

HERE = Path(__file__).parent
MEGABYTE = 1 << 20
AMPLE = Limits(wall_seconds=120, cpu_seconds=30, memory_bytes=512 * MEGABYTE)
FAMILY = Family(count=2, memory_bytes=1024 * MEGABYTE)

MakeTask = Callable[..., Task]
MakeRunner = Callable[..., Runner]


def wait_until(true: Callable[[], object]) -> None:
    import waiting  # imported here: children import this module, too, and cannot find `waiting`

    waiting.wait_until(true)


def gone(pid: int) -> bool:
    """Whether the process has ended; a zombie that is not reaped yet counts as ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True
