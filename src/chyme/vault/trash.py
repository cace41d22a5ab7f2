"""Deleted files, which are kept with everything known about them until the trash is emptied."""

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
from chyme.core.files.vault_folder import FOLDER_ITSELF, decode_path, encode_path, is_state, raw_path
from chyme.core.store import files
from chyme.errors import NotFound, UsageError, VaultError
from chyme.model import File, iso
from chyme.vault.file_names import numbered_name
from chyme.vault.open_vault import OpenVault
from chyme.vault.safe_move import NEW_FILE, move

FOLDER = "trash"
NOTE = ".json"
NOTE_BYTES = 100_000
_ID = re.compile(r"[0-9]{8}T[0-9]{12}Z-[0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class TrashEntry:
    """A file in the trash: its former path, and when it was deleted."""

    id: str
    path: str
    at: str
    size: int


@dataclass(frozen=True, slots=True)
class RestoredFile:
    """A file that is back in the vault; under another name if its own is taken."""

    id: str
    was: str
    path: str


class Trash:
    """The trash in the state folder: `ID/NAME` is the file itself, `ID.json` says where it was.

    A file is hidden in the database before it is moved on disk: after a crash in between, the next scan recognises it.
    """

    def __init__(self, vault: OpenVault, on_purged: Callable[[], None]) -> None:
        self._vault = vault
        self._on_purged = on_purged

    def put(self, paths: Sequence[str]) -> list[TrashEntry]:
        """Move these files into the trash. Nothing is done unless all of them exist."""
        found = [self._find_file(path) for path in dict.fromkeys(paths)]
        return [self._put(file) for file in found]

    def list_all(self) -> list[TrashEntry]:
        """Return the files in the trash, newest first."""
        with self._open_trash() as trash:
            notes = [self._read_note(trash, id_) for id_ in _list_ids(trash)]
        return sorted((note[0] for note in notes if note), key=lambda entry: entry.id, reverse=True)

    def restore(self, ids: Sequence[str]) -> list[RestoredFile]:
        """Put these files back, under another name if theirs is taken. Nothing is digested again."""
        with self._open_trash() as trash:
            wanted = [self._find_entry(trash, id_) for id_ in dict.fromkeys(ids)]
            restored: list[RestoredFile] = []
            try:
                for entry in wanted:
                    restored.append(self._restore(trash, entry))
            finally:  # if one fails, those before it are back
                if restored:
                    self._vault.ingest([decode_path(file.path) for file in restored])
        return restored

    def empty(self, ids: Sequence[str] | None = None) -> int:
        """Delete these files (None: all) for good, with everything known about them. Return how many."""
        with self._open_trash() as trash:
            wanted = [entry.id for entry in self.list_all()] if ids is None else list(dict.fromkeys(ids))
            found = [self._find_entry(trash, id_) for id_ in wanted]
            for entry in found:
                _delete(trash, entry.id)
            # Before the notes are read: a file gets its note before it is hidden.
            hidden = files.in_trash(self._vault.database.read())
            in_trash = {note[1] for id_ in _list_ids(trash) if (note := self._read_note(trash, id_))}
            for file in hidden:
                if file.id not in in_trash:  # even if its note was deleted by hand
                    self._vault.registry.purge(file)
        self._on_purged()
        return len(found)

    def _find_file(self, path: str) -> File:
        file = files.by_path(self._vault.database.read(), path)
        if file is None or file.vanished_at is not None:
            raise files.unknown_file(path)
        return file

    def _put(self, file: File) -> TrashEntry:
        deleted_at = now()
        raw = raw_path(file)
        folder, _, name = raw.rpartition("/")
        id_ = f"{deleted_at:%Y%m%dT%H%M%S%f}Z-{secrets.token_hex(4)}"
        entry = TrashEntry(id_, file.path, iso(deleted_at), file.size)
        try:
            with self._open_trash() as trash, self._vault.folder.open_folder(folder) as source:
                _refuse_missing(source, name)
                _write_note(trash, entry, file.id)
                try:
                    os.mkdir(id_, 0o700, dir_fd=trash)
                    if not self._vault.registry.hide_trashed(file):
                        raise FileNotFoundError  # it has moved meanwhile
                    with _open_entry(trash, id_) as target:
                        move(source, name, target, name)
                    self._vault.registry.hide_trashed(file)  # a scan may have found it in between
                except BaseException:
                    _delete(trash, id_, keep_files=True)
                    raise
        except OSError as error:
            self._vault.ingest([raw])  # register again what is there
            if isinstance(error, FileNotFoundError | NotADirectoryError):
                raise UsageError(f"{file.path}: is not there any more") from error
            reason = error.strerror or type(error).__name__
            raise VaultError(f"{file.path}: cannot be deleted ({reason}); see who may write in its folder") from error
        return entry

    def _restore(self, trash: int, entry: TrashEntry) -> RestoredFile:
        raw = decode_path(entry.path)
        folder, _, name = raw.rpartition("/")
        try:
            with _open_entry(trash, entry.id) as source, self._vault.folder.open_folder(folder, make=True) as target:
                stored_name = next(iter(os.listdir(source)))
                for number in count(1):
                    free = numbered_name(name, number)
                    with contextlib.suppress(FileExistsError):
                        move(source, stored_name, target, free)
                        break
        except (OSError, StopIteration) as error:
            reason = error.strerror if isinstance(error, OSError) else "the file is not in the trash any more"
            raise VaultError(f"{entry.path}: cannot be brought back ({reason})") from error
        _delete(trash, entry.id)
        path = f"{folder}/{free}" if folder else free
        return RestoredFile(entry.id, entry.path, encode_path(path)[0])

    def _find_entry(self, trash: int, id_: str) -> TrashEntry:
        found = self._read_note(trash, id_)
        if found is None:
            raise NotFound(f"{id_[:50]!r}: is not in the trash; 'chyme trash list' shows what is")
        return found[0]

    def _read_note(self, trash: int, id_: str) -> tuple[TrashEntry, int] | None:
        """Read the note of a file in the trash: its entry, and its id in the database."""
        if not _ID.fullmatch(id_):
            return None
        try:
            with open(os.open(id_ + NOTE, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=trash), "rb") as stream:
                note = json.loads(stream.read(NOTE_BYTES))
            path, at, size, file_id = note["path"], note["at"], note["size"], note["file_id"]
            path.encode()
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        parts = decode_path(path).split("/")
        if not all(parts) or {".", ".."} & set(parts) or "\0" in path or any(map(is_state, parts)):
            return None  # the note may come from a tampered backup
        return TrashEntry(id_, path, str(at), int(size)), int(file_id)

    @contextlib.contextmanager
    def _open_trash(self) -> Iterator[int]:
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


@contextlib.contextmanager
def _open_entry(trash: int, id_: str) -> Iterator[int]:
    handle = os.open(id_, FOLDER_ITSELF, dir_fd=trash)
    try:
        yield handle
    finally:
        os.close(handle)


def _list_ids(trash: int) -> list[str]:
    return [name.removesuffix(NOTE) for name in os.listdir(trash) if name.endswith(NOTE)]


def _refuse_missing(folder: int, name: str) -> None:
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        raise FileNotFoundError


def _write_note(trash: int, entry: TrashEntry, file_id: int) -> None:
    note = json.dumps({**asdict(entry), "file_id": file_id}, ensure_ascii=False).encode()
    with open(os.open(entry.id + NOTE, NEW_FILE, 0o600, dir_fd=trash), "wb") as stream:
        stream.write(note)
        stream.flush()
        os.fsync(stream.fileno())


def _delete(trash: int, id_: str, keep_files: bool = False) -> None:
    """Delete the files before the note: a file with a note can be restored."""
    try:
        with _open_entry(trash, id_) as folder:
            for name in os.listdir(folder):
                if keep_files:
                    return
                os.unlink(name, dir_fd=folder)
        os.rmdir(id_, dir_fd=trash)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise VaultError(f"{id_}: cannot be deleted from the trash ({error.strerror})") from error
    with contextlib.suppress(FileNotFoundError):
        os.unlink(id_ + NOTE, dir_fd=trash)
