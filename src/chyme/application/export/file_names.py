"""What the exports of a file are called: safe anywhere, and never the same for two files."""

from __future__ import annotations

import hashlib
import re

TEXT, DATA, ARTIFACTS = ".md", ".json", ".artifacts"
LONGEST = 255 - len(ARTIFACTS)  # bytes of a name that still takes an ending

_LIKE_OURS = re.compile(r"(?:\.md|\.json|\.artifacts)_*\Z")
_UNSAFE = re.compile("[\x00-\x1f\x7f]")


def export_path(path: str) -> str:
    """The path of a file's exports, without their endings.

    A folder called like an export (`a.md/` beside the file `a`) gets an underscore, as one name cannot be both.
    """
    *folders, name = path.split("/")
    return "/".join([*map(_folder, folders), _fitting(_safe(name))])


def _folder(name: str) -> str:
    safe = _safe(name)
    return _fitting(safe + "_" if _LIKE_OURS.search(safe) else safe)


def _safe(name: str) -> str:
    """No control characters, and nothing that leads elsewhere; whatever was changed is told apart by its hash."""
    if name in ("", ".", "..") or _UNSAFE.search(name):
        return f"{_UNSAFE.sub('_', name).strip('.')}~{_hash(name)}"
    return name


def _fitting(name: str) -> str:
    data = name.encode("utf-8", "surrogateescape")
    if len(data) <= LONGEST:
        return name
    return f"{data[: LONGEST - 17].decode('utf-8', 'ignore')}~{_hash(name)}"


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:16]
