"""Find LibreOffice on this machine, without starting it."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

COMMANDS = ("soffice", "libreoffice", "loffice")
FOLDERS = ("/usr/lib/libreoffice/program", "/usr/lib64/libreoffice/program", "/usr/local/lib/libreoffice/program")
ROOTS = ("/opt", "/usr/local")  # where the project's own packages are installed: /opt/libreoffice24.8/program
VERSION_FILE = "versionrc"  # beside the program
BINARY = "soffice.bin"  # started directly, because the wrapper scripts would be extra processes


def office_program(office: str) -> Path | None:
    """The program behind `soffice`, or None; `office` is "auto", "off" or the path of a soffice."""
    if office == "off":
        return None
    if office != "auto":
        return _binary(Path(office))
    return next(filter(None, map(_binary, _candidates())), None)


def office_marker(office: str) -> str:
    """A string that changes when LibreOffice is installed, replaced or removed."""
    program = office_program(office)
    if program is None:
        return "no LibreOffice"
    try:
        status = program.stat()
    except OSError:
        return "no LibreOffice"
    return f"LibreOffice {program} {status.st_size} {status.st_mtime_ns}"


def office_version(office: str) -> str:
    """The version of LibreOffice in words that mean the same on every machine; empty if it is unknown."""
    program = office_program(office)
    if program is None:
        return "no LibreOffice"
    try:
        version = (program.parent / VERSION_FILE).read_bytes()
    except OSError:
        return ""
    return f"LibreOffice {hashlib.sha256(version).hexdigest()[:16]}"


def office_build(program: Path) -> str:
    """The identifier of the build, as LibreOffice notes it in its profile; empty if it is unknown."""
    try:
        lines = (program.parent / VERSION_FILE).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.removeprefix("buildid=") for line in lines if line.startswith("buildid=")), "")


def _candidates() -> Iterator[Path]:
    for command in COMMANDS:
        if found := shutil.which(command):
            yield Path(found)
    for folder in FOLDERS:
        yield Path(folder, BINARY)
    for root in ROOTS:
        yield from sorted(Path(root).glob(f"libreoffice*/program/{BINARY}"), reverse=True)


def _binary(command: Path) -> Path | None:
    """The program for a command: beside the script to which its links lead."""
    try:
        program = command.resolve(strict=True).parent / BINARY
    except (OSError, RuntimeError):
        return None
    return program if program.is_file() and os.access(program, os.X_OK) else None
