"""Updates the database before digestion begins: after a crash, an upgrade, changed settings or new engines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from sqlite3 import Connection
from typing import TYPE_CHECKING

from chyme.application.digester_config import fingerprints_of
from chyme.core.clock import now
from chyme.core.pipeline.crash_recovery import recover
from chyme.core.pipeline.document_state import STATE_RULES
from chyme.core.pipeline.output_updates import update_document
from chyme.core.pipeline.removed_digesters import requeue_restored_outputs, skip_removed_outputs
from chyme.core.store import digest_queue, digests, documents, files, outdated_digests, vault_properties
from chyme.model import iso

if TYPE_CHECKING:
    from chyme.application.app import App


def prepare(app: App) -> None:
    """Recover from a crash, add rows for new digesters, and retry where an engine has become available.

    Last, pending outputs without a digester are skipped: otherwise they would be waited for without end.
    """
    app.open_vault.staging.sweep()
    recover(app.database, app.rules, now())
    retry_unavailable(app, app.rules.recipes())
    app.file_registry.add_missing_digests()
    requeue_restored_outputs(app.database, app.rules, now())
    _update_states(app)
    _update_lanes(app)
    app.ledger.requeue_after_changes(fingerprints_of(app.settings))
    _redo_disclosed(app)
    app.search_index.prepare()
    skip_removed_outputs(app.database, app.rules, now())


def retry_unavailable(app: App, recipes: Sequence[tuple[str, str]]) -> None:
    """Retry what failed because these engines were missing."""
    for name, recipe in recipes:
        app.database.write(
            lambda db, name=name, recipe=recipe: digest_queue.wake_unavailable(db, name, recipe, iso(now()))  # type: ignore[misc]
        )


def _update_states(app: App) -> None:
    """Update documents whose state an older chyme decided by other rules; once after an upgrade."""

    def decide(db: Connection) -> None:
        for file_id in documents.find_inconsistent(db):
            file = files.by_id(db, file_id)
            if file is not None:
                update_document(db, app.rules, file, digests.of_file(db, file_id), iso(now()))
        vault_properties.put(db, "state_rules", str(STATE_RULES))

    if vault_properties.value_of(app.database.read(), "state_rules") != str(STATE_RULES):
        app.database.write(decide)


def _update_lanes(app: App) -> None:
    """Move digests to other lanes if changed settings require it."""
    lanes = app.rules.lanes()
    current = json.dumps(lanes, sort_keys=True)
    before = vault_properties.value_of(app.database.read(), "lanes")
    if before == current:
        return
    old_lanes = json.loads(before) if before else {}

    def change(db: Connection) -> None:
        for name, lane in lanes.items():
            if old_lanes.get(name) != lane:
                digest_queue.change_lane(db, name, lane)
        vault_properties.put(db, "lanes", current)

    app.database.write(change)


def _redo_disclosed(app: App) -> None:
    """Make digests again that were made locally because their file was private, and is not any more."""
    found: dict[int, list[str]] = {}
    for digester in app.rules.registry:
        for name in digester.outputs:
            for file_id, path in outdated_digests.list_private(app.database.read(), name):
                if not app.private(path):
                    found.setdefault(file_id, []).append(name)

    def requeue_all(db: Connection) -> None:
        for file_id, names in found.items():
            outdated_digests.requeue(db, file_id, names, iso(now()))

    if found:
        app.database.write(requeue_all)
