"""Adds links to a vault: one small file each, which never replaces another file."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from sqlite3 import Connection

from chyme.core.files.vault_folder import decode_path, encode_path
from chyme.core.store import files
from chyme.errors import UsageError, VaultError
from chyme.files.extensions import LINKS
from chyme.files.link_files import LINK_BYTES, link_in, make_shortcut
from chyme.model import File, Kind
from chyme.vault.file_names import EXTENSION, link_name, numbered_name, safe_name
from chyme.vault.intake.new_files import folder_parts, is_taken, open_folder, write_new
from chyme.vault.intake.url_normalisation import address_of
from chyme.vault.open_vault import OpenVault

MAX_REMEMBERED = 1000  # recently written links


@dataclass(frozen=True, slots=True)
class LinkResult:
    """A link that is in the vault. `created` is False if it was there before."""

    url: str
    path: str
    created: bool


def add_links(vault: OpenVault, typed: Sequence[str], name: str | None = None, folder: str = "") -> list[LinkResult]:
    """Write a file for each address into a folder of the vault, which is created if it is missing.

    Nothing is written unless all addresses are valid. `folder` is relative to the vault. The watcher registers the
    files.
    """
    addresses = list(dict.fromkeys(map(address_of, typed)))
    if not addresses:
        raise UsageError("give at least one address")
    if name is not None and len(addresses) > 1:
        raise UsageError("one name is for one link; add the others without a name")
    stem = None if name is None else safe_name(name.strip().removesuffix(".url"))
    if stem == "":
        raise UsageError("nothing of this name can stand in a file name; choose another")
    parts = folder_parts(vault, folder)
    try:
        with open_folder(vault, parts) as handle:
            link_folder = _LinkFolder(vault, parts, handle)
            return [link_folder.add(address, stem or link_name(address)) for address in addresses]
    except OSError as error:
        where = "/".join(parts) or vault.folder.root
        raise VaultError(f"{where}: no link can be written there ({error.strerror})") from error


def find_link_files(vault: OpenVault, addresses: Sequence[str]) -> dict[str, str]:
    """Map addresses to their link file: one written by chyme, or one whose page was fetched from there."""
    db = vault.database.read()
    found = _fetched_from(db, addresses)
    found.update((address, path) for address in addresses if (path := _just_written(vault, address)) is not None)
    for address in addresses:
        written = files.same_content(db, hashlib.sha256(make_shortcut(address)).hexdigest())
        found.update((address, file.path) for file in written if file.vanished_at is None)
    return found


def _fetched_from(db: Connection, addresses: Collection[str]) -> dict[str, str]:
    """Map each address to the path of an existing file whose page was fetched from there."""
    rows = db.execute(
        """
        SELECT json_extract(content, '$.url'), file_path FROM digests INDEXED BY digests_by_status
         WHERE status = 'completed' AND digester = 'url-metadata' AND held = 0 AND json_valid(content)
           AND json_extract(content, '$.url') IN (SELECT value FROM json_each(?))
         ORDER BY file_id DESC
        """,
        (json.dumps(list(addresses)),),
    )
    return dict(rows.fetchall())


def _remember(vault: OpenVault, address: str, path: str) -> None:
    """Remember a link file that was just written: it is registered only when it has not changed for a moment."""
    while len(vault.written_links) >= MAX_REMEMBERED:
        vault.written_links.pop(next(iter(vault.written_links)), None)
    vault.written_links[address] = path


def _just_written(vault: OpenVault, address: str) -> str | None:
    """Return the path of a link file that was just written, if it still exists and contains the address."""
    path = vault.written_links.get(address)
    if path is None:
        return None
    try:
        return path if (vault.folder.root / decode_path(path)).read_bytes() == make_shortcut(address) else None
    except OSError:
        return None


class _LinkFolder:
    """One folder of the vault, kept open so that it cannot be replaced by another."""

    def __init__(self, vault: OpenVault, parts: Sequence[str], handle: int) -> None:
        self._vault = vault
        self._prefix = "".join(f"{part}/" for part in parts)
        self._handle = handle
        self._addresses: dict[str, str] | None = None  # address → path of the links here; read on demand

    def add(self, address: str, stem: str) -> LinkResult:
        existing = self._find_existing(address)
        if existing is not None:
            return LinkResult(address, existing, created=False)
        for number in count(1):
            name = numbered_name(stem + EXTENSION, number, EXTENSION)
            path = self._prefix + name
            if self._vault.scanner.ignores(path):
                raise UsageError(f"{path}: chyme ignores such files (.chymeignore); choose another name or folder")
            # Checked first, because writing waits for the disk; many addresses differ only after their path.
            created = not is_taken(self._handle, name) and write_new(self._handle, name, make_shortcut(address))
            if created:
                _remember(self._vault, address, encode_path(path)[0])
            if created or self._read_address(name) == address:
                return LinkResult(address, encode_path(path)[0], created)
        raise AssertionError("there is always another number")

    def _find_existing(self, address: str) -> str | None:
        """Return the path of a link to the same address: in this folder, or written by chyme anywhere in the vault."""
        content = make_shortcut(address)
        for file in files.same_content(self._vault.database.read(), hashlib.sha256(content).hexdigest()):
            if file.vanished_at is None and self._has_content(file, content):
                return file.path
        if self._addresses is None:
            self._addresses = {
                address_here: encode_path(self._prefix + name)[0]
                for name in self._list_link_names()
                if (address_here := self._read_address(name))
            }
        return self._addresses.get(address)

    def _has_content(self, file: File, content: bytes) -> bool:
        """Whether the file on disk still has this content."""
        try:
            with open(self._vault.folder.open(file), "rb") as stream:
                return stream.read(LINK_BYTES) == content
        except OSError:
            return False

    def _list_link_names(self) -> Iterator[str]:
        """Yield the names of link files here: registered as such, or not registered yet but with such an extension."""
        known = files.in_folder(self._vault.database.read(), encode_path(self._prefix.rstrip("/"))[0])
        for name in os.listdir(self._handle):
            file = known.get(encode_path(self._prefix + name)[0])
            if file.kind is Kind.URL if file else name.rpartition(".")[2].lower() in LINKS:
                yield name

    def _read_address(self, name: str) -> str | None:
        """Return the normalised address in a file here; None if it is not a link."""
        try:
            handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._handle)
        except OSError:
            return None
        with open(handle, "rb") as stream:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return None
            address = link_in(name, stream.read(LINK_BYTES + 1))
        try:
            return address_of(address) if address else None
        except UsageError:
            return None
