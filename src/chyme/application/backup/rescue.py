"""Builds a new database from the files and from the readable parts of a damaged one."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from sqlite3 import Connection

from chyme import digesters
from chyme.application.app import open_app
from chyme.application.backup import salvaged_rows
from chyme.application.backup.file_replacement import keep_as, sync, temporary_folder
from chyme.application.backup.salvaged_rows import Capture, find_intact_captures, restore_captures
from chyme.application.digester_config import config_of
from chyme.application.settings import Settings
from chyme.core.clock import now
from chyme.core.files.vault_folder import STATE, Vault, decode_path
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import files
from chyme.core.store.rescue.salvage import OldFile, SalvagedData, salvage
from chyme.core.store.sqlite import copies
from chyme.core.store.sqlite.damage import diagnose
from chyme.core.store.sqlite.database import FILE_NAME, SCHEMA, Database
from chyme.errors import UsageError, VaultError
from chyme.model import File, iso
from chyme.search.tables import file_terms
from chyme.search.vectors.cache import FOLDER as VECTORS
from chyme.understanding.edits import restore_edits

PREFIX = ".chyme-rescue-"
SETTLE_SECONDS = 60.0  # for files that are being written during the scan
KINDS = ("edits", "tag_rules", "people", "voices", "captures", "renames", "ai_calls")


@dataclass(slots=True)
class RescueResult:
    """What was found in the damaged database, what was saved from it, and where the damaged one is now."""

    vault: str
    problem: str | None
    pages: int
    damaged_pages: int
    found: dict[str, int]
    dry_run: bool
    saved: dict[str, int] = field(default_factory=dict)
    files: int = 0
    identity: bool = False
    aside: list[str] = field(default_factory=list)


def rescue_vault(root: Path, settings: Settings, *, dry_run: bool, force: bool) -> RescueResult:
    """Salvage what cannot be made again into a new database; everything else is digested again from the files.

    The damaged database gets a dated name beside the new one. Nothing is changed until the last moment, so an
    interrupted rescue can simply start again.
    """
    vault = Vault(root)
    state = Path(settings.state_dir).expanduser() if settings.state_dir else vault.root / STATE
    target = state / FILE_NAME
    if not state.is_dir() or not (target.exists() or Path(f"{target}-wal").exists()):
        raise UsageError(f"{vault.root}: there is no database to rescue; 'chyme digest' or 'chyme serve' makes one")
    with _lock_state(state):
        copies.refuse_in_use(target)
        problem = diagnose(target, SCHEMA)
        if problem is None and not force:
            raise UsageError(f"{target} is not damaged: there is nothing to rescue; --force rebuilds it anyway")
        captures = frozenset(
            name
            for digester in digesters.load(config_of(settings)).registry
            if digester.promises.captures
            for name in digester.outputs
        )
        data = salvage(_find_source(target), captures)
        result = RescueResult(
            os.fspath(vault.root),
            problem,
            data.pages.total,
            data.pages.damaged,
            {kind: len(getattr(data, kind)) for kind in KINDS},
            dry_run,
            identity=data.identity is not None,
        )
        if dry_run:
            result.files = sum(os.path.isfile(vault.disk_path(decode_path(old.path))) for old in data.files.values())
            return result
        with temporary_folder(state, PREFIX) as folder:
            with open_app(vault.root, replace(settings, state_dir=os.fspath(folder / "new")), create=True) as app:
                app.scan_and_settle(seconds=SETTLE_SECONDS)
                _restore_salvaged(app.database, app.rules, data, result)
            fresh = folder / "new" / FILE_NAME
            copies.remove_owner(fresh)
            copies.merge_journal(fresh)
            copies.refuse_in_use(target)
            shutil.rmtree(state / VECTORS, ignore_errors=True)  # a cache by ids, which are assigned again
            result.aside = _replace(fresh, target)
    return result


@contextlib.contextmanager
def _lock_state(state: Path) -> Iterator[None]:
    handle = os.open(state, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise VaultError(f"{state}: another 'chyme rescue' is running here; wait until it ends") from error
    finally:
        os.close(handle)


def _find_source(target: Path) -> Path:
    """Return where to read the damaged database: a killed rescue may have moved its journal aside already."""
    if not Path(f"{target}-wal").exists() and target.exists():
        for aside in sorted(target.parent.glob(f"{target.stem}.damaged-*{target.suffix}"), reverse=True):
            if aside.samefile(target) and Path(f"{aside}-wal").exists():
                return aside
    return target


def _restore_salvaged(database: Database, rules: Rules, data: SalvagedData, result: RescueResult) -> None:
    moment = iso(now())
    new_files = {
        old_id: file for old_id, old in data.files.items() if (file := _find_file(database.read(), old)) is not None
    }
    # Two old files may map to one, because the other is gone: what was known of the one at this path wins.
    new_files = dict(sorted(new_files.items(), key=lambda item: data.files[item[0]].path != item[1].path))
    new_ids = {old_id: file.id for old_id, file in new_files.items()}
    result.files, _ = files.counts(database.read())

    def put_rows(db: Connection) -> None:
        if data.identity is not None:
            salvaged_rows.put_identity(db, data.identity)
        result.saved["tag_rules"] = salvaged_rows.put_rules(db, data.tag_rules)
        result.saved["people"], result.saved["voices"] = salvaged_rows.put_people(db, data, new_ids)
        result.saved["renames"] = salvaged_rows.put_renames(db, data.renames, new_ids)
        result.saved["ai_calls"] = salvaged_rows.put_calls(db, data.ai_calls, new_ids)

    database.write(put_rows)
    edits = defaultdict[int, dict[str, object]](dict)
    for (old_id, name), (value, _) in data.edits.items():
        edits[old_id][name] = json.loads(value)
    result.saved["edits"] = result.saved["captures"] = 0
    files_with_voices = {row[1] for row in data.voices.values()}
    captured_outputs = defaultdict[int, list[str]](list)
    for old_id, output in data.captures:
        captured_outputs[old_id].append(output)
    for old_id, file in reversed(new_files.items()):
        if old_id in captured_outputs:
            captures = find_intact_captures(data, rules, old_id, data.files[old_id], file, captured_outputs[old_id])
            result.saved["captures"] += _restore_file_captures(database, rules, file, captures, moment)
        for name, edit in edits.get(old_id, {}).items():
            result.saved["edits"] += _try(
                database,
                partial(restore_edits, file=file, values={name: edit}, now=moment, refresh_names=file_terms.rewrite),
            )
        if old_id in files_with_voices:
            database.write(partial(file_terms.rewrite, file_id=file.id))


def _restore_file_captures(database: Database, rules: Rules, file: File, captures: list[Capture], moment: str) -> int:
    """Return how many are in the new database. One that it refuses does not keep the others out."""
    restore_into = partial(restore_captures, rules=rules, file=file, now=moment)
    if _try(database, partial(restore_into, captures=captures)):
        return len(captures)
    return sum(_try(database, partial(restore_into, captures=[capture])) for capture in captures)


def _try(database: Database, work: Callable[[Connection], object]) -> bool:
    """Return whether the database accepted it. Salvaged data may be anything: a number for a text, half a character."""
    try:
        database.write(work)
    except (sqlite3.IntegrityError, UnicodeError, RecursionError):
        return False
    return True


def _find_file(db: Connection, old: OldFile) -> File | None:
    """Return the file at the same path, or else the only one with the same content."""
    file = files.by_path(db, old.path)
    if file is None and old.hash:
        same = files.same_content(db, old.hash, 2)
        file = same[0] if len(same) == 1 else None
    return file


def _replace(fresh: Path, target: Path) -> list[str]:
    """Put the new database in place. The damaged one and its journal get dated names before anything is removed."""
    stamp = now().strftime("%Y%m%dT%H%M%S%fZ")
    aside = target.with_name(f"{target.stem}.damaged-{stamp}{target.suffix}")
    renamed = []
    for suffix in ("-wal", ""):
        source, dated = Path(f"{target}{suffix}"), Path(f"{aside}{suffix}")
        if source.exists():
            keep_as(source, dated)
            renamed.append(os.fspath(dated))
    sync(target.parent)
    for suffix in ("-wal", "-shm"):  # SQLite must not read them into the new one
        Path(f"{target}{suffix}").unlink(missing_ok=True)
    sync(fresh)
    fresh.replace(target)
    sync(target.parent)
    return renamed[::-1]
