"""What a file that somebody sends is called in the vault."""

from __future__ import annotations

from chyme.errors import UsageError
from chyme.files.machine_names import without_extension
from chyme.vault.intake.link_names import safe_name

BYTES = 200  # of a name without its ending, in UTF-8: file systems allow 255, and there must be room for a number
DEEPEST = 32  # folders inside each other
_ESCAPED = {"%22": '"', "%0D": " ", "%0A": " "}  # as browsers send them


def decode_name(raw: bytes) -> str:
    """The name in the header of a part. What is no UTF-8 is left out later."""
    name = raw.decode("utf-8", "replace")
    for escaped, letter in _ESCAPED.items():
        name = name.replace(escaped, letter)
    return name


def split_path(field: str, name: str) -> list[str]:
    """The folders and the name that were sent: in the file's name, else (dropped folders) in that of its field."""
    given = name if "/" in name or "/" not in field else field
    parts = [part for part in given.split("/") if part not in ("", ".")]
    if given.startswith("/") or ".." in parts or not parts or given.endswith("/"):
        raise UsageError(f"{given[:100]!r}: is not the name of a file inside the vault")
    if len(parts) > DEEPEST:
        raise UsageError(f"{given[:100]!r} …: lies in too many folders")
    return parts


def safe_file_name(name: str) -> str:
    """The name as every system takes it, with its ending."""
    stem = without_extension(name)
    return (safe_name(stem, BYTES) or "unnamed") + name[len(stem) :]


def safe_folder_name(name: str) -> str:
    """The same for a folder."""
    return safe_name(name, BYTES) or "unnamed"


def note_name(title: str, text: str) -> str:
    """What a note is called: as its title says, else its first line that says something."""
    lines = (line.strip().lstrip("#>*-+ ").strip() for line in text.splitlines())
    return next((name for line in (title, *lines) if (name := safe_name(line[:200], 100))), "note")
