"""Run the real command and learn what it used: wall, CPU of the process and of its children, memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.processes import family_of, private_bytes, used_by

CHYME = (sys.executable, "-m", "chyme")
ON_CORES = (
    "import os, sys; os.sched_setaffinity(0, set(map(int, sys.argv[1].split(','))));"
    " os.execv(sys.argv[2], sys.argv[2:])"
)
ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command used, from start to end."""

    code: int
    wall: float
    parent: float  # CPU seconds of the process itself
    children: float  # CPU seconds of all it started
    private: int  # most private memory the process held; 0 when not sampled
    largest_child: int  # most memory one child held; 0 when not sampled
    all_children: int  # most memory all children held at one moment; 0 when not sampled
    output: str

    @property
    def cpu(self) -> float:
        return self.parent + self.children

    def must_succeed(self) -> None:
        """Figures of a digestion that failed tell nothing."""
        if self.code != 0:
            raise RuntimeError(f"chyme digest failed:\n{self.output}")


def run(
    command: Sequence[str],
    *,
    cores: Sequence[int] = (),
    sample_seconds: float = 0.0,
    settings: Mapping[str, str] | None = None,
) -> Ran:
    """Run a command to its end. `cores`: only on these. `sample_seconds`: look at its memory this often."""
    environment = (
        os.environ
        | {"CHYME_CRAWL": "false"}
        | {f"CHYME_{name.upper()}": value for name, value in (settings or {}).items()}
    )
    if cores:
        command = (sys.executable, "-c", ON_CORES, ",".join(map(str, cores)), *command)
    with tempfile.TemporaryFile() as told:
        began = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=told, stderr=subprocess.STDOUT
        )
        private = child = together = 0
        # It stays a zombie until it is reaped below, and as such tells its own CPU apart from that of its children.
        while not os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | (os.WNOHANG if sample_seconds else 0)):
            private = max(private, private_bytes(process.pid))
            held = [used.resident for used in family_of(process.pid)]
            child, together = max([child, *held]), max(together, sum(held))
            time.sleep(sample_seconds)
        wall = time.perf_counter() - began
        used = used_by(process.pid)
        assert used is not None
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        cpu = usage.ru_utime + usage.ru_stime  # finer than the ticks in /proc
        told.seek(0)
        output = told.read().decode("utf-8", "replace")
    return Ran(process.returncode, wall, cpu - used.buried, used.buried, private, child, together, output)


def digest(
    vault: Path,
    *options: str,
    cores: Sequence[int] = (),
    sample_seconds: float = 0.0,
    settings: Mapping[str, str] | None = None,
) -> Ran:
    """`chyme digest` on a vault."""
    command = (*CHYME, "digest", "--vault", str(vault), *options)
    return run(command, cores=cores, sample_seconds=sample_seconds, settings=settings)
