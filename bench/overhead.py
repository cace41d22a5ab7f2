"""What the whole of chyme costs on top of the libraries it calls."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.commands import Ran, digest, run
from bench.figures import Figure, Sizes, Tell, remark
from bench.vaults import document_vault, forget


@dataclass(frozen=True, slots=True)
class Looped:
    """A plain loop over the same files in one process."""

    wall: float
    cpu: float
    fine: list[str]  # the files it could read


def loop(files: list[Path]) -> Looped:
    ran = run((sys.executable, "-m", "bench.plain_loop", *map(str, files)))
    if ran.code != 0:
        raise RuntimeError(f"the plain loop failed:\n{ran.output}")
    return Looped(ran.wall, ran.cpu, json.loads(ran.output.splitlines()[-1]))


def measure(sizes: Sizes, folder: Path, tell: Tell) -> None:
    """The same readable documents through chyme and through a loop; unreadable ones are left out of both."""
    vault, few = folder / "vault", folder / "few"
    files = document_vault(vault, sizes.documents)
    readable = set(loop(files).fine)
    fine = [path for path in files if str(path) in readable]
    for path in set(files) - set(fine):
        path.unlink()
    smallest: dict[str, Path] = {}
    for path in sorted(fine, key=lambda path: path.stat().st_size, reverse=True):
        smallest[path.suffix.lower()] = path
    few.mkdir()
    warm = [Path(shutil.copy(path, few)) for path in smallest.values()]
    remark(
        f"{len(fine)} documents, {sum(p.stat().st_size for p in fine) / 1e6:.0f} MB; {len(warm)} of them for start-up"
    )
    plain_start, plain = loop(warm), loop(fine)
    whole_start, whole = digest(few, "--no-wait"), _digested(vault)
    plain_again, whole_again = loop(fine), _digested(vault)
    plain_cpu, best = min(plain.cpu, plain_again.cpu), min(whole, whole_again, key=lambda ran: ran.cpu)
    whole_cpu = best.cpu
    tell(
        Figure(
            "CPU against a plain loop, start-up included",
            whole_cpu / plain_cpu,
            "×",
            f"{best.parent:.1f} + {best.children:.1f} s (parent, children) against {plain_cpu:.1f} s, better of two",
        )
    )
    tell(
        Figure(
            "CPU against a plain loop",
            (whole_cpu - whole_start.cpu) / (plain_cpu - plain_start.cpu),
            "×",
            f"less {whole_start.cpu:.1f} s and {plain_start.cpu:.1f} s for one small file of each type",
            at_most=1.10,
        )
    )
    tell(
        Figure(
            "wall against a plain loop",
            min(whole.wall, whole_again.wall) / min(plain.wall, plain_again.wall),
            "×",
            "all cores against one",
        )
    )
    extra = 1000 * (whole_cpu - whole_start.cpu - plain_cpu + plain_start.cpu) / max(1, len(fine) - len(warm))
    tell(Figure("CPU more a document", extra, "ms", "the same difference, for each document"))
    tell(
        Figure(
            "CPU a document in the plain loop", 1000 * plain_cpu / len(fine), "ms", "what the overhead is held against"
        )
    )


def _digested(vault: Path) -> Ran:
    forget(vault)
    return digest(vault, "--no-wait")
