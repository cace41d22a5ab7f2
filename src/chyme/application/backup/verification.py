"""Checks whether an archive is intact, without restoring it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from chyme.accounts.tables.server_database import FILE_NAME as SERVER
from chyme.application.backup.archive import copy_part, manifest_of, parts_of
from chyme.application.backup.creation import SERVER_PART, STATE_PART
from chyme.core.store.sqlite import copies
from chyme.core.store.sqlite.database import FILE_NAME as DATABASE
from chyme.errors import UsageError

DATABASES = (STATE_PART + DATABASE, SERVER_PART + SERVER)


def check(archive: Path) -> list[str]:
    """Return what is wrong with it as sentences: wrong hashes, missing parts, inconsistent databases."""
    try:
        manifest = manifest_of(archive)
        problems = [] if DATABASES[0] in manifest.parts else [f"{archive}: there is no {DATABASES[0]} in it"]
        with tempfile.TemporaryDirectory(prefix="chyme-check-") as folder:
            for part, _, stream in parts_of(archive, manifest):
                if part.name not in DATABASES:
                    copy_part(archive, part, stream, None)
                    continue
                copy = Path(folder) / part.name.replace("/", "-")
                with copy.open("wb") as target:
                    copy_part(archive, part, stream, target)
                problems += [f"{part.name}: {fault}" for fault in copies.find_faults(copy)]
                copy.unlink()
    except UsageError as error:
        return [str(error)]
    return problems
