"""Reading the tensors out of a safetensors file: their names, kinds and places as JSON, and then the numbers.

The file is mapped, not read: numbers nobody looks at take no memory.
"""

from __future__ import annotations

import json
import mmap
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]

MOST_NAMES = 1 << 24  # bytes of JSON; real files have some kilobytes
_LENGTH = 8  # bytes that say how long the JSON is


def read_tensors(path: Path) -> dict[str, Floats]:
    """The tensors of real numbers by name, read-only; ValueError when the file is anything else."""
    import numpy

    with path.open("rb") as stream:
        data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    size = int.from_bytes(data[:_LENGTH], "little")
    begin = _LENGTH + size
    if size > MOST_NAMES or begin > len(data):
        raise ValueError("it has no table of tensors")
    found: dict[str, Floats] = {}
    try:
        for name, told in json.loads(data[_LENGTH:begin]).items():
            if name == "__metadata__" or told["dtype"] != "F32":
                continue
            start, end = told["data_offsets"]
            if not 0 <= start <= end <= len(data) - begin:
                raise ValueError(f"tensor {name} lies outside the file")
            found[name] = numpy.frombuffer(data, "<f4", (end - start) // 4, begin + start).reshape(told["shape"])
    except (AttributeError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"its table of tensors cannot be read ({error})") from error
    return found
