"""Adds a note to the vault: a text file, which never replaces another file."""

from __future__ import annotations

from chyme.core.files.vault_folder import encode_path
from chyme.errors import UsageError, VaultError
from chyme.vault.file_names import note_name, numbered_name
from chyme.vault.intake.new_files import folder_parts, is_taken, open_folder, write_new
from chyme.vault.open_vault import OpenVault

EXTENSION = ".md"
MAX_NUMBER = 10_000


def add_note(vault: OpenVault, text: str, title: str = "", folder: str = "") -> str:
    """Write the note and return its path. A title that the text does not begin with is put above it."""
    if not text.strip() and not title.strip():
        raise UsageError("the note is empty; write something")
    heading = " ".join(title.split())
    body = text if not heading or _begins_with(text, heading) else f"# {heading}\n\n{text}".rstrip() + "\n"
    wanted = note_name(title, text) + EXTENSION
    parts = folder_parts(vault, folder)
    try:
        with open_folder(vault, parts) as handle:
            for number in range(1, MAX_NUMBER):
                name = numbered_name(wanted, number, EXTENSION)
                raw = "/".join([*parts, name])
                if vault.scanner.ignores(raw):
                    raise UsageError(f"{raw}: chyme ignores such files (.chymeignore); choose another title or folder")
                if not is_taken(handle, name) and write_new(handle, name, body.encode("utf-8", "replace")):
                    vault.schedule_check([raw])
                    return encode_path(raw)[0]
    except OSError as error:
        where = "/".join(parts) or vault.folder.root.name
        raise VaultError(f"{where}: no note can be written there ({error.strerror})") from error
    raise UsageError(f"{wanted}: too many notes are called so; choose another title")


def _begins_with(text: str, heading: str) -> bool:
    first_line = next((line for line in text.splitlines() if line.strip()), "")
    return " ".join(first_line.lstrip("# ").split()) == heading
