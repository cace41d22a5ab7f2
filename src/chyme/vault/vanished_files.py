"""Hides files that are no longer at their paths, and forgets them later without a trace: a purge, which is held back
when suspiciously many are missing."""

from __future__ import annotations

import logging
import stat
from collections.abc import Callable, Iterable

from chyme.core.files.vault_folder import Vault, raw_path
from chyme.core.store import files, vault_properties
from chyme.core.store.sqlite.database import Database
from chyme.errors import UsageError
from chyme.model import File
from chyme.vault.file_registry import FileRegistry
from chyme.vault.watch.ignore_rules import IgnoreRules
from chyme.vault.watch.pending_files import PendingFiles, ScanReport

log = logging.getLogger(__name__)

SUSPICIOUS_SHARE = 0.2
SUSPICIOUS_COUNT = 10  # fewer are probably a person tidying up, unless no file is left
PURGE_WAITS = "purge-waits"  # the vault property that says why nothing is purged


class MissingFiles:
    """Hides missing files. Use it only when all moves of a round are known."""

    def __init__(self, vault: Vault, database: Database, registry: FileRegistry, pending: PendingFiles) -> None:
        self._vault = vault
        self._database = database
        self._registry = registry
        self._pending = pending

    def hide(self, gone: Iterable[int], ignore: IgnoreRules) -> int:
        """Hide those of these files that are still gone, and return how many were hidden."""
        db = self._database.read()
        candidates = (files.by_id(db, file_id) for file_id in dict.fromkeys(gone))
        missing = [
            file for file in candidates if file and file.vanished_at is None and not self._is_visible(file, ignore)
        ]
        lost = [file for file in missing if not self._pending.may_have_moved(file)]
        if not lost:
            return 0
        self._vault.require_readable()
        present, _ = files.counts(db)
        hidden = self._registry.hide_missing(lost)
        if len(lost) > SUSPICIOUS_SHARE * present and (len(lost) >= SUSPICIOUS_COUNT or len(lost) == present):
            reason = f"{len(lost)} of {present} files vanished at once; nothing is purged before 'chyme purge --yes'"
            log.warning(reason)
            self._database.write(lambda db: vault_properties.put(db, PURGE_WAITS, reason))
        return hidden

    def release_purge_hold(self, report: ScanReport) -> None:
        """Let purging go on without a person's consent once the files that vanished at once are back."""
        db = self._database.read()
        present, vanished = files.counts(db)
        if report.returned and vanished <= SUSPICIOUS_SHARE * present and vault_properties.value_of(db, PURGE_WAITS):
            self._database.write(lambda db: vault_properties.remove(db, PURGE_WAITS))

    def _is_visible(self, file: File, ignore: IgnoreRules) -> bool:
        """Whether a file is at the path and not ignored. True if that cannot be checked: an error proves nothing."""
        raw = raw_path(file)
        if ignore.ignores(raw, False):
            return False
        try:
            status = self._vault.status(raw)
        except OSError:
            return True
        return status is not None and stat.S_ISREG(status.st_mode)


def purge_vanished(
    database: Database,
    registry: FileRegistry,
    before: str,
    confirmed: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Forget the files that vanished at or before this moment. Return how many.

    After a suspicious scan nothing is purged until a user confirms it.
    """
    blocker = vault_properties.value_of(database.read(), PURGE_WAITS)
    if blocker and not confirmed:
        raise UsageError(blocker)
    found = files.vanished_before(database.read(), before)
    count = 0
    for number, file in enumerate(found):
        count += registry.purge(file)
        if progress is not None:
            progress(number + 1, len(found))
    if count:
        registry.sweep()
        database.checkpoint()
    if confirmed:
        database.write(lambda db: vault_properties.remove(db, PURGE_WAITS))
    return count
