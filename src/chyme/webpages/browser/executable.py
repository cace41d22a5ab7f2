"""Finds Chromium on this machine without starting it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

COMMANDS = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    *("brave-browser", "brave", "microsoft-edge", "microsoft-edge-stable", "vivaldi"),
)
# Next to the wrapper scripts of the commands.
BINARIES = ("chromium", "chrome", "chromium-browser", "brave", "msedge", "vivaldi-bin")
PROGRAMS = (  # where they are installed if no command leads there
    *("/usr/lib/chromium/chromium", "/usr/lib64/chromium/chromium", "/usr/lib/chromium-browser/chromium-browser"),
    *("/usr/lib64/chromium-browser/chromium-browser", "/opt/google/chrome/chrome", "/opt/chromium.org/chromium/chrome"),
    *("/opt/brave.com/brave/brave", "/opt/microsoft/msedge/msedge", "/opt/vivaldi/vivaldi-bin"),
)
INSTALL_HINT = "install it (Debian: apt-get install chromium)"
ELF = b"\x7fELF"
SNAP = "snap"  # the target of snap commands; it needs privileges that we have given up


def browser_program(setting: str) -> Path | None:
    """Return the program itself, not a wrapper script, or None; `setting`: "auto", "off" or the path of a Chromium."""
    if setting == "off":
        return None
    if setting != "auto":
        given = Path(setting)
        return _find_binary(given) or (given if _is_executable(given) else None)
    return next(filter(None, map(_find_binary, _candidates())), None)


def browser_marker(setting: str) -> str:
    """Return a string that changes when Chromium is installed, replaced or removed."""
    program = browser_program(setting)
    if program is None:
        return "no Chromium"
    try:
        stat = program.stat()
    except OSError:
        return "no Chromium"
    return f"Chromium {program} {stat.st_size} {stat.st_mtime_ns}"


def _candidates() -> Iterator[Path]:
    for command in COMMANDS:
        if found := shutil.which(command):
            yield Path(found)
    yield from map(Path, PROGRAMS)


def _find_binary(command: Path) -> Path | None:
    """Return the binary behind a command: itself, or one next to the script, or in the folder of its name."""
    try:
        target = command.resolve(strict=True)
    except (OSError, RuntimeError):
        return None
    if target.name == SNAP:
        return None
    beside = [target.parent / name for name in BINARIES]
    named = [folder / target.name / target.name for folder in (Path("/usr/lib"), Path("/usr/lib64"))]
    return next((path for path in (target, *beside, *named) if _is_executable(path) and _is_elf(path)), None)


def _is_executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _is_elf(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(ELF)) == ELF
    except OSError:
        return False
