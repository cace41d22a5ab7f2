"""What the whole of chyme costs on top of the libraries it calls."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.commands import Ran, digest, run
from bench.figures import Figure, Sizes, Tell, remark
from bench.vaults import document_vault, forget

ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Looped:
    """A plain loop over the same files in one process."""

    wall: float
    cpu: float
    fine: list[str]  # the files it could read


def loop(files: Sequence[Path], cores: Sequence[int]) -> Looped:
    ran = run((sys.executable, "-m", "bench.plain_loop", *map(str, files)), cores=cores)
    if ran.code != 0:
        raise RuntimeError(f"the plain loop failed:\n{ran.output}")
    return Looped(ran.wall, ran.cpu, json.loads(ran.output.splitlines()[-1]))


def measure(sizes: Sizes, folder: Path, tell: Tell) -> None:
    """The same readable documents through chyme and through a loop, both held to the same core.

    On one core, because two processes side by side slow each other down, which would count as chyme's own CPU. Without
    LibreOffice, whose CPU time is lost with it when it is killed.
    """
    core = sorted(os.sched_getaffinity(0))[:1]
    vault, few = folder / "vault", folder / "few"
    files = document_vault(vault, sizes.documents)
    readable = set(loop(files, core).fine)
    fine = [path for path in files if str(path) in readable]
    for path in set(files) - set(fine):
        path.unlink()
    warm = _smallest(fine, few)
    remark(
        f"{len(fine)} documents, {sum(p.stat().st_size for p in fine) / 1e6:.0f} MB; {len(warm)} copied for start-up"
    )
    loops, wholes, loop_starts, whole_starts = [], [], [], []
    for _ in range(ROUNDS):
        loop_starts.append(loop(warm, core))
        whole_starts.append(_digested(few, core))
        loops.append(loop(fine, core))
        wholes.append(_digested(vault, core))
    plain, whole = min(ran.cpu for ran in loops), min(wholes, key=lambda ran: ran.cpu)
    plain_start, whole_start = min(ran.cpu for ran in loop_starts), min(ran.cpu for ran in whole_starts)
    how = f"{whole.parent:.1f} + {whole.children:.1f} s (parent, children) against {plain:.1f} s, best of {ROUNDS}"
    tell(Figure("CPU against a plain loop, start-up included", whole.cpu / plain, "×", how))
    ratio = (whole.cpu - whole_start) / (plain - plain_start)
    how = f"less {whole_start:.1f} s and {plain_start:.1f} s, which the smallest file of each type alone takes"
    tell(Figure("CPU against a plain loop", ratio, "×", how, at_most=1.10))
    more = 1000 * (whole.cpu - whole_start - plain + plain_start) / max(1, len(fine) - len(warm))
    tell(Figure("CPU more a document", more, "ms", f"the loop takes {1000 * plain / len(fine):.1f} ms a document"))
    wide = _digested(vault, ())
    shortest = min(ran.wall for ran in loops)
    how = f"all cores against one: {wide.wall:.1f} s and {shortest:.1f} s"
    tell(Figure("wall against a plain loop", wide.wall / shortest, "×", how))


def _smallest(files: Sequence[Path], target: Path) -> list[Path]:
    """The smallest file of each type, in a vault of their own: whoever reads them has loaded every engine."""
    chosen: dict[str, Path] = {}
    for path in sorted(files, key=lambda path: path.stat().st_size, reverse=True):
        chosen[path.suffix.lower()] = path
    target.mkdir()
    return [Path(shutil.copy(path, target)) for path in chosen.values()]


def _digested(vault: Path, cores: Sequence[int]) -> Ran:
    forget(vault)
    return digest(vault, "--no-wait", cores=cores, settings={"office": "off"})
