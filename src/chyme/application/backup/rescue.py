"""Build a new database from the files and from what can still be read of a damaged one."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from sqlite3 import Connection

from chyme import digesters
from chyme.application.app import App, open_app
from chyme.application.backup import salvaged_rows
from chyme.application.backup.capture_restore import Capture, find_intact_captures
from chyme.application.backup.capture_restore import restore_captures as put_captures_back
from chyme.application.backup.temporary_folder import temporary_folder
from chyme.application.digester_config import config_of
from chyme.application.settings import Settings
from chyme.core.clock import now
from chyme.core.files.vault_folder import STATE, Vault, decode_path
from chyme.core.store import files
from chyme.core.store.rescue.salvage import OldFile, SalvagedData, salvage
from chyme.core.store.sqlite import copies
from chyme.core.store.sqlite.damage import diagnose
from chyme.core.store.sqlite.database import FILE_NAME, SCHEMA
from chyme.errors import UsageError, VaultError
from chyme.model import File, iso
from chyme.search.tables import file_terms
from chyme.search.vectors.cache import FOLDER as VECTORS
from chyme.understanding.edits import restore_edits as put_edits_back

PREFIX = ".chyme-rescue-"
SETTLE_SECONDS = 60.0  # for files that are being written while we look
KINDS = ("edits", "tag_rules", "people", "voices", "captures", "renames", "ai_calls")


@dataclass(slots=True)
class RescueResult:
    """What was found in the damaged database, what of it is in the new one, and where the damaged one is now."""

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
    """Salvage what cannot be made again into a new database; everything else is digested anew from the files.

    The damaged database gets a dated name beside the new one. Until the last moment nothing is changed, so whoever is
    interrupted begins again.
    """
    vault = Vault(root)
    state = Path(settings.state_dir).expanduser() if settings.state_dir else vault.root / STATE
    target = state / FILE_NAME
    if not state.is_dir() or not (target.exists() or Path(f"{target}-wal").exists()):
        raise UsageError(f"{vault.root}: there is no database to rescue; 'chyme digest' or 'chyme serve' makes one")
    with _only_one(state):
        copies.refuse_in_use(target)
        problem = diagnose(target, SCHEMA)
        if problem is None and not force:
            raise UsageError(
                f"{target} is not damaged: there is nothing to rescue; --force builds it anew all the same"
            )
        captures = frozenset(
            name for one in digesters.load(config_of(settings)).registry if one.captures for name in one.outputs
        )
        found = salvage(_source(target), captures)
        done = RescueResult(
            os.fspath(vault.root),
            problem,
            found.pages.total,
            found.pages.damaged,
            {kind: len(getattr(found, kind)) for kind in KINDS},
            dry_run,
            identity=found.identity is not None,
        )
        if dry_run:
            done.files = sum(os.path.isfile(vault.disk_path(decode_path(old.path))) for old in found.files.values())
            return done
        with temporary_folder(state, PREFIX) as folder:
            with open_app(vault.root, replace(settings, state_dir=os.fspath(folder / "new")), create=True) as app:
                _scan(app)
                _put_back(app, found, done)
            fresh = folder / "new" / FILE_NAME
            copies.remove_owner(fresh)
            copies.merge_journal(fresh)
            copies.refuse_in_use(target)
            shutil.rmtree(state / VECTORS, ignore_errors=True)  # a cache, of numbers that are given again
            done.aside = _replace(fresh, target)
    return done


@contextlib.contextmanager
def _only_one(state: Path) -> Iterator[None]:
    handle = os.open(state, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise VaultError(f"{state}: another 'chyme rescue' is at work here; wait until it ends") from error
    finally:
        os.close(handle)


def _source(target: Path) -> Path:
    """Where the damaged database is read from: a rescue that was killed may have put its journal aside already."""
    if not Path(f"{target}-wal").exists() and target.exists():
        for aside in sorted(target.parent.glob(f"{target.stem}.damaged-*{target.suffix}"), reverse=True):
            if aside.samefile(target) and Path(f"{aside}-wal").exists():
                return aside
    return target


def _scan(app: App) -> None:
    """Take in every file that is there."""
    app.scan()
    deadline = time.monotonic() + SETTLE_SECONDS
    while app.scanner.unfinished_count and time.monotonic() < deadline:
        time.sleep(0.1)
        app.scanner.recheck_unfinished()


def _put_back(app: App, found: SalvagedData, done: RescueResult) -> None:
    moment = iso(now())
    bound = {old_id: file for old_id, old in found.files.items() if (file := _file_of(app, old)) is not None}
    # Two files may have become one, since the other is gone: what was known of the one at this path counts.
    bound = dict(sorted(bound.items(), key=lambda one: found.files[one[0]].path != one[1].path))
    new_ids = {old_id: file.id for old_id, file in bound.items()}
    done.files, _ = files.counts(app.database.read())

    def put_rows(db: Connection) -> None:
        if found.identity is not None:
            salvaged_rows.put_identity(db, found.identity)
        done.saved["tag_rules"] = salvaged_rows.put_rules(db, found.tag_rules)
        done.saved["people"], done.saved["voices"] = salvaged_rows.put_people(db, found, new_ids)
        done.saved["renames"] = salvaged_rows.put_renames(db, found.renames, new_ids)
        done.saved["ai_calls"] = salvaged_rows.put_calls(db, found.ai_calls, new_ids)

    app.database.write(put_rows)
    edits = defaultdict[int, dict[str, object]](dict)
    for (old_id, name), (value, _) in found.edits.items():
        edits[old_id][name] = json.loads(value)
    done.saved["edits"] = done.saved["captures"] = 0
    heard = {row[1] for row in found.voices.values()}
    captured = defaultdict[int, list[str]](list)
    for old_id, output in found.captures:
        captured[old_id].append(output)
    for old_id, file in reversed(bound.items()):
        if old_id in captured:
            captures = find_intact_captures(found, old_id, found.files[old_id], file, captured[old_id])
            done.saved["captures"] += _put_captures(app, file, captures, moment)
        for name, given in edits.get(old_id, {}).items():
            done.saved["edits"] += _try(
                app,
                partial(put_edits_back, file=file, values={name: given}, now=moment, refresh_names=file_terms.rewrite),
            )
        if old_id in heard:
            app.database.write(partial(file_terms.rewrite, file_id=file.id))


def _put_captures(app: App, file: File, captures: list[Capture], moment: str) -> int:
    """How many are in the new database. One that it refuses does not keep the others out."""
    put = partial(put_captures_back, rules=app.rules, file=file, now=moment)
    if _try(app, partial(put, captures=captures)):
        return len(captures)
    return sum(_try(app, partial(put, captures=[one])) for one in captures)


def _try(app: App, work: Callable[[Connection], object]) -> bool:
    """Whether the database took it. What was salvaged may be anything: a number for a text, half a letter."""
    try:
        app.database.write(work)
    except (sqlite3.IntegrityError, UnicodeError, RecursionError):
        return False
    return True


def _file_of(app: App, old: OldFile) -> File | None:
    """The file that is at the same path, or else the only one with the same content."""
    db = app.database.read()
    file = files.by_path(db, old.path)
    if file is None and old.hash:
        alike = files.same_content(db, old.hash, 2)
        file = alike[0] if len(alike) == 1 else None
    return file


def _replace(fresh: Path, target: Path) -> list[str]:
    """Put the new database in place. The damaged one and its journal have their dated names before anything goes."""
    stamp = now().strftime("%Y%m%dT%H%M%S%fZ")
    aside = target.with_name(f"{target.stem}.damaged-{stamp}{target.suffix}")
    kept = []
    for end in ("-wal", ""):
        source, becomes = Path(f"{target}{end}"), Path(f"{aside}{end}")
        if source.exists():
            try:
                os.link(source, becomes)
            except OSError:  # a disk without links
                shutil.copy2(source, becomes)
            kept.append(os.fspath(becomes))
    _sync(target.parent)
    for end in ("-wal", "-shm"):  # they must not be read into the new one
        Path(f"{target}{end}").unlink(missing_ok=True)
    with fresh.open("rb") as stream:
        os.fsync(stream.fileno())
    fresh.replace(target)
    _sync(target.parent)
    return kept[::-1]


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
