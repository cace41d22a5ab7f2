"""What one small text file costs when no engine has anything to do."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.commands import digest, run
from bench.figures import Figure, Sizes, Tell
from bench.notes import Notes
from bench.vaults import forget

SCAN_ONLY = """
import sys, time
from pathlib import Path
from chyme.application.app import open_app
with open_app(Path(sys.argv[1]), create=True) as app:
    before = time.process_time()
    app.scan()
    print(time.process_time() - before)
"""


def measure(sizes: Sizes, folder: Path, tell: Tell) -> None:
    """`chyme digest` on notes: CPU of the parent, its children and the scan."""
    vault = folder / "vault"
    Notes().write(vault, sizes.notes)
    empty = folder / "empty"
    empty.mkdir()
    idle = digest(empty)
    ran = digest(vault)
    ran.must_succeed()
    forget(vault)
    scan = float(run((sys.executable, "-c", SCAN_ONLY, str(vault))).output)
    per = 1000 / sizes.notes
    tell(Figure("CPU a note", ran.cpu * per, "ms", f"chyme digest, {sizes.notes} notes, all processes", at_most=3.0))
    tell(Figure("… of it in the parent", ran.parent * per, "ms", "scan and start-up included"))
    tell(Figure("… of it in the children", ran.children * per, "ms", "their start-up included"))
    tell(Figure("… of it the scan", scan * per, "ms", "scan alone into an empty database, writes included"))
    tell(Figure("start-up of the command", idle.cpu, "s", "CPU of chyme digest on an empty folder"))
    tell(Figure("notes a second", sizes.notes / ran.wall, "/s", "wall clock"))
