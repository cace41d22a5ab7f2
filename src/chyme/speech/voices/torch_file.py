"""Reading the tensors out of a file that torch saved, without torch and without running anything the file names.

Such a file is a zip archive: one pickle with the names and shapes of the tensors, and beside it the numbers of each.
"""

from __future__ import annotations

import io
import math
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

_INDEX = "data.pkl"
_BROKEN = (
    *(AttributeError, EOFError, ImportError, IndexError, KeyError, MemoryError, NotImplementedError, OverflowError),
    *(RuntimeError, TypeError, ValueError, pickle.UnpicklingError, zipfile.BadZipFile),
)


class _Storage(NamedTuple):
    kind: str  # of its numbers, as numpy names them
    key: str  # where they are in the archive


class _Tensor(NamedTuple):
    """The arguments torch would build a tensor from."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    needs_gradient: bool
    hooks: object


_HARMLESS: Mapping[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor_v2"): _Tensor,
    ("torch", "FloatStorage"): "<f4",
    ("torch", "LongStorage"): "<i8",
}


class _Unpickler(pickle.Unpickler):
    """Knows four names, of which none does anything."""

    def find_class(self, module: str, name: str) -> Any:
        try:
            return _HARMLESS[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"names {module}.{name}, which weights have no use for") from None

    def persistent_load(self, pid: Any) -> _Storage:
        what, kind, key, *_ = pid
        if what != "storage" or not isinstance(kind, str) or not isinstance(key, str):
            raise pickle.UnpicklingError("holds something else than numbers")
        return _Storage(kind, key)


def read_tensors(data: bytes) -> dict[str, NDArray[numpy.float32]]:
    """The tensors by name; ValueError when the file is anything else."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            index = next(name for name in archive.namelist() if name.endswith("/" + _INDEX))
            saved = _Unpickler(io.BytesIO(archive.read(index))).load()
            folder = index.removesuffix(_INDEX)
            return {name: _array(archive, folder, tensor) for name, tensor in saved.items()}
    except (StopIteration, *_BROKEN) as error:
        raise ValueError(str(error) or type(error).__name__) from error


def _array(archive: zipfile.ZipFile, folder: str, tensor: _Tensor) -> NDArray[numpy.float32]:
    import numpy

    rows = tuple(math.prod(tensor.shape[axis + 1 :]) for axis in range(len(tensor.shape)))
    if tensor.strides != rows:
        raise ValueError("a tensor is not stored row by row")
    storage = numpy.frombuffer(archive.read(f"{folder}data/{tensor.storage.key}"), tensor.storage.kind)
    part = storage[tensor.offset : tensor.offset + math.prod(tensor.shape)]
    return numpy.asarray(part.reshape(tensor.shape), numpy.float32)
