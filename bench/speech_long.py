"""Long recordings: real-time factor, what is lost when chyme is killed half-way, and memory by length."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from bench import long_recordings, marked
from bench.commands import CHYME, ON_CORES, ROOT, Ran, digest
from bench.figures import Figure, Sizes, Tell, warn
from bench.processes import family_of, used_by
from bench.speech import transcripts
from bench.vaults import forget
from bench.word_errors import errors
from chyme.models.weights.catalog import SPEECH
from chyme.models.weights.folder import path_of

MINUTE, QUARTER, HOUR = 60.0, 900.0, 3600.0
MB = 1e6
LOOK = 0.2  # seconds between two looks at the memory


def measure(sizes: Sizes, folder: Path, tell: Tell) -> None:
    """A quarter of an hour on one core and on two; then killed at half, and taken up again."""
    if not _ready():
        return
    cores = sorted(os.sched_getaffinity(0))[:2]
    vault = folder / "vault"
    vault.mkdir()
    long_recordings.write(vault / "quarter.wav", QUARTER)
    runs = {}
    for number in range(1, len(cores) + 1):
        forget(vault)
        runs[number] = _digested(vault, cores[:number])
        how = f"wall of the whole digestion by length; {runs[number].cpu:.0f} s CPU, load {os.getloadavg()[0]:.1f}"
        tell(Figure(f"real-time factor, cores: {number}", runs[number].wall / QUARTER, "", how))
    undisturbed, said = runs[len(cores)], _said(vault)
    forget(vault)
    mark = folder / "mark"
    mark.mkdir(mode=0o755)
    spent = _killed(vault, mark, cores, undisturbed.cpu / 2)
    rest = _digested(vault, cores)
    ratio = (spent + rest.cpu) / undisturbed.cpu
    how = f"{spent:.0f} s before the kill and {rest.cpu:.0f} s after it, {undisturbed.cpu:.0f} s undisturbed"
    tell(Figure("CPU when killed half-way", ratio, "×", how, at_most=1.2))
    wrong, count = errors(_said(vault), said)
    tell(Figure("words that differ then", wrong / max(1, count), "", f"{wrong} of {count}", at_most=0.01))


def measure_memory(sizes: Sizes, folder: Path, tell: Tell) -> None:
    """A minute, a quarter of an hour, an hour: the most memory that the largest child held."""
    if not _ready():
        return
    first = 0.0
    for name, seconds in (("a minute", MINUTE), ("a quarter of an hour", QUARTER), ("an hour", HOUR)):
        vault = folder / name
        vault.mkdir()
        long_recordings.write(vault / "joined.wav", seconds)
        ran = _digested(vault, (), LOOK)
        first = first or ran.largest_child
        how = f"resident, looked at every {LOOK} s; {ran.wall:.0f} s wall, {ran.cpu:.0f} s CPU"
        tell(Figure(f"largest child, {name}", ran.largest_child / MB, "MB", how))
        tell(Figure(f"against a minute's, {name}", ran.largest_child / first, "×", "", at_most=1.5))


def _ready() -> bool:
    if not long_recordings.clips():
        warn("the corpus of real speech is absent; skipped")
        return False
    if path_of(SPEECH) is None:
        warn("the weights for speech are missing; run 'chyme weights speech'")
        return False
    return True


def _digested(vault: Path, cores: Sequence[int], sample_seconds: float = 0.0) -> Ran:
    ran = digest(vault, "--no-wait", cores=cores, sample_seconds=sample_seconds)
    if ran.code:
        warn(ran.output.strip())
    return ran


def _said(vault: Path) -> str:
    return " ".join(segment.text for heard in transcripts(vault).values() for segment in heard.segments)


def _killed(vault: Path, mark: Path, cores: Sequence[int], enough: float) -> float:
    """Digest for so many CPU seconds and end it at once, children and all. Returns how many it were."""
    command = (*CHYME, "digest", "--vault", str(vault), "--no-wait")
    process = subprocess.Popen(
        (sys.executable, "-c", ON_CORES, ",".join(map(str, cores)), *command),
        cwd=ROOT,
        env=marked.environment(mark),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    spent = 0.0
    try:
        while spent < enough and process.poll() is None:
            time.sleep(0.05)
            used = [one for one in (used_by(process.pid), *family_of(process.pid)) if one is not None]
            spent = max(spent, sum(one.cpu + one.buried for one in used))
        if process.poll() is not None:
            warn("it had ended before it could be killed")
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        marked.kill(mark, process.pid)
        process.wait()
    left = marked.wait_until_gone(mark, 5)
    if left:
        raise SystemExit(f"child processes outlived chyme: {left}")
    return spent
