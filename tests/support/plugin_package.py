"""Write an installed package with third-party digesters, announced by entry points."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

HEAD = """
from __future__ import annotations

import os
import time

from chyme.digester import Digester, Source
from chyme.model import Artifact, File, Output
"""


def install(site: Path, module: str, source: str, points: Mapping[str, str]) -> None:
    """`points` maps an entry point's name to a class in the module."""
    (site / f"{module}.py").write_text(HEAD + dedent(source))
    info = site / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    lines = [f"{name} = {module}:{target}" for name, target in points.items()]
    (info / "entry_points.txt").write_text("[chyme.digesters]\n" + "\n".join(lines) + "\n")
