"""Shows and changes .chymeprivate, whose patterns name the files that no model outside may see."""

from __future__ import annotations

import stat
import threading
from collections.abc import Callable
from dataclasses import dataclass

from chyme.application.settings_changes import SettingsConflict
from chyme.application.settings_file import etag_of, lock, replace_file
from chyme.application.startup import requeue_disclosed
from chyme.core.files.vault_folder import STATE
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import files
from chyme.errors import UsageError
from chyme.vault.open_vault import OpenVault
from chyme.vault.private_files import FILE_NAME, MAX_BYTES, Patterns, UnclearPatterns, parse_patterns

EXAMPLES = 5
PUBLIC_MODE = 0o644  # the file names no secret, and other programs of the vault's owner may read it


@dataclass(frozen=True, slots=True)
class PrivateText:
    """The patterns as they are now."""

    text: str
    etag: str
    patterns: int
    problem: str | None


@dataclass(frozen=True, slots=True)
class Preview:
    """What some patterns would make private."""

    patterns: int
    files: int
    of: int
    examples: tuple[str, ...]
    disclosed: int  # files that are private now and would not be any more


class PrivatePatterns:
    """Edits the patterns of one vault."""

    def __init__(
        self,
        open_vault: OpenVault,
        rules: Rules,
        wake: Callable[[], None],
    ) -> None:
        self._open_vault = open_vault
        self._rules = rules
        self._wake = wake
        self._path = open_vault.folder.root / FILE_NAME
        self._lock = threading.Lock()

    def read(self) -> PrivateText:
        """Return the patterns, and what is wrong with them, if anything."""
        content = self._content()
        private = self._open_vault.private
        return PrivateText(content.decode("utf-8-sig", "replace"), etag_of(content), private.patterns, private.problem)

    def preview(self, text: str) -> Preview:
        """Count the files that these patterns would make private, and that they would disclose."""
        patterns = _parse(text)
        paths = [file.path for file in files.below(self._open_vault.database.read(), "")]
        private = [path for path in paths if patterns.match(path)]
        now_private, chosen = self._open_vault.private, set(private)
        disclosed = sum(path not in chosen and now_private(path) for path in paths)
        return Preview(patterns.count, len(private), len(paths), tuple(private[:EXAMPLES]), disclosed)

    def store(self, text: str, etag: str | None) -> PrivateText:
        """Replace the patterns. They apply to the next file that a model would see."""
        _parse(text)
        state = self._open_vault.folder.root / STATE
        with self._lock, lock(state):
            if etag_of(self._content()) != etag and etag is not None:
                raise SettingsConflict(f"{FILE_NAME} was changed meanwhile; reload to see how, and try again")
            replace_file(self._path, text.encode(), PUBLIC_MODE, forbidden=0)
        requeue_disclosed(self._open_vault, self._rules)
        self._wake()
        return self.read()

    def _content(self) -> bytes:
        """Return the file's bytes. A link is not followed: it may lead to a file outside of the export."""
        try:
            status = self._path.lstat()
        except FileNotFoundError:
            return b""
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            raise UsageError(f"{FILE_NAME} is a link, no plain file, or too large; change it by hand")
        return self._path.read_bytes()


def _parse(text: str) -> Patterns:
    try:
        return parse_patterns(text.encode())
    except UnclearPatterns as error:
        raise UsageError(f"{FILE_NAME} {error}") from None
    except UnicodeEncodeError:
        raise UsageError(f"{FILE_NAME} has characters that cannot be written as UTF-8") from None
