"""Find ONNX models for pictures in a folder, laid out as Hugging Face's exporters write them. Loads none of them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from chyme.core.package_versions import describe_versions
from chyme.errors import EngineUnavailable

VERSION = 1  # raise it when the same model would give another caption or vector
CONFIG, GENERATION, PREPROCESSING, TOKENIZER = (
    "config.json",
    "generation_config.json",
    "preprocessor_config.json",
    "tokenizer.json",
)
ENCODER, DECODER = "encoder_model", "decoder_model"
VISION, TEXT, JOINT = "vision_model", "text_model", "model"
_VARIANTS = ("", "_quantized", "_int8", "_uint8", "_fp16", "_q8")  # how exporters mark smaller copies; best first
_MAX_CONFIG = 1 << 20  # bytes of a configuration file
_MAX_HASHED = 64 << 20  # bytes of a configuration or tokenizer that are compared
_MAX_PARTS = 100  # files with the weights of one network
_MAX_FOLDERS = 50  # folders inside the given one that are looked into


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A model's networks by their role, and its configuration files."""

    folder: Path
    networks: dict[str, Path]

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    def read_config(self, filename: str) -> dict[str, Any]:
        """A configuration file; empty if it is not there, EngineUnavailable if it is not JSON."""
        path = self.folder / filename
        if path.exists() and not path.is_file():
            raise EngineUnavailable(f"{path} is not an ordinary file; export the model again")
        try:
            with path.open("rb") as stream:
                data = stream.read(_MAX_CONFIG + 1)
            value = json.loads(data) if len(data) <= _MAX_CONFIG else None
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise EngineUnavailable(f"{path} cannot be read ({error}); export the model again") from error
        if not isinstance(value, dict):
            raise EngineUnavailable(f"{path} is not a configuration; export the model again")
        return value


@dataclass(frozen=True, slots=True)
class PictureModelSettings:
    """Where the user's models are; `model_dir` is the setting picture_model_dir."""

    model_dir: str = ""

    @property
    def captioner(self) -> ModelFolder | None:
        """The model that describes pictures in words, if there is one."""
        return find_model(self.model_dir, (ENCODER, DECODER))

    @property
    def clip(self) -> ModelFolder | None:
        """The model that compares pictures with words, if there is one."""
        return find_model(self.model_dir, (VISION, TEXT)) or find_model(self.model_dir, (JOINT,))


def find_model(model_dir: str, roles: tuple[str, ...]) -> ModelFolder | None:
    """The first model with a network for each role: in the folder itself, or in one of the folders in it."""
    if not model_dir:
        return None
    for folder in _candidates(Path(model_dir)):
        networks = {role: path for role in roles if (path := _find_network(folder, role))}
        if len(networks) == len(roles) and _is_readable(folder / TOKENIZER):
            return ModelFolder(folder, networks)
    return None


def _is_readable(path: Path) -> bool:
    """Whether it is an ordinary file that may be read; a folder that may not be entered counts as without files."""
    try:
        return path.is_file() and os.access(path, os.R_OK, effective_ids=os.access in os.supports_effective_ids)
    except OSError:
        return False


def identity_of(model: ModelFolder) -> str:
    """What affects the model's answers, without reading its networks: they count as changed by size and time."""
    digest = hashlib.sha256()
    for filename in (CONFIG, GENERATION, PREPROCESSING, TOKENIZER):
        digest.update(_bytes_of(model.folder / filename))
    for role, path in _list_weights(model):
        size, mtime_ns = _stamp_of(path)
        digest.update(f"{role} {size} {mtime_ns}".encode())
    return _describe(model, digest.hexdigest())


@cache
def _hash_file(path: Path, size: int, mtime_ns: int) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return "-"


def _stamp_of(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:  # removed meanwhile
        return 0, 0
    return status.st_size, status.st_mtime_ns


def _list_weights(model: ModelFolder) -> list[tuple[str, Path]]:
    """The networks with their roles, and the files beside them that hold the weights of large ones."""
    found = []
    for role, path in sorted(model.networks.items()):
        found.append((role, path))
        try:
            beside = sorted(
                one for one in path.parent.iterdir() if one.name != path.name and one.name.startswith(path.name)
            )
        except OSError:
            continue
        found += [(f"{role} {one.name}", one) for one in beside[:_MAX_PARTS] if _is_readable(one)]
    return found


def vector_space_of(model: ModelFolder) -> str:
    """The name under which the model's vectors are stored: equal if and only if they can be compared."""
    digest = hashlib.sha256()
    for filename in (CONFIG, PREPROCESSING, TOKENIZER):
        digest.update(_bytes_of(model.folder / filename))
    for role, path in _list_weights(model):
        digest.update(f"{role} {_hash_file(path, *_stamp_of(path))}".encode())
    return f"{model.name} {digest.hexdigest()[:16]} {VERSION}"


def _describe(model: ModelFolder, digest: str) -> str:
    return f"{model.name} {digest[:16]}, version {VERSION}, {describe_versions('onnxruntime', 'tokenizers')}"


def _candidates(folder: Path) -> Iterator[Path]:
    yield folder
    try:
        inside = sorted(path for path in folder.iterdir() if not path.name.startswith(".") and path.is_dir())
    except OSError:
        return
    yield from inside[:_MAX_FOLDERS]


def _find_network(folder: Path, role: str) -> Path | None:
    """The network's file, in the folder or in `onnx/` inside it."""
    for place in (folder, folder / "onnx"):
        for variant in _VARIANTS:
            path = place / f"{role}{variant}.onnx"
            if _is_readable(path):
                return path
    return None


def _bytes_of(path: Path) -> bytes:
    """The beginning of an ordinary file; anything else, such as a pipe, is never opened."""
    if not _is_readable(path):
        return b"-"
    try:
        with path.open("rb") as stream:
            return stream.read(_MAX_HASHED)
    except OSError:
        return b"-"
