"""What it costs to start a child, and to hand a tiny task to a warm one and hear its answer."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

from bench.figures import Figure, Sizes, Tell, percentile
from bench.plain_loop import identified
from bench.processes import family_of
from chyme.core.children.child import Child, ChildConfig
from chyme.core.children.places import Family
from chyme.core.children.runner import NOBODY, Runner
from chyme.core.children.task import Task
from chyme.core.children.template import Stock, Template
from chyme.model import Limits

ROUNDS = 2000
STARTS = 6


def measure(sizes: Sizes, folder: Path, tell: Tell) -> None:
    """search-keyword on a file of a few bytes, again and again, in one child."""
    path = folder / "tiny.txt"
    path.write_text("tiny\n", encoding="utf-8")
    folder.chmod(0o755)
    scratch = folder / "scratch"
    scratch.mkdir()
    fd = os.open(path, os.O_RDONLY)
    families = {"text": Family(1, 1 << 30)}
    runner = Runner("chyme.digesters:in_child", {}, families, preload="chyme.digesters:preload")
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
    _measure_starts(tell)


def _measure_starts(tell: Tell) -> None:
    """Children started by themselves against copies of a template that has loaded language model and embedder."""
    config = ChildConfig("chyme.digesters:in_child", {}, (), NOBODY, 1 << 30, 1 << 28, 60.0)
    template = Template()
    stock = Stock("chyme.digesters:preload", {}, ("text", "embedding", "meaning"))

    def start(source: Template | None) -> float:
        """CPU of a child until it is ready, and of its template."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = sum(usage.cpu for usage in family_of(os.getpid()))
        child = Child(config, None, source, stock)
        child.wait_until_ready()
        used = sum(usage.cpu for usage in family_of(os.getpid())) - spent
        child.dispose()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return max(used, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    try:
        start(template)  # which loads what is shared
        fresh, copied = (min(start(source) for _ in range(STARTS)) for source in (None, template))
    finally:
        template.close()
    tell(Figure("CPU to start a child by itself", 1000 * fresh, "ms", "Python and imports, no model"))
    tell(Figure("CPU to copy one from the template", 1000 * copied, "ms", "with language model and embedder"))
    tell(Figure("a copy against a start", copied / fresh, "×", "in one run"))
