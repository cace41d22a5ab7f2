"""How much faster two cores are than one."""

from __future__ import annotations

import os
from pathlib import Path

from bench.commands import Ran, digest
from bench.figures import Figure, Sizes, Tell, warn
from bench.notes import Notes
from bench.vaults import document_vault, forget


def measure(sizes: Sizes, folder: Path, tell: Tell) -> None:
    """`chyme digest` on documents and notes, held to one core and to two."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        warn("this machine has one core; skipped")
        return
    vault = folder / "vault"
    count = len(document_vault(vault, sizes.documents))
    Notes().write(vault / "notes", count)
    if os.getloadavg()[0] > 1:
        warn(f"the machine is busy (load {os.getloadavg()[0]:.1f}): a second core is not there to be had")
    runs: dict[int, list[Ran]] = {1: [], 2: []}
    for number in (1, 2, 2, 1):  # mirrored, so that a machine that slows down treats both alike
        forget(vault)
        runs[number].append(digest(vault, "--no-wait", cores=cores[:number]))
    one, two = (min(ran.wall for ran in runs[number]) for number in (1, 2))
    tell(
        Figure(
            "two cores against one",
            one / two,
            "×",
            f"wall {one:.1f} s and {two:.1f} s, better of two runs each; {count} documents and as many notes",
            at_least=1.8,
        )
    )
    busiest = max(runs[2], key=lambda ran: ran.cpu / ran.wall)
    parent = busiest.parent / busiest.cpu
    tell(
        Figure(
            "cores kept busy, of two", busiest.cpu / busiest.wall, "", f"CPU / wall; {parent:.0%} of it the parent's"
        )
    )
