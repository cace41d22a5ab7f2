"""The folder where fetched weights stand: is it all there, and is it still what was fetched?"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from chyme.engines.weights.known import Weights, default_folder
from chyme.errors import EngineUnavailable


def folder_of(weights: Weights, weights_dir: str | Path = "") -> Path:
    """Where these weights belong; an empty `weights_dir` means beside Python."""
    return (Path(weights_dir) if weights_dir else default_folder()) / weights.capability


def path_of(weights: Weights, weights_dir: str | Path = "") -> Path | None:
    """Where these weights are, or None. Looks at names and sizes only."""
    folder = folder_of(weights, weights_dir)
    return folder if all(_sized(folder / member.filename, member.size) for member in weights.members) else None


def intact(weights: Weights, weights_dir: str | Path = "") -> bool:
    """Whether every file is there and has its hash."""
    try:
        read(weights, weights_dir)
    except EngineUnavailable:
        return False
    return True


def read(weights: Weights, weights_dir: str | Path = "") -> dict[str, bytes]:
    """The files by name, checked by hash, or EngineUnavailable with the way to get them."""
    folder = folder_of(weights, weights_dir)
    what, way_out = f"the weights for {weights.capability}", f"run 'chyme weights {weights.capability}'"
    found: dict[str, bytes] = {}
    for member in weights.members:
        try:
            data = (folder / member.filename).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise EngineUnavailable(f"{what} are not there; {way_out}") from None
        except OSError as error:
            raise EngineUnavailable(
                f"{what} cannot be read ({error.strerror}) by the user children run as; "
                "choose a weights_dir that everybody may read"
            ) from None
        if hashlib.sha256(data).hexdigest() != member.sha256:
            raise EngineUnavailable(f"{what} are damaged ({member.filename} has another hash); {way_out}")
        found[member.filename] = data
    return found


def _sized(path: Path, size: int) -> bool:
    try:
        return os.stat(path).st_size == size
    except OSError:
        return False
