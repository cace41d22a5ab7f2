"""Where the CPU of a digestion goes, in the parent and in its text children, by sampling.

Usage: python -m bench.profiling VAULT [--top N]
The kernel's profiling timer interrupts whichever thread is using the CPU, and Python notes where that thread is,
time in C code included. It costs next to nothing, unlike a tracing profiler, which triples the cost of small functions.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import re
import resource
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

import chyme.application.digestion
from bench.processes import thread_seconds
from chyme.application.app import open_app
from chyme.core.children.runner import Runner
from chyme.digester import Digester
from chyme.digesters import in_child as plain_in_child

STEP = 0.004
FRAME = re.compile(r'^  File "(.*)", line (\d+) in (.*)$')
THREADS = (
    ("core/store/sqlite/writer.py", "_run", "writer thread"),
    ("children/runner.py", "run", "threads talking to children"),
    ("core/pipeline/file_scheduler.py", "_carry", "threads carrying files"),
    ("core/pipeline/file_scheduler.py", "_run", "supervisor"),
    ("vault/watch/scanner.py", "scan", "scan"),
    ("children/main.py", "main", "child"),
)
Frame = tuple[str, int, str]  # file, line, function
_OPEN: list[TextIO] = []  # what the signal handler writes to must never be closed


def sample_into(path: Path) -> None:
    """Write a stack into the file for every few milliseconds of CPU that this process uses."""
    stream = path.open("w", encoding="utf-8")
    _OPEN.append(stream)
    faulthandler.register(signal.SIGPROF, stream, all_threads=False)
    signal.setitimer(signal.ITIMER_PROF, STEP, STEP)


def in_child(config: dict[str, Any]) -> dict[str, Digester]:
    """The usual digesters, in a child that samples itself."""
    loaded = plain_in_child(config)
    sample_into(Path(config["sampled"]) / f"child-{os.getpid()}")
    return loaded


def stacks(lines: Iterable[str]) -> Iterator[list[Frame]]:
    """The samples of a file, innermost frame first."""
    stack: list[Frame] = []
    for line in lines:
        frame = FRAME.match(line)
        if frame:
            stack.append((_short(frame[1]), int(frame[2]), frame[3]))
        elif stack:
            yield stack
            stack = []
    if stack:
        yield stack


def _short(path: str) -> str:
    for mark in ("src/", "site-packages/", "python3.11/"):
        if mark in path:
            path = path.rpartition(mark)[2]
    return path


def thread_of(stack: list[Frame]) -> str:
    """Which part of the machinery a sample belongs to."""
    for file, _, function in reversed(stack):
        for end, name, title in THREADS:
            if file.endswith(end) and function == name:
                return title
    return "main thread, other"


class Tally:
    """Samples of one thread, counted in three ways."""

    def __init__(self) -> None:
        self.samples = 0
        self.lines: Counter[str] = Counter()
        self.functions: Counter[str] = Counter()
        self.within: Counter[str] = Counter()

    def add(self, stack: list[Frame]) -> None:
        self.samples += 1
        file, _, function = stack[0]
        self.functions[f"{file}:{function}"] += 1
        ours = next((frame for frame in stack if frame[0].startswith(("chyme/", "bench/"))), stack[0])
        self.lines[f"{ours[0]}:{ours[1]} {ours[2]}" + ("" if ours is stack[0] else f" ▸ {function}")] += 1
        for name in {f"{frame[0]}:{frame[2]}" for frame in stack}:
            self.within[name] += 1

    def told(self, total: float, samples: int, files: int, top: int) -> str:
        def row(name: str, count: int) -> str:
            ms = 1000 * total * count / max(1, samples) / max(1, files)
            return f"    {100 * count / max(1, samples):5.1f} %  {ms:6.3f} ms/file  {name}"

        out = []
        for title, counted in (
            ("by line of ours", self.lines),
            ("by innermost function", self.functions),
            ("with all they call", self.within),
        ):
            out.append(f"  {title}:")
            out += [row(name, count) for name, count in counted.most_common(top)]
        return "\n".join(out)


def report(title: str, sampled: Iterable[Path], total: float, files: int, top: int) -> None:
    tallies: dict[str, Tally] = {}
    for path in sampled:
        with path.open(encoding="utf-8", errors="replace") as stream:
            for stack in stacks(stream):
                tallies.setdefault(thread_of(stack), Tally()).add(stack)
    samples = sum(tally.samples for tally in tallies.values())
    print(f"\n##### {title}: {total:.2f} s CPU, {1000 * total / files:.3f} ms a file, {samples} samples")
    for name, tally in sorted(tallies.items(), key=lambda item: -item[1].samples):
        share = tally.samples / max(1, samples)
        print(f"\n== {name}: {100 * share:.1f} %, {1000 * total * share / files:.3f} ms a file")
        print(tally.told(total, samples, files, top))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("vault", type=Path)
    parser.add_argument("--top", type=int, default=15)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        out.chmod(0o777)
        here = [Path(__file__).resolve().parents[1]]
        vars(chyme.application.digestion)["Runner"] = lambda _entry, config, *rest, **more: Runner(
            "bench.profiling:in_child", {**config, "sampled": folder}, *rest, import_from=here, **more
        )
        sample_into(out / "parent")
        with open_app(asked.vault, create=True) as app:
            files = max(1, app.scan().new)
            app.start(follow=False).drain(wait=False)
            print(f"{files} new files, {app.database.commits} commits; CPU by thread:")
            for name, seconds in sorted(thread_seconds().items(), key=lambda item: -item[1]):
                print(f"  {name:<24}{seconds:8.2f} s  {1000 * seconds / files:.3f} ms a file")
        signal.setitimer(signal.ITIMER_PROF, 0)
        report("parent", [out / "parent"], time.process_time(), files, asked.top)
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        report("children", out.glob("child-*"), ended.ru_utime + ended.ru_stime, files, asked.top)


if __name__ == "__main__":
    main()
