"""Puts the entries of an export into the vault, a batch at a time. Each batch is complete before the next begins.

A file is placed before its row is written: an import that is killed in between finds the file by its content, and goes
on. Nothing is imported twice, whatever the other program calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from sqlite3 import Connection

from chyme.core.files.vault_folder import decode_path, encode_path
from chyme.core.pipeline.recorders import RefreshNames
from chyme.core.store import files
from chyme.errors import DiskFull, UsageError, VaultError, VaultGone
from chyme.imports.entries import Entry, Problem
from chyme.imports.merging import Changes, merge
from chyme.imports.staged_entries import StagedEntry, hash_only, stage
from chyme.imports.summary import ImportSummary
from chyme.imports.tables import imported_items
from chyme.imports.tables.imported_items import ImportedItem
from chyme.model import File, iso
from chyme.understanding.edits import restore_edits
from chyme.understanding.tables import edits, properties
from chyme.vault.intake.links import find_link_files
from chyme.vault.intake.new_files import folder_parts
from chyme.vault.intake.upload_placement import UploadResult, place_uploads
from chyme.vault.moved_files import Move, find_moved
from chyme.vault.open_vault import OpenVault
from chyme.vault.watch.file_inspection import inspect_file

BATCH = 100  # entries whose rows are written in one transaction
BATCH_BYTES = 256 * 1024 * 1024  # after which a batch ends early


class ImportStopped(Exception):
    """The import was asked to stop between two entries."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How an export is imported."""

    source: str
    folder: str = ""  # of the vault
    dry_run: bool = False
    again: bool = False  # bring back what was deleted here


@dataclass(frozen=True, slots=True)
class _Match:
    """An entry with the file that it already is, if any."""

    staged: StagedEntry
    file_id: int | None
    before: ImportedItem | None


@dataclass
class _Batch:
    staging: Path
    matches: list[_Match] = field(default_factory=list)
    hashes: set[str] = field(default_factory=set)
    copies: int = 0  # in the staging folder
    bytes: int = 0


class Importer:
    """Imports into one vault."""

    def __init__(self, vault: OpenVault, clock: Callable[[], datetime], refresh_names: RefreshNames) -> None:
        self._vault = vault
        self._clock = clock
        self._refresh_names = refresh_names

    def run(
        self,
        entries: Iterable[Entry | Problem],
        options: ImportOptions,
        progress: Callable[[ImportSummary], None] = lambda _: None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> ImportSummary:
        """Import all entries, or (dry_run) only count. Raises UsageError if the export as a whole cannot be read, and
        DiskFull or VaultGone where going on makes no sense; what was imported until then stays."""
        run = _Run(self._vault, self._clock, self._refresh_names, options, progress)
        for entry in entries:
            if stopping():
                raise ImportStopped
            run.take(entry)
        run.flush()
        return run.summary


class _Run:
    """One import under way."""

    def __init__(
        self,
        vault: OpenVault,
        clock: Callable[[], datetime],
        refresh_names: RefreshNames,
        options: ImportOptions,
        progress: Callable[[ImportSummary], None],
    ) -> None:
        self._vault = vault
        self._clock = clock
        self._refresh_names = refresh_names
        self._options = options
        self._progress = progress
        self._folder = tuple(folder_parts(vault, options.folder))
        self._waiting: list[Entry] = []
        self._planned: set[str] = set()  # hashes of what a dry run would add
        self.summary = ImportSummary()
        vault.database.presence.require()
        if not options.dry_run:
            vault.staging.sweep()  # what an import that was killed left there

    def take(self, entry: Entry | Problem) -> None:
        """Import an entry soon, with others."""
        if isinstance(entry, Problem):
            self.summary.add_problem(entry)
            return
        self._waiting.append(entry)
        if len(self._waiting) >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Import what is waiting."""
        entries, self._waiting = self._waiting, []
        if self._options.dry_run:
            for entry in entries:
                self._plan(entry)
        while entries and not self._options.dry_run:
            with self._vault.staging.temporary_folder() as staging:
                entries = self._import_batch(entries, _Batch(staging))
        self._progress(self.summary)

    def _import_batch(self, entries: list[Entry], batch: _Batch) -> list[Entry]:
        """Import the first of these entries. Return those for the next batch: of equal contents, the second finds the
        first in the vault."""
        taken = 0
        for entry in entries:
            match = self._staged_match(entry, batch)
            if match is not None and match.staged.file.hash in batch.hashes:
                break
            taken += 1
            if match is not None:
                staged = match.staged
                batch.matches.append(match)
                batch.hashes.add(staged.file.hash)
                batch.bytes += staged.file.size
            if batch.bytes > BATCH_BYTES:
                break
        self._record(self._place(batch))
        return entries[taken:]

    def _staged_match(self, entry: Entry, batch: _Batch) -> _Match | None:
        """Find the file that an entry already is, or copy its content. None if nothing is to be done."""
        try:
            db, source = self._vault.database.read(), self._options.source
            if imported_items.is_known(db, source, entry.source_id):  # most likely nothing has to be copied
                match = self._match(hash_only(self._vault, entry, self._folder))
                if match is None or match.file_id is not None:
                    return match
            batch.copies += 1
            return self._match(stage(self._vault, entry, self._folder, batch.staging, batch.copies))
        except (DiskFull, VaultGone):
            raise
        except (UsageError, OSError) as error:
            self._fail(entry, error)
            return None

    def _plan(self, entry: Entry) -> None:
        """Count what would happen to an entry."""
        try:
            staged = hash_only(self._vault, entry, self._folder)
        except (UsageError, OSError) as error:
            self._fail(entry, error)
            return
        match = self._match(staged)
        if match is None:
            return
        if match.file_id is not None:
            self._count(bool(self._changes(self._vault.database.read(), match, match.file_id)))
        elif staged.file.hash in self._planned:
            self.summary.unchanged += 1
        else:
            self._planned.add(staged.file.hash)
            self._count_added(staged)

    def _match(self, staged: StagedEntry) -> _Match | None:
        """Find the file that an entry already is. None if a person deleted it here."""
        db, entry = self._vault.database.read(), staged.entry
        before = imported_items.find(db, self._options.source, entry.source_id, staged.file.hash)
        if before is not None:
            file = files.by_id(db, before.file_id) if before.file_id is not None else None
            if file is not None and file.vanished_at is None:
                return _Match(staged, file.id, before)
            if not self._options.again:
                self.summary.deleted_here += 1
                return None
        equal = next((file for file in files.same_content(db, staged.file.hash) if file.vanished_at is None), None)
        if equal is None and entry.address is not None:
            path = find_link_files(self._vault, [entry.address]).get(entry.address)
            equal = files.by_path(db, path) if path is not None else None
        return _Match(staged, equal.id if equal and equal.vanished_at is None else None, None)

    def _place(self, batch: _Batch) -> list[tuple[_Match, int]]:
        """Move new contents into the vault and register them. Return each match with its file."""
        found = [(match, match.file_id) for match in batch.matches if match.file_id is not None]
        new = [match for match in batch.matches if match.file_id is None]
        new.sort(key=lambda match: match.staged.file.folder)  # each folder is opened once
        results = place_uploads(self._vault, batch.staging, [match.staged.file for match in new])
        for match, result in zip(new, results, strict=True):
            file = self._register(match, result)
            if file is not None:
                self._count_added(match.staged)
                found.append((match, file.id))
        return found

    def _register(self, match: _Match, result: UploadResult) -> File | None:
        """Record a placed file in the database, as a scan would soon."""
        entry, path = match.staged.entry, result.path
        if path is None:
            problem = result.problem or "could not be stored"
            if result.disk_problem:
                self._vault.database.presence.require()
                raise VaultError(problem)
            self.summary.add_problem(Problem(entry.label, problem.removeprefix(f"{entry.label[:100]}: ")))
            return None
        db, folder = self._vault.database.read(), self._vault.folder
        known = files.by_path(db, path)
        if known is not None and known.vanished_at is None and known.hash == match.staged.file.hash:
            return known
        try:
            seen = inspect_file(folder, path, encode_path(decode_path(path))[1], lambda: None)
        except OSError as error:
            self._fail(entry, error)
            return None
        if seen is None:
            self._fail(entry, UsageError("was changed by another program; import it again"))
            return None
        moved = find_moved(db, folder, seen, set())
        self._vault.registry.record([seen if moved is None else Move(moved.id, seen)])
        return files.by_path(self._vault.database.read(), path)

    def _record(self, matches: list[tuple[_Match, int]]) -> None:
        """Write what the entries say about their files, and that they were imported, in one transaction."""
        now = iso(self._clock())
        source = self._options.source

        def write(db: Connection) -> list[bool]:
            changed = []
            for match, file_id in matches:
                file, staged = files.by_id(db, file_id), match.staged
                if file is None:  # purged in this moment; the next import finds it missing
                    changed.append(False)
                    continue
                changes = self._changes(db, match, file_id)
                if changes.fields:
                    restore_edits(db, file, changes.fields, now, self._refresh_names)
                if changes.properties is not None and properties.replace_all(db, file_id, changes.properties):
                    self._refresh_names(db, file_id)
                entry = staged.entry
                imported_items.put(db, source, entry.source_id, staged.file.hash, file_id, entry.values, now)
                changed.append(bool(changes))
            return changed

        if matches:
            written = self._vault.database.write(write)
            for (match, _), changed in zip(matches, written, strict=True):
                if match.file_id is not None:
                    self._count(changed)

    @staticmethod
    def _changes(db: Connection, match: _Match, file_id: int) -> Changes:
        given = match.before.given if match.before is not None else None
        return merge(match.staged.entry.values, given, edits.of_file(db, file_id), properties.of_file(db, file_id))

    def _count(self, changed: bool) -> None:
        if changed:
            self.summary.updated += 1
        else:
            self.summary.unchanged += 1

    def _count_added(self, staged: StagedEntry) -> None:
        self.summary.added += 1
        self.summary.bytes += staged.file.size

    def _fail(self, entry: Entry, error: Exception) -> None:
        reason = f"cannot be read ({error.strerror})" if isinstance(error, OSError) and error.strerror else str(error)
        self.summary.add_problem(Problem(entry.label, reason))
