"""Where the CPU of a digestion goes: per thread and per function, in the parent and in its text children.

Usage: python -m bench.profiling VAULT [--functions] [--children]
Without options nothing is instrumented and only the CPU of each thread is told, which is exact.
"""

from __future__ import annotations

import argparse
import atexit
import cProfile
import functools
import os
import pstats
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chyme.app
from bench.processes import family_of, thread_seconds
from chyme.app import open_app
from chyme.digester import Digester
from chyme.digesters import in_child as plain_in_child

SHOWN = 45
DUMP_EVERY = 500
OUT_OF_CHILD = Path(tempfile.gettempdir()) / "chyme-profile"


def in_child(config: dict[str, Any]) -> dict[str, Digester]:
    """The usual digesters in a child that profiles itself; dumps every few hundred tasks."""
    began = time.process_time()
    found = plain_in_child(config)
    print(f"load {time.process_time() - began:.3f}", file=sys.stderr)
    profile = cProfile.Profile(time.process_time)
    tasks = 0

    def counted(digest: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(digest)
        def run(source: Any) -> Any:
            nonlocal tasks
            tasks += 1
            if tasks % DUMP_EVERY == 0:
                profile.disable()
                profile.dump_stats(OUT_OF_CHILD / f"{os.getpid()}.prof")
                profile.enable()
            return digest(source)

        return run

    for digester in found.values():
        digester.digest = counted(digester.digest)  # type: ignore[method-assign]
    profile.enable()
    return found


class _Profiles:
    """One profile per thread, by the thread's name, counting CPU and not waiting."""

    def __init__(self) -> None:
        self.of: list[tuple[str, cProfile.Profile]] = []

    def begin(self, *_: object) -> None:
        sys.setprofile(None)
        profile = cProfile.Profile(time.thread_time)
        self.of.append((threading.current_thread().name, profile))
        profile.enable()

    def told(self, part: Callable[[str], bool]) -> pstats.Stats | None:
        stats: pstats.Stats | None = None
        for name, profile in self.of:
            if part(name):
                profile.create_stats()
                if stats is None:
                    stats = pstats.Stats(profile)
                else:
                    stats.add(profile)
        return stats


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("vault", type=Path)
    parser.add_argument("--functions", action="store_true")
    parser.add_argument("--children", action="store_true")
    asked = parser.parse_args()
    profiles = _Profiles()
    if asked.children:
        OUT_OF_CHILD.mkdir(mode=0o777, exist_ok=True)
        OUT_OF_CHILD.chmod(0o777)
        runner = chyme.app.Runner
        chyme.app.Runner = lambda _entry, *rest, **more: runner(  # type: ignore[assignment,misc]
            "bench.profiling:in_child", *rest, import_from=[Path(__file__).resolve().parents[1]], **more
        )
    if asked.functions:
        threading.setprofile(profiles.begin)
        profiles.begin()
        atexit.register(lambda: None)
    start = time.process_time()
    with open_app(asked.vault, create=True) as app:
        report = app.scan()
        scanned = time.process_time()
        work = app.start(follow=False)
        work.drain(wait=False)
        threads = thread_seconds()
        children = family_of(os.getpid())
        print(f"scan: {scanned - start:.2f} s CPU for {report.new} new files ({1000 * (scanned - start) / max(1, report.new):.3f} ms)")
        print(f"parent in all: {time.process_time():.2f} s CPU; children: {sum(c.cpu for c in children):.2f} s")
        for name, seconds in sorted(threads.items(), key=lambda item: -item[1]):
            print(f"  {name:<24}{seconds:8.2f} s  {1000 * seconds / max(1, report.new):.3f} ms a file")
        for child in children:
            print(f"  child {child.pid}: {child.cpu:.2f} s, user {child.user:.2f}, system {child.system:.2f}")
        print("commits", app.database.commits, file=sys.stderr)
    if asked.functions:
        groups: dict[str, Callable[[str], bool]] = {
            "main (scan)": lambda n: n == "MainThread",
            "writer": lambda n: n == "chyme-writer",
            "carrying files": lambda n: n.startswith("chyme-file"),
            "talking to children": lambda n: n.startswith(("text-", "parsers-")),
            "supervisor": lambda n: n == "chyme-supervisor",
        }
        for title, part in groups.items():
            stats = profiles.told(part)
            if stats is not None:
                print(f"\n=== {title}")
                stats.sort_stats("tottime").print_stats(SHOWN)
                print(f"--- {title}, cumulative")
                stats.sort_stats("cumulative").print_stats(30)
    if asked.children:
        found = [str(path) for path in OUT_OF_CHILD.glob("*.prof")]
        if found:
            pstats.Stats(*found).sort_stats("tottime").print_stats(SHOWN)


if __name__ == "__main__":
    main()
