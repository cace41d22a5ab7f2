"""Sentences spoken by espeak-ng. They were written down once and kept, whatever the recogniser makes of them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

SENTENCES = (
    (
        "en-us",
        "The town library will be closed from Monday until the end of the month because the roof has to be repaired. "
        "Books that are due in this time can be returned at the post office without any fee.",
    ),
    (
        "en-gb-scotland",
        "My neighbour keeps seven goats behind her cottage. In spring they escape through the hedge and eat the tulips "
        "in the churchyard, which makes the vicar rather angry.",
    ),
    (
        "de",
        "Wegen der Bauarbeiten fährt die Straßenbahn heute nicht bis zum Bahnhof. Fahrgäste steigen am Rathaus in den "
        "Bus um, der alle zehn Minuten verkehrt.",
    ),
    (
        "de+f3",
        "Im Herbst sammeln wir Pilze im Wald hinter der Mühle. Meine Großmutter kennt jede Sorte und kocht daraus eine "
        "kräftige Suppe mit Petersilie.",
    ),
)


def write(folder: Path) -> list[tuple[Path, str]]:
    """One recording for each text; none where espeak-ng is not installed."""
    if shutil.which("espeak-ng") is None:
        return []
    made = []
    for number, (voice, text) in enumerate(SENTENCES):
        path = folder / f"robot-{number}-{voice}.wav"
        subprocess.run(["espeak-ng", "-v", voice, "-s", "150", "-w", str(path), text], check=True)
        made.append((path, text))
    return made
