"""What it costs to hand a tiny task to a warm child and hear its answer."""

from __future__ import annotations

import os
import time
from pathlib import Path

from bench.figures import Figure, Sizes, Tell, percentile
from bench.plain_loop import identified
from bench.processes import family_of
from chyme.core.children.places import Family
from chyme.core.children.runner import Runner
from chyme.core.children.task import Task
from chyme.model import Limits

ROUNDS = 2000


def measure(sizes: Sizes, folder: Path, tell: Tell) -> None:
    """search-keyword on a file of a few bytes, again and again, in one child."""
    path = folder / "tiny.txt"
    path.write_text("tiny\n", encoding="utf-8")
    folder.chmod(0o755)
    scratch = folder / "scratch"
    scratch.mkdir()
    fd = os.open(path, os.O_RDONLY)
    runner = Runner("chyme.digesters:in_child", {}, {"text": Family(1, 1 << 30)})
    task = Task("search-keyword", identified(path), fd, (), scratch)
    limits = Limits(30.0, 30.0, 1 << 30)
    try:
        began = time.perf_counter()
        runner.run(task, "text", limits)
        start = time.perf_counter() - began
        child_before, before = sum(u.cpu for u in family_of(os.getpid())), time.process_time()
        walls = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            runner.run(task, "text", limits)
            walls.append(time.perf_counter() - began)
        ours = time.process_time() - before
        theirs = sum(u.cpu for u in family_of(os.getpid())) - child_before
    finally:
        runner.close()
        os.close(fd)
    tell(Figure("parent CPU a task", 1000 * ours / ROUNDS, "ms", f"{ROUNDS} tasks one after the other"))
    tell(Figure("child CPU a task", 1000 * theirs / ROUNDS, "ms", "search-keyword on 5 bytes"))
    tell(Figure("round trip, median", 1000 * percentile(walls, 0.5), "ms", "wall"))
    tell(Figure("round trip, p99", 1000 * percentile(walls, 0.99), "ms", "wall"))
    tell(Figure("start of a child and first task", start, "s", "wall"))
