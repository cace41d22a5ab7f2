"""Find Chromium on this machine, without starting it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

COMMANDS = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    *("brave-browser", "brave", "microsoft-edge", "microsoft-edge-stable", "vivaldi"),
)
BINARIES = ("chromium", "chrome", "chromium-browser", "brave", "msedge", "vivaldi-bin")  # beside the commands' scripts
PROGRAMS = (  # where they lie when no command leads there
    *("/usr/lib/chromium/chromium", "/usr/lib64/chromium/chromium", "/usr/lib/chromium-browser/chromium-browser"),
    *("/usr/lib64/chromium-browser/chromium-browser", "/opt/google/chrome/chrome", "/opt/chromium.org/chromium/chrome"),
    *("/opt/brave.com/brave/brave", "/opt/microsoft/msedge/msedge", "/opt/vivaldi/vivaldi-bin"),
)
INSTALL_HINT = "install it (Debian: apt-get install chromium)"
ELF = b"\x7fELF"
SNAP = "snap"  # what snaps' commands lead to; it needs privileges that we have given up


def browser_program(setting: str) -> Path | None:
    """The program itself, not a script around it, or None; `setting` is "auto", "off" or the path of a Chromium."""
    if setting == "off":
        return None
    if setting != "auto":
        given = Path(setting)
        return _binary(given) or (given if _runs(given) else None)
    return next(filter(None, map(_binary, _candidates())), None)


def browser_marker(setting: str) -> str:
    """What changes when Chromium is installed, replaced or removed."""
    program = browser_program(setting)
    if program is None:
        return "no Chromium"
    try:
        found = program.stat()
    except OSError:
        return "no Chromium"
    return f"Chromium {program} {found.st_size} {found.st_mtime_ns}"


def _candidates() -> Iterator[Path]:
    for command in COMMANDS:
        if found := shutil.which(command):
            yield Path(found)
    yield from map(Path, PROGRAMS)


def _binary(command: Path) -> Path | None:
    """The program that a command stands for: itself, or what lies beside the script, or in the folder of its name."""
    try:
        found = command.resolve(strict=True)
    except (OSError, RuntimeError):
        return None
    if found.name == SNAP:
        return None
    beside = [found.parent / name for name in BINARIES]
    named = [folder / found.name / found.name for folder in (Path("/usr/lib"), Path("/usr/lib64"))]
    return next((path for path in (found, *beside, *named) if _runs(path) and _is_program(path)), None)


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _is_program(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(ELF)) == ELF
    except OSError:
        return False
