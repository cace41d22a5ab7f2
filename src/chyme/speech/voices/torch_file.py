"""Read the tensors from a file saved by torch, without torch and without running any code that the file names.

Such a file is a zip archive: one pickle with the names and shapes of the tensors, and the numbers of each beside it.
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
_READ_ERRORS = (
    *(AttributeError, EOFError, ImportError, IndexError, KeyError, MemoryError, NotImplementedError, OverflowError),
    *(RuntimeError, TypeError, ValueError, pickle.UnpicklingError, zipfile.BadZipFile),
)


class _Storage(NamedTuple):
    kind: str  # numpy type of its numbers
    key: str  # their name in the archive


class _Tensor(NamedTuple):
    """The arguments from which torch would build a tensor."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    needs_gradient: bool
    hooks: object


_ALLOWED: Mapping[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor_v2"): _Tensor,
    ("torch", "FloatStorage"): "<f4",
    ("torch", "LongStorage"): "<i8",
}


class _Unpickler(pickle.Unpickler):
    """Allows four names, all of them harmless."""

    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"names {module}.{name}, which weights have no use for") from None

    def persistent_load(self, pid: Any) -> _Storage:
        tag, kind, key, *_ = pid
        if tag != "storage" or not isinstance(kind, str) or not isinstance(key, str):
            raise pickle.UnpicklingError("holds something else than numbers")
        return _Storage(kind, key)


def read_tensors(data: bytes) -> dict[str, NDArray[numpy.float32]]:
    """The tensors by name; ValueError for any other file."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            index = next(name for name in archive.namelist() if name.endswith("/" + _INDEX))
            saved = _Unpickler(io.BytesIO(archive.read(index))).load()
            folder = index.removesuffix(_INDEX)
            return {name: _read_array(archive, folder, tensor) for name, tensor in saved.items()}
    except (StopIteration, *_READ_ERRORS) as error:
        raise ValueError(str(error) or type(error).__name__) from error


def _read_array(archive: zipfile.ZipFile, folder: str, tensor: _Tensor) -> NDArray[numpy.float32]:
    import numpy

    row_major = tuple(math.prod(tensor.shape[axis + 1 :]) for axis in range(len(tensor.shape)))
    if tensor.strides != row_major:
        raise ValueError("a tensor is not stored row by row")
    storage = numpy.frombuffer(archive.read(f"{folder}data/{tensor.storage.key}"), tensor.storage.kind)
    part = storage[tensor.offset : tensor.offset + math.prod(tensor.shape)]
    return numpy.asarray(part.reshape(tensor.shape), numpy.float32)
