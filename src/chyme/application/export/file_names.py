"""Names of exported files: safe everywhere, and never the same for two files."""

from __future__ import annotations

import hashlib
import re

TEXT, DATA, ARTIFACTS = ".md", ".json", ".artifacts"
MAX_BYTES = 255 - len(ARTIFACTS)  # of a name, so that an extension fits

_EXPORT_EXTENSION = re.compile(r"(?:\.md|\.json|\.artifacts)_*\Z")
_UNSAFE = re.compile("[\x00-\x1f\x7f]")


def export_path(path: str) -> str:
    """Return the path of a file's exports, without their extensions.

    A folder called like an export (`a.md/` beside the file `a`) gets an underscore, as one name cannot be both.
    """
    *folders, name = path.split("/")
    return "/".join([*map(_folder_name, folders), _shorten(_safe(name))])


def _folder_name(name: str) -> str:
    safe = _safe(name)
    return _shorten(safe + "_" if _EXPORT_EXTENSION.search(safe) else safe)


def _safe(name: str) -> str:
    """Remove control characters, and refuse `.` and `..`; a hash makes changed names unique."""
    if name in ("", ".", "..") or _UNSAFE.search(name):
        return f"{_UNSAFE.sub('_', name).strip('.')}~{_hash(name)}"
    return name


def _shorten(name: str) -> str:
    data = name.encode("utf-8", "surrogateescape")
    if len(data) <= MAX_BYTES:
        return name
    return f"{data[: MAX_BYTES - 17].decode('utf-8', 'ignore')}~{_hash(name)}"


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:16]
