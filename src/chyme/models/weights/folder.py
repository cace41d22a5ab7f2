"""The folder of fetched weights: whether they are complete and unchanged."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from chyme.errors import EngineUnavailable
from chyme.models.weights.catalog import Member, Weights, default_folder

CHUNK = 1 << 20


def folder_of(weights: Weights, weights_dir: str | Path = "") -> Path:
    """Where these weights belong; an empty `weights_dir` means beside Python."""
    return (Path(weights_dir) if weights_dir else default_folder()) / weights.capability


def path_of(weights: Weights, weights_dir: str | Path = "") -> Path | None:
    """Where these weights are, or None. Checks only names and sizes."""
    folder = folder_of(weights, weights_dir)
    return folder if all(_has_size(folder / member.filename, member.size) for member in weights.members) else None


def is_intact(weights: Weights, weights_dir: str | Path = "") -> bool:
    """Whether every file is present and has the right hash."""
    try:
        verified_folder(weights, weights_dir)
    except EngineUnavailable:
        return False
    return True


def verified_folder(weights: Weights, weights_dir: str | Path = "") -> Path:
    """The folder, once every file in it has been checked by hash, or EngineUnavailable with the way to get them."""
    for member in weights.members:
        digest = hashlib.sha256()
        with _open_member(weights, weights_dir, member) as stream:
            while chunk := stream.read(CHUNK):
                digest.update(chunk)
        _require_hash(weights, member, digest.hexdigest())
    return folder_of(weights, weights_dir)


def read_files(weights: Weights, weights_dir: str | Path = "") -> dict[str, bytes]:
    """The files by name, checked by hash, or EngineUnavailable with the way to get them."""
    files: dict[str, bytes] = {}
    for member in weights.members:
        with _open_member(weights, weights_dir, member) as stream:
            data = stream.read()
        _require_hash(weights, member, hashlib.sha256(data).hexdigest())
        files[member.filename] = data
    return files


@contextlib.contextmanager
def _open_member(weights: Weights, weights_dir: str | Path, member: Member) -> Iterator[BinaryIO]:
    what = f"the weights for {weights.capability}"
    try:
        with (folder_of(weights, weights_dir) / member.filename).open("rb") as stream:
            yield stream
    except (FileNotFoundError, NotADirectoryError):
        raise EngineUnavailable(f"{what} are not there; {_remedy(weights)}") from None
    except OSError as error:
        raise EngineUnavailable(
            f"{what} cannot be read ({error.strerror}) by the user children run as; "
            "choose a weights_dir that everybody may read"
        ) from None


def _require_hash(weights: Weights, member: Member, sha256: str) -> None:
    if sha256 != member.sha256:
        raise EngineUnavailable(
            f"the weights for {weights.capability} are damaged ({member.filename} has another hash); {_remedy(weights)}"
        )


def _remedy(weights: Weights) -> str:
    return f"run 'chyme weights {weights.capability}'"


def _has_size(path: Path, size: int) -> bool:
    try:
        return os.stat(path).st_size == size
    except OSError:
        return False
