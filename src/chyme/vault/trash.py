"""Files that were deleted here: kept with all that is known about them until somebody empties the trash."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import count

from chyme.core.clock import now
from chyme.core.files.vault_folder import FOLDER_ITSELF, decode_path, encode_path, is_state
from chyme.core.store import files
from chyme.errors import UsageError, VaultError
from chyme.files.machine_names import without_extension
from chyme.files.numbered_names import numbered_name
from chyme.model import File, iso
from chyme.vault.open_vault import OpenVault
from chyme.vault.safe_move import move

FOLDER = "trash"
NOTE = ".json"
NOTE_BYTES = 100_000
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_ID = re.compile(r"[0-9]{8}T[0-9]{12}Z-[0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class TrashEntry:
    """A file in the trash: where it was, and since when it has not been there."""

    id: str
    path: str
    at: str
    size: int


@dataclass(frozen=True, slots=True)
class RestoredFile:
    """A file that is in the vault again; under another name where its own is taken."""

    id: str
    was: str
    path: str


class Trash:
    """In the state folder: `ID/NAME` is the file itself, `ID.json` says where it was.

    The database lets a file go before the disk does: a crash in between leaves a file that the next scan recognises.
    """

    def __init__(self, vault: OpenVault, on_purged: Callable[[], None]) -> None:
        self._vault = vault
        self._on_purged = on_purged

    def put(self, paths: Sequence[str]) -> list[TrashEntry]:
        """Take these files out of the vault. Nothing is done unless all of them are there."""
        found = [self._known(path) for path in dict.fromkeys(paths)]
        return [self._put(file) for file in found]

    def list_all(self) -> list[TrashEntry]:
        """What is in the trash, newest first."""
        with self._opened() as trash:
            found = [self._noted(trash, id_) for id_ in _ids(trash)]
        return sorted((each[0] for each in found if each), key=lambda one: one.id, reverse=True)

    def restore(self, ids: Sequence[str]) -> list[RestoredFile]:
        """Put these files back where they were, or beside whoever is there now. Nothing is digested again."""
        with self._opened() as trash:
            wanted = [self._wanted(trash, id_) for id_ in dict.fromkeys(ids)]
            back: list[RestoredFile] = []
            try:
                for trashed, _ in wanted:
                    back.append(self._bring_back(trash, trashed))
            finally:  # those before one that cannot be brought back are there
                if back:
                    self._vault.ingest([decode_path(one.path) for one in back])
        return back

    def empty(self, ids: Sequence[str] | None = None) -> int:
        """Delete these for good, or all, with everything known about them. Returns how many."""
        with self._opened() as trash:
            wanted = [one.id for one in self.list_all()] if ids is None else list(dict.fromkeys(ids))
            found = [self._wanted(trash, id_) for id_ in wanted]
            for trashed, _ in found:
                _delete(trash, trashed.id)
            aside = files.in_trash(self._vault.database.read())  # before the notes: a file has its note first
            self._forget(aside, {each[1] for id_ in _ids(trash) if (each := self._noted(trash, id_))})
        self._on_purged()
        return len(found)

    def _known(self, path: str) -> File:
        file = files.by_path(self._vault.database.read(), path)
        if file is None or file.vanished_at is not None:
            raise UsageError(f"{path}: is not a file of this vault; 'chyme digest' takes in what is new")
        return file

    def _put(self, file: File) -> TrashEntry:
        at = now()
        raw = decode_path(file.path) if file.escaped else file.path
        folder, _, name = raw.rpartition("/")
        id_ = f"{at:%Y%m%dT%H%M%S%f}Z-{secrets.token_hex(4)}"
        trashed = TrashEntry(id_, file.path, iso(at), file.size)
        try:
            with self._opened() as trash, self._vault.folder.open_folder(folder) as here:
                _refuse_missing(here, name)
                _write_note(trash, trashed, file.id)
                try:
                    os.mkdir(id_, 0o700, dir_fd=trash)
                    if not self._vault.registry.hide_trashed(file):
                        raise FileNotFoundError  # it is elsewhere by now
                    with _inside(trash, id_) as there:
                        move(here, name, there, name)
                    self._vault.registry.hide_trashed(file)  # a scan may have found it again in between
                except BaseException:
                    _delete(trash, id_, keep_files=True)
                    raise
        except OSError as error:
            self._vault.ingest([raw])  # whatever is there is known again
            if isinstance(error, FileNotFoundError | NotADirectoryError):
                raise UsageError(f"{file.path}: is not there any more") from error
            reason = error.strerror or type(error).__name__
            raise VaultError(f"{file.path}: cannot be deleted ({reason}); see who may write in its folder") from error
        return trashed

    def _bring_back(self, trash: int, trashed: TrashEntry) -> RestoredFile:
        raw = decode_path(trashed.path)
        folder, _, name = raw.rpartition("/")
        extension = name[len(without_extension(name)) :]
        try:
            with _inside(trash, trashed.id) as there, self._vault.folder.open_folder(folder, make=True) as here:
                kept = next(iter(os.listdir(there)))
                for number in count(1):
                    free = numbered_name(name, number, extension)
                    with contextlib.suppress(FileExistsError):
                        move(there, kept, here, free)
                        break
        except (OSError, StopIteration) as error:
            reason = error.strerror if isinstance(error, OSError) else "the file is not in the trash any more"
            raise VaultError(f"{trashed.path}: cannot be brought back ({reason})") from error
        _delete(trash, trashed.id)
        path = f"{folder}/{free}" if folder else free
        return RestoredFile(trashed.id, trashed.path, encode_path(path)[0])

    def _forget(self, aside: Sequence[File], kept: set[int]) -> None:
        """What was known about files goes with them, unless they turned up elsewhere; also after tidying by hand."""
        for file in aside:
            if file.id not in kept:
                self._vault.registry.purge(file)

    def _wanted(self, trash: int, id_: str) -> tuple[TrashEntry, int]:
        found = self._noted(trash, id_)
        if found is None:
            raise NotInTrash(f"{id_[:50]!r}: is not in the trash; 'chyme trash list' tells what is")
        return found

    def _noted(self, trash: int, id_: str) -> tuple[TrashEntry, int] | None:
        """What was noted about a file in the trash, and its number in the database."""
        if not _ID.fullmatch(id_):
            return None
        try:
            with open(os.open(id_ + NOTE, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=trash), "rb") as stream:
                told = json.loads(stream.read(NOTE_BYTES))
            path, at, size, file_id = told["path"], told["at"], told["size"], told["file_id"]
            path.encode()
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        parts = decode_path(path).split("/")
        if not all(parts) or {".", ".."} & set(parts) or "\0" in path or any(map(is_state, parts)):
            return None  # a backup may have brought it along
        return TrashEntry(id_, path, str(at), int(size)), int(file_id)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int]:
        self._vault.database.presence.require()
        folder = self._vault.state / FOLDER
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            handle = os.open(folder, FOLDER_ITSELF)
        except OSError as error:
            raise VaultError(f"{folder}: the trash cannot be opened ({error.strerror})") from error
        try:
            yield handle
        finally:
            os.close(handle)


class NotInTrash(UsageError):
    """There is no such thing in the trash."""


@contextlib.contextmanager
def _inside(trash: int, id_: str) -> Iterator[int]:
    handle = os.open(id_, FOLDER_ITSELF, dir_fd=trash)
    try:
        yield handle
    finally:
        os.close(handle)


def _ids(trash: int) -> list[str]:
    return [name.removesuffix(NOTE) for name in os.listdir(trash) if name.endswith(NOTE)]


def _refuse_missing(folder: int, name: str) -> None:
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        raise FileNotFoundError


def _write_note(trash: int, trashed: TrashEntry, file_id: int) -> None:
    told = json.dumps({**asdict(trashed), "file_id": file_id}, ensure_ascii=False).encode()
    with open(os.open(trashed.id + NOTE, _NEW, 0o600, dir_fd=trash), "wb") as stream:
        stream.write(told)
        stream.flush()
        os.fsync(stream.fileno())


def _delete(trash: int, id_: str, keep_files: bool = False) -> None:
    """The files first: what has a note can be brought back."""
    try:
        with _inside(trash, id_) as there:
            for name in os.listdir(there):
                if keep_files:
                    return
                os.unlink(name, dir_fd=there)
        os.rmdir(id_, dir_fd=trash)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise VaultError(f"{id_}: cannot be deleted from the trash ({error.strerror})") from error
    with contextlib.suppress(FileNotFoundError):
        os.unlink(id_ + NOTE, dir_fd=trash)
