"""Put links into a vault: one small file each, never in place of another."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from chyme.core.files.vault_folder import decode_path, encode_path
from chyme.core.store import files
from chyme.errors import UsageError, VaultError
from chyme.files.link_files import LINK_BYTES, LINK_EXTENSIONS, link_in, make_shortcut
from chyme.model import File, Kind
from chyme.vault.intake.link_names import file_name, link_name, safe_name
from chyme.vault.intake.new_files import folder_parts, is_taken, open_folder, write_new
from chyme.vault.intake.url_normalisation import address_of
from chyme.vault.open_vault import OpenVault
from chyme.vault.tables import link_files as link_file_rows

REMEMBERED = 1000  # links written last


@dataclass(frozen=True, slots=True)
class LinkResult:
    """A link that is in the vault now. `created` is False when it was there before."""

    url: str
    path: str
    created: bool


def add_links(vault: OpenVault, typed: Sequence[str], name: str | None = None, folder: str = "") -> list[LinkResult]:
    """Write a file for each address into a folder of the vault, which is made where it is missing.

    Nothing is written unless all addresses will do. `folder` is relative to the vault. Whoever watches the vault takes
    the files in.
    """
    addresses = list(dict.fromkeys(map(address_of, typed)))
    if not addresses:
        raise UsageError("give at least one address")
    if name is not None and len(addresses) > 1:
        raise UsageError("one name is for one link; add the others without a name")
    stem = None if name is None else safe_name(name.strip().removesuffix(".url"))
    if stem == "":
        raise UsageError("nothing of this name can stand in a file name; choose another")
    inside = folder_parts(vault, folder)
    try:
        with open_folder(vault, inside) as handle:
            shelf = _Shelf(vault, inside, handle)
            return [shelf.add(address, stem or link_name(address)) for address in addresses]
    except OSError as error:
        where = "/".join(inside) or vault.folder.root
        raise VaultError(f"{where}: no link can be written there ({error.strerror})") from error


def find_link_files(vault: OpenVault, addresses: Sequence[str]) -> dict[str, str]:
    """address → path of the link file that keeps it: written by chyme, or with a page fetched from there."""
    db = vault.database.read()
    found = link_file_rows.fetched_from(db, addresses)
    found.update((one, path) for one in addresses if (path := _just_written(vault, one)) is not None)
    for address in addresses:
        written = files.same_content(db, hashlib.sha256(make_shortcut(address)).hexdigest())
        found.update((address, file.path) for file in written if file.vanished_at is None)
    return found


def _remember(vault: OpenVault, address: str, path: str) -> None:
    """Note a link file that was just written: it is taken in when it has been still for a moment."""
    while len(vault.written_links) >= REMEMBERED:
        vault.written_links.pop(next(iter(vault.written_links)), None)
    vault.written_links[address] = path


def _just_written(vault: OpenVault, address: str) -> str | None:
    """The path of a link file that was just written, if it is still there and holds the address."""
    path = vault.written_links.get(address)
    if path is None:
        return None
    try:
        return path if (vault.folder.root / decode_path(path)).read_bytes() == make_shortcut(address) else None
    except OSError:
        return None


class _Shelf:
    """One folder of the vault, held open so that nobody can put another in its place."""

    def __init__(self, vault: OpenVault, inside: Sequence[str], handle: int) -> None:
        self._vault = vault
        self._prefix = "".join(f"{part}/" for part in inside)
        self._handle = handle
        self._here: dict[str, str] | None = None  # address → path, read when somebody asks

    def add(self, address: str, stem: str) -> LinkResult:
        found = self._known(address)
        if found is not None:
            return LinkResult(address, found, created=False)
        for number in count(1):
            name = file_name(stem, number)
            path = self._prefix + name
            if self._vault.scanner.ignores(path):
                raise UsageError(f"{path}: chyme passes over such files (.chymeignore); choose another name or folder")
            # Asked before writing, which takes a disk's time; many addresses differ only behind their path.
            created = not is_taken(self._handle, name) and write_new(self._handle, name, make_shortcut(address))
            if created:
                _remember(self._vault, address, encode_path(path)[0])
            if created or self._link(name) == address:
                return LinkResult(address, encode_path(path)[0], created)
        raise AssertionError("there is always another number")

    def _known(self, address: str) -> str | None:
        """The path of a link to the same address: in this folder, or written by chyme anywhere in the vault."""
        content = make_shortcut(address)
        for file in files.same_content(self._vault.database.read(), hashlib.sha256(content).hexdigest()):
            if file.vanished_at is None and self._holds(file, content):
                return file.path
        if self._here is None:
            self._here = {
                found: encode_path(self._prefix + name)[0] for name in self._links() if (found := self._link(name))
            }
        return self._here.get(address)

    def _holds(self, file: File, content: bytes) -> bool:
        """Whether the file is still what the database knows."""
        try:
            with open(self._vault.folder.open(file), "rb") as stream:
                return stream.read(LINK_BYTES) == content
        except OSError:
            return False

    def _links(self) -> Iterator[str]:
        """The names of files here that are links: known as such, or looking like one and not taken in yet."""
        known = files.in_folder(self._vault.database.read(), encode_path(self._prefix.rstrip("/"))[0])
        for name in os.listdir(self._handle):
            file = known.get(encode_path(self._prefix + name)[0])
            if file.kind is Kind.URL if file else name.rpartition(".")[2].lower() in LINK_EXTENSIONS:
                yield name

    def _link(self, name: str) -> str | None:
        """The address in a file here, in our spelling; None when it is no link."""
        try:
            opened = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._handle)
        except OSError:
            return None
        with open(opened, "rb") as stream:
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                return None
            found = link_in(name, stream.read(LINK_BYTES + 1))
        try:
            return address_of(found) if found else None
        except UsageError:
            return None
