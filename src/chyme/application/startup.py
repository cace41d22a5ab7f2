"""Updates the database before digestion begins: after a crash, an upgrade, changed settings or new engines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from sqlite3 import Connection

from chyme.application.digester_config import fingerprints_of
from chyme.application.settings import Settings
from chyme.application.vault_search import VaultSearch
from chyme.core.clock import now
from chyme.core.pipeline.crash_recovery import recover
from chyme.core.pipeline.document_state import STATE_RULES
from chyme.core.pipeline.output_updates import update_document
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.pipeline.removed_digesters import requeue_restored_outputs, skip_removed_outputs
from chyme.core.store import digest_queue, digests, documents, files, outdated_digests, vault_properties
from chyme.core.store.sqlite.database import Database
from chyme.model import iso
from chyme.models.providers.call_ledger import CallLedger
from chyme.vault.open_vault import OpenVault


def prepare(
    open_vault: OpenVault, rules: Rules, settings: Settings, ledger: CallLedger, search_index: VaultSearch
) -> None:
    """Recover from a crash, add rows for new digesters, and retry where an engine has become available.

    Last, pending outputs without a digester are skipped: otherwise they would be waited for without end.
    """
    database = open_vault.database
    open_vault.staging.sweep()
    recover(database, rules, now())
    _retry_unavailable(database, rules.recipes())
    open_vault.registry.add_missing_digests()
    requeue_restored_outputs(database, rules, now())
    _update_states(database, rules)
    _update_lanes(database, rules)
    ledger.requeue_after_changes(fingerprints_of(settings))
    requeue_disclosed(open_vault, rules)
    search_index.prepare()
    skip_removed_outputs(database, rules, now())


def adopt_settings(open_vault: OpenVault, rules: Rules, settings: Settings, ledger: CallLedger) -> None:
    """The part of `prepare` that follows from settings, after they were changed while chyme runs."""
    _retry_unavailable(open_vault.database, rules.recipes())
    _update_lanes(open_vault.database, rules)
    ledger.requeue_after_changes(fingerprints_of(settings))
    requeue_disclosed(open_vault, rules)


def detect_new_engines(database: Database, rules: Rules) -> bool:
    """Retry what failed because an engine was missing that is available now. Return whether there is any."""
    before = set(rules.recipes())
    rules.refresh_recipes()
    appeared = [recipe for recipe in rules.recipes() if recipe not in before]
    _retry_unavailable(database, appeared)
    return bool(appeared)


def _retry_unavailable(database: Database, recipes: Sequence[tuple[str, str]]) -> None:
    """Retry what failed because these engines were missing."""
    for name, recipe in recipes:
        database.write(
            lambda db, name=name, recipe=recipe: digest_queue.wake_unavailable(db, name, recipe, iso(now()))  # type: ignore[misc]
        )


def _update_states(database: Database, rules: Rules) -> None:
    """Update documents whose state an older chyme decided by other rules; once after an upgrade."""

    def decide(db: Connection) -> None:
        for file_id in documents.find_inconsistent(db):
            file = files.by_id(db, file_id)
            if file is not None:
                update_document(db, rules, file, digests.of_file(db, file_id), iso(now()))
        vault_properties.put(db, "state_rules", str(STATE_RULES))

    if vault_properties.value_of(database.read(), "state_rules") != str(STATE_RULES):
        database.write(decide)


def _update_lanes(database: Database, rules: Rules) -> None:
    """Move digests to other lanes if changed settings require it."""
    lanes = rules.lanes()
    current = json.dumps(lanes, sort_keys=True)
    before = vault_properties.value_of(database.read(), "lanes")
    if before == current:
        return
    old_lanes = json.loads(before) if before else {}

    def change(db: Connection) -> None:
        for name, lane in lanes.items():
            if old_lanes.get(name) != lane:
                digest_queue.change_lane(db, name, lane)
        vault_properties.put(db, "lanes", current)

    database.write(change)


def requeue_disclosed(open_vault: OpenVault, rules: Rules) -> None:
    """Make digests again that were made locally because their file was private, and is not any more."""
    found: dict[int, list[str]] = {}
    for digester in rules.registry:
        for name in digester.outputs:
            for file_id, path in outdated_digests.list_private(open_vault.database.read(), name):
                if not open_vault.private(path):
                    found.setdefault(file_id, []).append(name)

    def requeue_all(db: Connection) -> None:
        for file_id, names in found.items():
            outdated_digests.requeue(db, file_id, names, iso(now()))

    if found:
        open_vault.database.write(requeue_all)
