"""One measured figure, and how it is told."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Figure:
    """What was measured, in which unit, and what it is held against."""

    what: str
    value: float
    unit: str
    how: str
    at_most: float | None = None
    at_least: float | None = None

    @property
    def good(self) -> bool | None:
        """Whether the target is met; None without one."""
        if self.at_most is not None:
            return self.value <= self.at_most
        return self.value >= self.at_least if self.at_least is not None else None

    @property
    def target(self) -> str:
        if self.at_most is not None:
            return f"≤ {self.at_most:g}"
        return f"≥ {self.at_least:g}" if self.at_least is not None else ""

    def line(self) -> str:
        mark = {True: "ok", False: "MISSED", None: ""}[self.good]
        return f"  {self.what:<44}{self.value:>12,.3f} {self.unit:<10}{self.target:>9} {mark:<7} {self.how}"


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much each benchmark is given to do."""

    notes: int
    passages: int
    documents: int
    queries: int
    idle_seconds: float


Tell = Callable[[Figure], None]
Benchmark = Callable[[Sizes, Path, Tell], None]  # sizes, an empty folder to work in, where figures go


class Record:
    """Prints figures as they come and keeps them as JSON lines."""

    def __init__(self, out: Path | None) -> None:
        self._out = out
        self.missed: list[str] = []

    def teller(self, benchmark: str) -> Tell:
        def tell(figure: Figure) -> None:
            print(figure.line(), flush=True)
            if figure.good is False:
                self.missed.append(f"{benchmark}: {figure.what}")
            if self._out is not None:
                row = {"benchmark": benchmark, "at": time.time(), "good": figure.good, **asdict(figure)}
                with self._out.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps(row, ensure_ascii=False) + "\n")

        return tell


def remark(text: str) -> None:
    """A line for whoever watches; no figure."""
    print(f"  {text}", flush=True)


def percentile(values: list[float], share: float) -> float:
    """The value below which this share of all values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def warn(text: str) -> None:
    print(f"  ! {text}", file=sys.stderr, flush=True)
