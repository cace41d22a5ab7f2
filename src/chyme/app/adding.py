"""Put links into a vault: one small file each, never in place of another."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from chyme.app.opened import App
from chyme.decide.addresses import address_of
from chyme.decide.link_names import file_name, link_name, safe_name
from chyme.engines.links import LINK_BYTES, LINK_EXTENSIONS, link_in, shortcut
from chyme.engines.vault import spell, unspell
from chyme.errors import UsageError, VaultError
from chyme.model import File, Kind
from chyme.store import files

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DEEPEST = 1000  # bytes of a folder's path: no system opens a path of more than four thousand
_NO_HARD_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV, errno.EINVAL)


@dataclass(frozen=True, slots=True)
class Added:
    """A link that is in the vault now. `created` is False when it was there before."""

    url: str
    path: str
    created: bool


def add_links(app: App, typed: Sequence[str], name: str | None = None, folder: str = "") -> list[Added]:
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
    inside = _inside(app, folder)
    try:
        with _opened(app, inside) as handle:
            shelf = _Shelf(app, inside, handle)
            return [shelf.add(address, stem or link_name(address)) for address in addresses]
    except OSError as error:
        where = "/".join(inside) or app.vault.root
        raise VaultError(f"{where}: no link can be written there ({error.strerror})") from error


class _Shelf:
    """One folder of the vault, held open so that nobody can put another in its place."""

    def __init__(self, app: App, inside: Sequence[str], handle: int) -> None:
        self._app = app
        self._prefix = "".join(f"{part}/" for part in inside)
        self._handle = handle
        self._here: dict[str, str] | None = None  # address → path, read when somebody asks

    def add(self, address: str, stem: str) -> Added:
        found = self._known(address)
        if found is not None:
            return Added(address, found, created=False)
        for number in count(1):
            name = file_name(stem, number)
            path = self._prefix + name
            if self._app.scanner.passes_over(path):
                raise UsageError(f"{path}: chyme passes over such files (.chymeignore); choose another name or folder")
            created = not self._is_taken(name) and self._write(name, shortcut(address))
            if created or self._link(name) == address:
                return Added(address, spell(path)[0], created)
        raise AssertionError("there is always another number")

    def _is_taken(self, name: str) -> bool:
        """To be asked before writing, which takes a disk's time; many addresses differ only behind their path."""
        try:
            os.stat(name, dir_fd=self._handle, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def _known(self, address: str) -> str | None:
        """The path of a link to the same address: in this folder, or written by chyme anywhere in the vault."""
        content = shortcut(address)
        for file in files.same_content(self._app.database.read(), hashlib.sha256(content).hexdigest()):
            if file.vanished_at is None and self._holds(file, content):
                return file.path
        if self._here is None:
            self._here = {found: spell(self._prefix + name)[0] for name in self._links() if (found := self._link(name))}
        return self._here.get(address)

    def _holds(self, file: File, content: bytes) -> bool:
        """Whether the file is still what the database knows."""
        try:
            with open(self._app.vault.open(file), "rb") as stream:
                return stream.read(LINK_BYTES) == content
        except OSError:
            return False

    def _links(self) -> Iterator[str]:
        """The names of files here that are links: known as such, or looking like one and not taken in yet."""
        known = files.in_folder(self._app.database.read(), spell(self._prefix.rstrip("/"))[0])
        for name in os.listdir(self._handle):
            file = known.get(spell(self._prefix + name)[0])
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

    def _write(self, name: str, data: bytes) -> bool:
        """Whether the file is there now, whole, and was not before."""
        temporary = f".{secrets.token_hex(8)}.part"  # hidden: nobody takes it for a file of the vault
        try:
            with open(os.open(temporary, _NEW, 0o600, dir_fd=self._handle), "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fchmod(stream.fileno(), 0o644)
                os.fsync(stream.fileno())
            return self._named(temporary, name)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=self._handle)

    def _named(self, temporary: str, name: str) -> bool:
        here = self._handle
        try:
            os.link(temporary, name, src_dir_fd=here, dst_dir_fd=here, follow_symlinks=False)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_HARD_LINKS:
                raise
            return self._taken(temporary, name)
        return True

    def _taken(self, temporary: str, name: str) -> bool:
        """On disks without hard links: take the name with an empty file, and put the whole one in its place."""
        try:
            os.close(os.open(name, _NEW, 0o644, dir_fd=self._handle))
        except FileExistsError:
            return False
        os.rename(temporary, name, src_dir_fd=self._handle, dst_dir_fd=self._handle)
        return True


def _inside(app: App, folder: str) -> list[str]:
    """The parts of a folder's path, as the disk spells them. Refuses what lies outside, and what chyme never reads."""
    raw = unspell(folder)
    parts = [part for part in raw.split("/") if part not in ("", ".")]
    if raw.startswith("/") or ".." in parts or "\0" in raw:
        raise UsageError(f"{folder!r}: is not a folder inside the vault")
    if len(os.fsencode(raw)) > _DEEPEST or any(len(os.fsencode(part)) > 255 for part in parts):
        raise UsageError(f"{folder[:50]!r} …: is too long for a folder; choose another")
    if parts and app.scanner.passes_over("/".join(parts)):
        raise UsageError(f"{folder}: chyme passes over this folder, as it is hidden or in .chymeignore; choose another")
    return parts


@contextlib.contextmanager
def _opened(app: App, parts: Sequence[str]) -> Iterator[int]:
    """The folder, made where it is missing. Links are not followed, not even by one that appears just now."""
    handle = os.open(app.vault.root, _FOLDER)
    try:
        for part in parts:
            below = _below(handle, part)
            os.close(handle)
            handle = below
        yield handle
        os.fsync(handle)
    finally:
        os.close(handle)


def _below(handle: int, part: str) -> int:
    try:
        return os.open(part, _FOLDER, dir_fd=handle)
    except FileNotFoundError:
        if safe_name(part) != part:
            raise UsageError(f"{part!r}: is no name for a new folder; choose one without special characters") from None
    except NotADirectoryError:
        raise UsageError(f"{part}: is no folder, or a link to one; choose another") from None
    with contextlib.suppress(FileExistsError):
        os.mkdir(part, 0o755, dir_fd=handle)
    return os.open(part, _FOLDER, dir_fd=handle)
