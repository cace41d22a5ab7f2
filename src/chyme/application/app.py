"""One open vault, with everything that the command line, HTTP and MCP need."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chyme import digesters
from chyme.answers.answering import Answering
from chyme.application.asking import create_answering
from chyme.application.attempt_metrics import AttemptMetrics
from chyme.application.bookmark_export import BookmarkExport
from chyme.application.bulk_jobs import BulkJobs
from chyme.application.digester_config import (
    allowances_of,
    config_of,
    engine_settings_of,
    local_providers_of,
    providers_of,
    without_secrets,
)
from chyme.application.digester_list import DigesterInfo, OutputCounts, list_digesters
from chyme.application.digestion import Digestion, DigestionParts
from chyme.application.disk_usage import DiskUsage, measure_disk_usage
from chyme.application.document_queries import Documents
from chyme.application.event_broadcast import Broadcast
from chyme.application.import_jobs import ImportJobs
from chyme.application.mailbox_config import mailbox_settings
from chyme.application.model_trial import ModelTrial
from chyme.application.paperless_export import PaperlessExport
from chyme.application.private_patterns import PrivatePatterns
from chyme.application.progress import ProgressTracker
from chyme.application.recent_events import RecentEvent, describe_events
from chyme.application.recorders import recorders_of
from chyme.application.settings import Settings, read_settings
from chyme.application.settings_changes import SettingsEditor
from chyme.application.share_selection import select_files
from chyme.application.spending import Spending
from chyme.application.startup import adopt_settings, detect_new_engines, prepare
from chyme.application.vault_counts import CountCache, VaultCounter
from chyme.application.vault_export import VaultExport
from chyme.application.vault_search import VaultSearch
from chyme.core.clock import now
from chyme.core.files.permissions import tighten_state
from chyme.core.files.vault_folder import STATE, Vault, decode_path
from chyme.core.pipeline.again import OutdatedDigester, Reprocessing, find_outdated, reprocess, request_again
from chyme.core.pipeline.failure_groups import Failures
from chyme.core.pipeline.pending_digests import PendingDigest, await_settled
from chyme.core.pipeline.plan import with_dependents
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.pipeline.retry_policy import RetryPolicy
from chyme.core.store import events, files, vault_properties
from chyme.core.store.sqlite.damage import refuse_lost
from chyme.core.store.sqlite.database import FILE_NAME, Database
from chyme.core.store.sqlite.read_only import read_only_error
from chyme.documents.pages.pdf_renderer import PdfPageRenderer
from chyme.errors import ChymeError, UsageError, VaultError
from chyme.imports.importing import Importer
from chyme.mailbox.mailbox import Mailbox
from chyme.model import Again, Digest, File, Mode, iso
from chyme.models.providers.call_ledger import CallLedger
from chyme.search.file_list import FileList
from chyme.search.match_location import spans_of
from chyme.search.saved_searches import SavedSearches
from chyme.search.tables import file_terms
from chyme.sharing.share_links import ShareLinks
from chyme.speech.people.edits import People
from chyme.understanding.edits import Edits
from chyme.understanding.tags.rename_merge_ban import VaultTags
from chyme.vault.file_registry import FileRegistry
from chyme.vault.intake.upload_limits import UploadLimits
from chyme.vault.open_vault import OpenVault
from chyme.vault.trash import Trash
from chyme.vault.vanished_files import PURGE_WAITS, purge_vanished
from chyme.vault.watch.pending_files import ScanReport

if TYPE_CHECKING:
    from chyme.workers.worker_report import WorkersReport

SETTLE_SECONDS = 2.0
THROUGHPUT_SECONDS = 10.0  # after a day with a million digests, counting them takes two seconds
PATIENCE_SECONDS = 60.0  # for a file that makes no progress
CHECK_SECONDS = 0.5  # for a check of the database before digestion starts
LONG_CHECK_SECONDS = 10.0  # for a check after an unexpected error
# Errors due to damage that SQLite does not notice: overwritten texts, numbers, archives, references between rows.
DAMAGE_ERRORS = (sqlite3.Error, ValueError, TypeError, LookupError, AssertionError, AttributeError, zlib.error)


@contextlib.contextmanager
def open_app(root: Path, settings: Settings | None = None, *, create: bool = True) -> Iterator[App]:
    """Open a vault, and close it afterwards."""
    app = App(root, settings, create=create)
    try:
        yield app
    except ChymeError:
        raise
    except Exception as error:
        explained = _explain(app.database, error)
        if explained is error:
            raise
        raise explained from error
    finally:
        app.close()


def _explain(database: Database, error: Exception) -> BaseException:
    """Return DatabaseDamaged for an error that a damaged database caused, otherwise the error itself."""
    explained = database.explain(error)
    if explained is error and isinstance(error, DAMAGE_ERRORS):
        return database.quick_check(LONG_CHECK_SECONDS) or error
    return explained


@dataclass(frozen=True, slots=True)
class RedoCounts:
    """How much a request to make digests again affects."""

    files: int
    digests: int  # that were put back into the queue; a reset happens when the file is taken next


class App:
    """One open vault. It can be read at once; `start` begins to digest. Must be closed."""

    def __init__(self, root: Path, settings: Settings | None = None, *, create: bool = False) -> None:
        self.vault = Vault(root)
        own_state = self.vault.root / STATE
        self.settings = settings or read_settings(own_state, os.environ)
        self.settings_editor = SettingsEditor(own_state, os.environ, lambda: self.settings, self._adopt_settings)
        state = Path(self.settings.state_dir).expanduser() if self.settings.state_dir else own_state
        if not create and not (state / FILE_NAME).exists():
            refuse_lost(state / FILE_NAME)
            raise UsageError(f"{self.vault.root}: is not a vault yet; 'chyme digest' or 'chyme serve' makes it one")
        self.state = state
        config = config_of(self.settings)
        self.child_config = without_secrets(config)  # for child processes, which have no network to use secrets with
        self.providers = providers_of(self.settings)  # prefix of a model's settings → its description
        loaded = digesters.load(config)
        self.problems = loaded.problems
        self.rules = Rules(
            loaded.registry,
            RetryPolicy(max_attempts=self.settings.max_attempts),
            recorders_of(self.settings.voice_similarity),
        )
        changed = threading.Event()
        self.database = Database(state, on_commit=changed.set, root=self.vault.root)
        if state != own_state:
            tighten_state(own_state)
            self._claim_state_folder()
        self._output_counts = OutputCounts(self.database)
        self.documents = Documents(self.database, self.rules, now)
        self.people = People(self.database, now, file_terms.rewrite)
        self.file_list = FileList(self.database, now)
        self.tags = VaultTags(self.database, now, file_terms.rewrite)
        self.edits = Edits(self.database, now, file_terms.rewrite)
        self.file_registry = FileRegistry(self.database, self.rules, now)
        self.open_vault = OpenVault(
            *(self.vault, self.database, self.file_registry, state),
            UploadLimits(self.settings.upload_files, self.settings.upload_bytes, self.settings.upload_free_mb),
        )
        self.private, self.scanner = self.open_vault.private, self.open_vault.scanner
        self.ledger = CallLedger(
            *(self.database, now, allowances_of(self.settings), self.private),
            local_providers=local_providers_of(self.settings),
            max_attempts=self.settings.max_attempts,
        )
        self.spending = Spending(self.ledger, lambda: self.providers, now, self._wake_up)
        self.model_trial = ModelTrial(self.ledger)
        self.private_patterns = PrivatePatterns(self.open_vault, self.rules, self._wake_up)
        self.search_index = VaultSearch(
            self.database, self.settings, state, self.ledger, now, self.private, self.rules.form_of
        )
        self.search = self.search_index.search
        self.saved_searches = SavedSearches(self.database, lambda: self.search, now)
        self.shares = ShareLinks(self.database, self.private, now)
        self.answering = self._create_answering()
        self.bulk = BulkJobs(self.database, self.rules, lambda: self.search, self.private, now, self._wake_up)
        self.failures = Failures(self.database, self.rules, now, self._wake_up)
        self.page_renderer = PdfPageRenderer(
            *(self.database, self.vault, state, spans_of),
            image_pixels=self.settings.image_pixels,
            memory_bytes=self.settings.page_memory_mb << 20,
            run_as=(self.settings.child_uid, self.settings.child_uid),
        )
        self.mailbox = Mailbox(self.open_vault, mailbox_settings(self.settings), now)
        self.trash = Trash(self.open_vault, self.page_renderer.delete_purged_pages)
        self._add_imports_and_exports()
        self.attempt_metrics = AttemptMetrics()
        self.progress = ProgressTracker(
            *(self.database, self.rules, self.ledger, lambda: self.providers, self.bulk, self.attempt_metrics),
            lambda: self._digestion,
        )
        self._throughput = CountCache(self._count_throughput, THROUGHPUT_SECONDS)
        self.vault_counter = VaultCounter(self.database, self.rules)
        self.broadcast = Broadcast(
            self.database,
            changed,
            lambda: self.progress.report().as_json(),
            self.documents.stale_since,
            self.progress.pause_reason,
            self.progress.summarize_workers,
        )
        self._digestion: Digestion | None = None

    def _create_answering(self) -> Answering:
        return create_answering(
            *(self.database.read, self.settings, config_of(self.settings).get("language"), self.search_index),
            *(self.ledger, self.private, self.providers),
        )

    def _add_imports_and_exports(self) -> None:
        self.export = VaultExport(
            *(self.vault.root, self.database, self.rules, self.documents, self.people, self.tags, self.spending)
        )
        self.paperless_export = PaperlessExport(self.vault, self.database, self.rules)
        self.bookmark_export = BookmarkExport(self.vault, self.database)
        self.importer = Importer(self.open_vault, now, file_terms.rewrite)
        self.imports = ImportJobs(self.open_vault, self.importer, now)

    def _claim_state_folder(self) -> None:
        """Refuse a state_dir of another vault: two in one database would take each other's files for vanished."""
        root = os.fspath(self.vault.root)
        recorded_root = vault_properties.value_of(self.database.read(), "root")
        if recorded_root not in (None, root) and Path(str(recorded_root)).is_dir():
            self.database.close()
            raise VaultError(
                f"{self.state} holds the state of the vault {recorded_root}; give {root} a state_dir of its own "
                f"(in {self.vault.root / STATE}/settings.toml)"
            )
        if recorded_root != root and not self.database.read_only:
            self.database.write(lambda db: vault_properties.put(db, "root", root))

    @property
    def digestion(self) -> Digestion:
        """The running digestion; raises UsageError before `start`."""
        if self._digestion is None:
            raise UsageError("digestion has not been started")
        return self._digestion

    @property
    def is_digesting(self) -> bool:
        """Whether this process digests."""
        return self._digestion is not None

    def start(self, *, follow: bool, only_files: frozenset[int] | None = None) -> Digestion:
        """Begin to digest what is due (of `only_files`, if given); with `follow`, watch the folder as well.

        Raises DatabaseDamaged before anything is written if damage is visible at once.
        """
        if self.database.read_only:
            raise read_only_error(self.database.path)
        damaged = self.database.quick_check(CHECK_SECONDS)
        if damaged is not None:
            raise damaged
        prepare(self.open_vault, self.rules, self.settings, self.ledger, self.search_index)
        parts = DigestionParts(
            *(self.open_vault, self.rules, self.settings, self.child_config, self.ledger, self.bulk),
            *(self.search_index, self.attempt_metrics),
            purge=lambda: self.purge(everything=False, confirmed=False),
            mailbox=self.mailbox,
        )
        self._digestion = Digestion(parts, follow, only_files)
        self.open_vault.rescan_path = self._digestion.watcher.rescan_path
        self.search_index.start(warm=follow)
        if follow:
            self.imports.resume()
        return self._digestion

    def _adopt_settings(self, settings: Settings) -> None:
        """Go on with other settings. Work under way starts again where digesters change, and goes on where not."""
        config = config_of(settings)
        before = (config_of(self.settings), engine_settings_of(self.settings))
        same_work = (config, engine_settings_of(settings)) == before
        child_config, registry = without_secrets(config), digesters.load(config).registry

        def adopt() -> None:
            self.settings, self.providers, self.child_config = settings, providers_of(settings), child_config
            self.answering = self._create_answering()
            self.ledger.adopt(allowances_of(settings), local_providers_of(settings))
            if not same_work:
                self.rules.adopt(registry)
            if not self.database.read_only:
                adopt_settings(self.open_vault, self.rules, settings, self.ledger)

        if self._digestion is None or same_work:
            adopt()
        else:
            self._digestion.restart_engine(settings, child_config, adopt)
        self._wake_up()

    def close(self) -> None:
        self.imports.close()
        if self._digestion is not None:
            self._digestion.close()
        self.search_index.close()
        self.page_renderer.close()
        self.broadcast.close()
        self.database.close()

    def fetch_mailbox_soon(self, retry_skipped: bool) -> None:
        """Have the mailbox fetched now, in the background; with `retry_skipped`, what was skipped as well."""
        if retry_skipped:
            self.mailbox.retry_skipped()
        if not self.mailbox.settings.enabled:
            raise UsageError("no mailbox is set up; set imap_host, imap_user and imap_password")
        self.digestion.fetch_mailbox()

    def workers_report(self) -> WorkersReport | None:
        """Describe the workers on other machines; None where none are set up, or this process does not digest."""
        return None if self._digestion is None else self._digestion.workers_report()

    def remote_attempt_totals(self) -> dict[tuple[str, str], int]:
        """Count the attempts on workers since the start, by worker and outcome: done, failed, lost, late."""
        return {} if self._digestion is None else self._digestion.remote_attempt_totals()

    def list_digesters(self) -> list[DigesterInfo]:
        """Return all digesters in the order in which they run, with the state of their digests."""
        return list_digesters(self.database, self._output_counts, self.rules, self.providers)

    def recent_events(self, count: int, limit: int) -> list[RecentEvent]:
        """Describe the last `count` events, in at most `limit` lines."""
        return describe_events(events.latest(self.database.read(), count), limit)

    def throughput(self) -> list[events.Throughput]:
        """Count the digests that ended in the last day, by output and hour."""
        return self._throughput()

    def _count_throughput(self) -> list[events.Throughput]:
        return events.throughput(self.database.read(), iso(now() - timedelta(days=1)))

    def disk_usage(self) -> DiskUsage:
        """Measure the vault's state, which takes a moment if it is large."""
        return measure_disk_usage(self.open_vault, self._digestion.watcher if self._digestion else None)

    def scan(self, paths: Sequence[str] = (), progress: Callable[[int], None] | None = None) -> ScanReport:
        """Register files that are new, changed, moved or gone."""
        if paths:
            return self.scanner.scan_paths([decode_path(path) for path in paths])
        return self.scanner.scan(progress=progress)

    def scan_and_settle(
        self,
        paths: Sequence[str] = (),
        progress: Callable[[int], None] | None = None,
        seconds: float = SETTLE_SECONDS,
    ) -> ScanReport:
        """The same, and wait a moment for files that were written just now."""
        report = self.scan(paths, progress)
        deadline = time.monotonic() + seconds
        while self.scanner.unfinished_count and time.monotonic() < deadline:
            time.sleep(0.1)
            report += self.scanner.recheck_unfinished()
        return report

    def request_again(self, mode: Mode, paths: Sequence[str], names: Sequence[str] = ()) -> RedoCounts:
        """Make digests of these files (default: all) by these digesters (default: all) again."""
        again = Again(mode, self.rules.resolve_names(names) or None)
        found = self.open_vault.files_below(paths)
        count = request_again(self.database, self.rules, [file.id for file in found], again, iso(now()))
        self._wake_up()
        return RedoCounts(len(found), count)

    def list_outdated(self, paths: Sequence[str], names: Sequence[str]) -> list[OutdatedDigester]:
        """List the digests made by older recipes, by digester, and what making them again would take."""
        if paths:
            self.open_vault.files_below(paths)  # refuses what is not there
        return find_outdated(self.database, self.rules, paths, self.rules.resolve_names(names), self.private)

    def redo(self, chosen: Sequence[OutdatedDigester]) -> int:
        """Make outdated digests again. Return how many."""
        count = 0
        for outdated in chosen:
            again = Again(Mode.OUTDATED, (outdated.digester,))
            count += request_again(self.database, self.rules, outdated.file_ids, again, iso(now()))
        self._wake_up()
        return count

    def select_files(self, paths: Sequence[str], query: str | None = None) -> list[int]:
        """Return the files at and below these paths, or those that a search finds now."""
        return select_files(self.open_vault, self.search, paths, query)

    def reprocess(self, path: str) -> Reprocessing:
        """Retry what went wrong with one document: everything that failed, or what its model could not do."""
        return reprocess(self.database, self.rules, self.vault.root.name, path, iso(now()), self._wake_up)

    def notice_engines(self) -> None:
        """Make what waited for an engine that has just appeared, without waiting for housekeeping to find it."""
        if detect_new_engines(self.database, self.rules):
            self._wake_up()

    def _wake_up(self) -> None:
        if self._digestion is not None:
            self._digestion.scheduler.wake()

    def list_purgeable(self, everything: bool) -> list[File]:
        """List the vanished files that are due to be purged, or all of them."""
        return files.vanished_before(self.database.read(), self._purge_before(everything))

    def list_vanished(self) -> list[File]:
        """List the vanished files that are not purged yet, without those in the trash."""
        return self.list_purgeable(everything=True)

    def purge_blocker(self) -> str | None:
        """Return why a user must confirm the next purge; None if no confirmation is needed."""
        return vault_properties.value_of(self.database.read(), PURGE_WAITS)

    def purge(self, everything: bool, confirmed: bool, progress: Callable[[int, int], None] | None = None) -> int:
        """Forget vanished files completely. Return how many."""
        count = purge_vanished(self.database, self.file_registry, self._purge_before(everything), confirmed, progress)
        if count:
            self.page_renderer.delete_purged_pages()
        return count

    def _purge_before(self, everything: bool) -> str:
        return iso(now() if everything else now() - timedelta(days=self.settings.purge_after_days))

    def digest_again(self, path: str, names: Sequence[str]) -> list[PendingDigest]:
        """Reset these digesters and their dependents for a file, and wait. Return the digests that are still pending.

        Digests that wait for a host, a model or a retry time are not waited for.
        """
        with self.database.snapshot() as db:
            file = files.find(db, path)
        self.request_again(Mode.RESET, [path], names)
        outputs = with_dependents(self.rules.registry, names) if names else frozenset(self.rules.outputs)
        stopping = self.digestion.coordinator.stopping
        return await_settled(self.database, file.id, outputs, PATIENCE_SECONDS, stopping)

    def current_work(self) -> dict[str, Any]:
        """Describe the current work; empty unless this process digests."""
        if self._digestion is None:
            return {}
        progress, children = self._digestion.progress(), self._digestion.runner.snapshot()
        return {
            "work": [{"path": path, "digester": name, "fraction": part} for path, name, part in progress.work],
            "paused": progress.paused,
            "moving": progress.moving,
            "watching": self._digestion.watcher.problem is None,
            "children": {"alive": len(children.children), "tasks": children.tasks, "restarts": children.restarts},
        }

    def failures_since(self, moment: str) -> list[Digest]:
        """List the digests that failed since then, except those that do not count for a document's state."""
        return [digest for digest in self.documents.failures(moment) if digest.digester not in self.rules.uncounted]
