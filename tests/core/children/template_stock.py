"""What the template of these tests loads, and digesters that show it."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from pathlib import Path

from chyme.digester import Digester, Source
from chyme.model import File, Output

loaded: dict[str, object] = {"by": None, "families": []}


def preload(config: dict[str, object], families: Sequence[str]) -> None:
    if config.get("fails"):
        raise RuntimeError("no weights here")
    if config.get("starts a thread"):
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    if config.get("dies"):
        os.abort()
    loaded.update(by=os.getpid(), families=list(families))


class Show(Digester):
    """Shows what this process has inherited."""

    name = "show"
    label = "Show"
    description = "What this process has inherited."

    def can_digest(self, file: File) -> bool:
        return True

    def digest(self, source: Source) -> list[Output]:
        descriptors = {}
        for name in os.listdir("/proc/self/fd"):
            try:
                descriptors[int(name)] = os.readlink(f"/proc/self/fd/{name}")
            except FileNotFoundError:
                continue  # the descriptor of the list itself
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        parent = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("PPid:"))
        shown = {"pid": os.getpid(), "parent": parent, "descriptors": descriptors, **loaded}
        return [Output(self.name, json.dumps(shown))]


def digesters(_config: dict[str, object]) -> dict[str, Digester]:
    return {"show": Show()}
