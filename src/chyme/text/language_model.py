"""The model of py3langid: unpacked once, by `chyme weights`, and mapped into memory by every process.

Unpacking takes a third of a second and 67 MB of memory for each process; mapped, processes share it and read what
they need. Without the unpacked copy each process unpacks the model for itself.
"""

from __future__ import annotations

import io
import math
import os
import shutil
import struct
import sys
import tempfile
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chyme.core.files.shared_folder import ENTERABLE, READABLE, make_shared_folder, remove_stale

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier  # type: ignore[import-untyped]

PACKAGE = "py3langid"
_HEADER_BYTES, _LENGTHS_AT = 30, 26  # of a member of a zip archive: its header, and where the name's length is
_TEMPORARY_PREFIX = ".unpacking-"


def load_identifier(folder: Path | None = None) -> LanguageIdentifier:
    """The model of the unpacked copy if there is one, else of the package."""
    from py3langid.langid import LanguageIdentifier

    try:
        arrays = _map_arrays(folder or unpacked_folder())
    except (OSError, ValueError):
        arrays = _unpack_arrays()
    return LanguageIdentifier(
        *(arrays["ptc"], arrays["pc"], arrays["classes"].tolist(), memoryview(arrays["nextmove"])),
        arrays["out_feat"].tolist(),
        norm_probs=True,
        tk_row=arrays["nextmove_row"].tolist(),
    )


def unpacked_folder() -> Path:
    """Where the copy belongs: beside Python, as the weights of other models, and apart for each version."""
    return Path(sys.prefix) / "share" / "chyme" / "languages" / f"{PACKAGE}-{version(PACKAGE)}"


def unpack(folder: Path | None = None) -> bool:
    """Unpack the model of the package for all processes; False if that was done before. May raise OSError."""
    import numpy as np

    folder = folder or unpacked_folder()
    with suppress(OSError, ValueError):
        _map_arrays(folder)
        return False
    make_shared_folder(folder.parent)
    temporary = Path(tempfile.mkdtemp(prefix=_TEMPORARY_PREFIX, dir=folder.parent))
    try:
        for name, values in _unpack_arrays().items():
            path = temporary / f"{name}.npy"
            np.save(path, values, allow_pickle=False)
            path.chmod(READABLE)
            with path.open("rb") as written:
                os.fsync(written.fileno())
        temporary.chmod(ENTERABLE)
        _remove_former(folder)
        with suppress(OSError):  # another process was faster
            temporary.rename(folder)
        _map_arrays(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return True


def _remove_former(folder: Path) -> None:
    """Remove a damaged copy, those of other versions, and what interrupted runs left."""
    remove_stale(folder.parent, _TEMPORARY_PREFIX)
    for former in folder.parent.iterdir():
        if not former.name.startswith(_TEMPORARY_PREFIX):
            shutil.rmtree(former, ignore_errors=True)


def _map_arrays(folder: Path) -> dict[str, Any]:
    """The arrays of the unpacked copy; OSError or ValueError if it is not there or not complete."""
    import numpy as np

    return {
        name: np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False))
        for name in ("ptc", "pc", "classes", "nextmove", "nextmove_row", "out_feat")
    }


def _unpack_arrays() -> dict[str, Any]:
    """The arrays of the package's model, where they are in its unpacked archive.

    py3langid itself would write 67 MB to disk, again for each process; `numpy.load` copies each array and computes
    its checksum, which the compressed file has already.
    """
    import lzma
    import zipfile

    import numpy as np
    from py3langid.langid import MODEL_DIR, MODEL_FILE

    archive = lzma.decompress((MODEL_DIR / MODEL_FILE).read_bytes())
    arrays: dict[str, Any] = {}
    stream = io.BytesIO(archive)
    with zipfile.ZipFile(stream) as members:
        for member in members.infolist():
            if member.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"{member.filename} is compressed")
            with members.open(member):  # checks that its header is where the directory says
                name_and_extra = struct.unpack_from("<HH", archive, member.header_offset + _LENGTHS_AT)
            stream.seek(member.header_offset + _HEADER_BYTES + sum(name_and_extra))
            np.lib.format.read_magic(stream)
            shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
            values = np.frombuffer(archive, dtype, math.prod(shape), stream.tell())
            arrays[member.filename.removesuffix(".npy")] = values.reshape(shape)
    return arrays
