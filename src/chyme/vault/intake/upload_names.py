"""Names of uploaded files and notes in the vault."""

from __future__ import annotations

from chyme.errors import UsageError
from chyme.files.machine_names import without_extension
from chyme.vault.intake.link_names import safe_name

MAX_BYTES = 200  # of a name without extension, in UTF-8: file systems allow 255, and a number may be added
MAX_DEPTH = 32  # folders inside each other
_ESCAPED = {"%22": '"', "%0D": " ", "%0A": " "}  # as browsers send them


def decode_name(raw: bytes) -> str:
    """Return the name in the header of a part. Bytes that are not UTF-8 are removed later."""
    name = raw.decode("utf-8", "replace")
    for escaped, letter in _ESCAPED.items():
        name = name.replace(escaped, letter)
    return name


def split_path(field: str, name: str) -> list[str]:
    """Return the folders and name that were sent: in the file name, or (for dropped folders) in the field name."""
    sent = name if "/" in name or "/" not in field else field
    parts = [part for part in sent.split("/") if part not in ("", ".")]
    if sent.startswith("/") or ".." in parts or not parts or sent.endswith("/"):
        raise UsageError(f"{sent[:100]!r}: is not the name of a file inside the vault")
    if len(parts) > MAX_DEPTH:
        raise UsageError(f"{sent[:100]!r} …: lies in too many folders")
    return parts


def safe_file_name(name: str) -> str:
    """Return the name, with its extension, in a form that is safe on every system."""
    stem = without_extension(name)
    return (safe_name(stem, MAX_BYTES) or "unnamed") + name[len(stem) :]


def safe_folder_name(name: str) -> str:
    """The same for a folder."""
    return safe_name(name, MAX_BYTES) or "unnamed"


def note_name(title: str, text: str) -> str:
    """Return the name of a note: its title, or its first line that makes a name."""
    lines = (line.strip().lstrip("#>*-+ ").strip() for line in text.splitlines())
    return next((name for line in (title, *lines) if (name := safe_name(line[:200], 100))), "note")
