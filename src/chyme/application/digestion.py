"""Starts and stops everything that runs while a vault is being digested."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from chyme.application.attempt_metrics import AttemptMetrics
from chyme.application.bulk_jobs import BulkJobs, BulkJobThread
from chyme.application.child_families import MB, allowances, children_memory, make_families
from chyme.application.settings import Settings
from chyme.application.startup import detect_new_engines
from chyme.application.vault_search import VaultSearch
from chyme.core.children.runner import Runner
from chyme.core.clock import now
from chyme.core.outbound.connection_server import ConnectionServer
from chyme.core.outbound.guard import Guard
from chyme.core.outbound.policy import policy_of
from chyme.core.pipeline.attempt import COMPLETED, AttemptResult
from chyme.core.pipeline.coordinator import Coordinator
from chyme.core.pipeline.file_scheduler import FileScheduler
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import digest_queue, files
from chyme.errors import ChymeError, DatabaseDamaged, UsageError, VaultGone
from chyme.mailbox.mailbox import Mailbox
from chyme.mailbox.mailbox_thread import MailboxThread
from chyme.model import Kind, Lane, iso
from chyme.models.local.model import close_all
from chyme.models.providers.call_ledger import CallLedger
from chyme.models.providers.cancellation import cancel_calls
from chyme.vault.open_vault import OpenVault
from chyme.vault.watch.watcher import Watcher

if TYPE_CHECKING:
    from chyme.workers.attempt_totals import AttemptTotals
    from chyme.workers.remote_runner import RemoteRunner
    from chyme.workers.worker_report import WorkersReport

log = logging.getLogger(__name__)

STILL_MOVING_SECONDS = 60.0
POLL_SECONDS = 0.25
ENGINES_SECONDS = 15.0
PURGE_SECONDS = 3600.0


@dataclass(frozen=True)
class Progress:
    """A snapshot of how far a digestion is."""

    todo: int
    running: int
    again: int
    moving: int
    work: tuple[tuple[str, str, float], ...]  # path, digester, fraction
    paused: str | None
    next_retry: str | None
    later: int = 0  # files of jobs that can only start when others have finished


@dataclass(frozen=True)
class DigestionParts:
    """What a digestion works with."""

    open_vault: OpenVault
    rules: Rules
    settings: Settings
    child_config: Mapping[str, Any]  # of the digesters in child processes
    ledger: CallLedger
    bulk: BulkJobs
    search_index: VaultSearch
    attempt_metrics: AttemptMetrics
    purge: Callable[[], object]  # forget what vanished long ago
    mailbox: Mailbox


class Digestion:
    """Everything that runs while a vault is being digested."""

    def __init__(self, parts: DigestionParts, follow: bool, only_files: frozenset[int] | None) -> None:
        open_vault = parts.open_vault
        self._parts = parts
        self._database = open_vault.database
        self._only_files = only_files
        self._remote_totals: AttemptTotals | None = None
        self._restarting = threading.Lock()
        self._build_engine()
        self.watcher = Watcher(
            os.fspath(open_vault.folder.root),
            open_vault.scanner,
            self._wake_scheduler,
            parts.settings.rescan_seconds,
            report_full=lambda reason: self.pause.disk.pause(reason, self.pause.disk.resumed),
            expect=self._prepare_children,
        )
        self._text_readers = frozenset(
            digester.name
            for digester in parts.rules.registry
            if any(Kind.TEXT in makes.essential_for for makes in digester.traits.values())
        )
        self._mailbox_thread = MailboxThread(parts.mailbox) if follow and parts.mailbox.settings.enabled else None
        self._stop = threading.Event()
        self._last_purge = time.monotonic()
        args = (self._try_chores, self._stop, ENGINES_SECONDS)
        self._housekeeping = threading.Thread(target=run_periodically, args=args, name="chyme-house", daemon=True)
        self.coordinator.recover()
        open_vault.registry.on_change = self._wake_scheduler
        self._follows = follow
        self._watcher_started = follow
        self._job_thread = BulkJobThread(parts.bulk)
        if only_files is None:  # a process that digests only a few files leaves jobs to others
            self._job_thread.start()
        if follow:
            self.runner.preload(["words", "text"])
            self.watcher.start()
            self._housekeeping.start()
        if self._mailbox_thread is not None:
            self._mailbox_thread.start()
        if self.remote is not None:
            self.remote.start()
        self.scheduler.start()

    def _build_engine(self) -> None:
        """Make what depends on settings: children, connections, coordinator and scheduler. Nothing starts yet."""
        parts, settings, open_vault = self._parts, self._parts.settings, self._parts.open_vault
        families = make_families(settings)
        self._connection_server = ConnectionServer(Guard(policy_of(settings.web_allow), settings.web_delay))
        self.runner = Runner(
            "chyme.digesters:in_child",
            parts.child_config,
            families,
            run_as=(settings.child_uid, settings.child_uid),
            scratch_bytes=settings.scratch_mb * MB,
            answer_bytes=settings.answer_mb * MB,
            connection_server=self._connection_server,
            preload="chyme.digesters:preload",
            cores=settings.cores,
            memory_bytes=children_memory(settings),
        )
        self.remote: RemoteRunner | None = None  # only with workers on other machines
        if settings.workers_url:
            from chyme.workers.nats_client import require_nats_client

            require_nats_client()
            from chyme.application.remote_work import make_remote_runner
            from chyme.workers.attempt_totals import AttemptTotals

            self._remote_totals = self._remote_totals or AttemptTotals()
            self.remote = make_remote_runner(
                *(self.runner, settings, parts.child_config, families, parts.rules, open_vault),
                self._wake_scheduler,
            )
        allowed = allowances(settings, families)
        self.coordinator = Coordinator(
            self._database,
            parts.rules,
            self.remote or self.runner,
            open_vault.folder,
            open_vault.state / "scratch",
            now,
            lambda f: allowed.get(f, allowed["parsers"]),
            parts.ledger,
            self._record_attempt,
        )
        self.pause = self.coordinator.pause
        self.scheduler = FileScheduler(
            *(self._database, self.coordinator, settings.concurrency, now, self._rescan_file),
            *(self._only_files, settings.cores),
            places={
                Lane.LONG: families["speech"].count,
                Lane.AWAY: families["web"].count,
                Lane.MODEL: settings.model_calls,
                Lane.MEANING: families["meaning"].count,
            },
            extra_places=self._extra_places,
            max_extra=settings.remote_places if self.remote else 0,
        )

    def restart_engine(self, settings: Settings, child_config: Mapping[str, Any], adopt: Callable[[], None]) -> None:
        """Go on with other settings: attempts under way return to the queue without loss, then `adopt` is called.

        The folder is followed all the time, so that no change of a file is missed.
        """
        with self._restarting:
            if self._stop.is_set():
                return
            self._stop_engine(cancel_calls(self._parts.ledger))
            self._parts = replace(self._parts, settings=settings, child_config=child_config)
            try:
                adopt()
            finally:
                self._build_engine()
                self.coordinator.recover()
                if self._follows:
                    self.runner.preload(["words", "text"])
                if self.remote is not None:
                    self.remote.start()
                self.scheduler.start()
                self.scheduler.wake()

    def _stop_engine(self, calls_cancelled: AbstractContextManager[None], ending: bool = False) -> None:
        """Running attempts return to the queue without loss."""
        self.coordinator.stop()
        if ending:
            self.watcher.close()
        if self.remote is not None:
            self.remote.close()
        self.runner.close()
        with calls_cancelled:  # running calls, and those that begin meanwhile, end at once
            if ending:
                close_all()
            self.scheduler.close()
        self._connection_server.close()
        self.coordinator.close()

    def close(self) -> None:
        """Stop at once: running attempts return to the queue without loss."""
        self._stop.set()
        if self._mailbox_thread is not None:
            self._mailbox_thread.close()
        self._job_thread.close()
        with self._restarting:
            self._stop_engine(cancel_calls(), ending=True)
        if self._housekeeping.is_alive():
            self._housekeeping.join()

    def fetch_mailbox(self) -> None:
        """Fetch the mailbox now instead of later."""
        if self._mailbox_thread is None:
            raise UsageError("no mailbox is watched by this process; 'chyme mail --fetch' fetches it once")
        self._mailbox_thread.wake()

    def _wake_scheduler(self) -> None:
        self.scheduler.wake()

    def _extra_places(self, lane: Lane) -> int:
        """Files more in this lane, because workers elsewhere have room."""
        if self.remote is None or lane in (Lane.AWAY, Lane.MODEL):
            return 0
        return self.remote.extra_places(int(lane))

    def workers_report(self) -> WorkersReport | None:
        """Describe the workers on other machines; None where none are set up."""
        if self.remote is None:
            return None
        running = list(self.coordinator.in_flight.running.values())
        return self.remote.describe().with_fractions({(path, name): fraction for path, name, fraction in running})

    def remote_attempt_totals(self) -> dict[tuple[str, str], int]:
        """Count the attempts on workers since the start, by worker and outcome."""
        if self.remote is None or self._remote_totals is None:
            return {}
        return self._remote_totals.update(self.remote.describe())

    def _prepare_children(self) -> None:
        """Load what every file needs to be found by its words, so that the first one after a rest does not wait."""
        self.runner.preload(["words"])

    def _record_attempt(self, attempt: AttemptResult) -> None:
        """Count an attempt; with the setting keep_links, keep the links of a text that was read."""
        self._parts.attempt_metrics.record(attempt)
        if self._parts.settings.keep_links and attempt.digester in self._text_readers and attempt.outcome == COMPLETED:
            from chyme.vault.intake.text_links import keep_new_links  # needed only with this setting

            keep_new_links(self._parts.open_vault, attempt.path)

    def _rescan_file(self, file_id: int) -> None:
        file = files.by_id(self._database.read(), file_id)
        if file is not None:
            folder = self._parts.open_vault.folder
            disk = folder.disk_path(file.path, file.escaped)
            self.watcher.rescan_path(disk.removeprefix(os.path.join(os.fspath(folder.root), "")))

    def _try_chores(self) -> None:
        """Do the chores; damage of the database is logged elsewhere, once."""
        try:
            self._do_chores()
        except sqlite3.Error as error:
            self._database.log_failure(log, "housekeeping is put off", error)
        except DatabaseDamaged:
            return

    def _do_chores(self) -> None:
        """Detect newly installed engines, clean up, and once an hour purge what vanished long ago."""
        self.remote_attempt_totals()  # before workers that are gone are forgotten
        if detect_new_engines(self._database, self._parts.rules):
            self.scheduler.wake()
        if time.monotonic() - self._last_purge >= PURGE_SECONDS:
            self._last_purge = time.monotonic()
            try:
                self._parts.purge()
            except UsageError as error:
                log.warning("%s", error)
        self._parts.search_index.finish_embedder_migration()

    def progress(self) -> Progress:
        db = self._database.read()
        counts = (
            digest_queue.count_unfinished(db)
            if self._only_files is None
            else digest_queue.count_unfinished_among(db, self._only_files)
        )
        todo, running, again = counts
        job_files = self._parts.bulk.count_waiting_files() if self._only_files is None else 0
        due = job_files > 0 and self._parts.bulk.has_due_files()
        model_retries, model_retry_time = self._parts.ledger.count_due_soon(self._only_files)
        return Progress(
            todo + len(self.scheduler.requested_files()) + (job_files if due else 0),
            running,
            again + model_retries,
            self.watcher.unfinished_count,
            tuple(self.coordinator.in_flight.running.values()),
            self.pause.reason(),
            min((moment for moment in (digest_queue.next_retry(db), model_retry_time) if moment), default=None),
            0 if due else job_files,
        )

    def drain(self, wait: bool, report: Callable[[Progress], None] | None = None) -> Progress:
        """Return when nothing is due any more; with `wait`, wait for later retries, too."""
        if not self._watcher_started:
            self._watcher_started = True
            self.watcher.start(follow=False)
        self.scheduler.wake()
        moving_since = time.monotonic()
        while True:
            progress = self.progress()
            if report is not None:
                report(progress)
            if not progress.moving:
                moving_since = time.monotonic()
            patient = progress.moving and time.monotonic() - moving_since < STILL_MOVING_SECONDS
            if not (progress.todo or progress.running or patient or self.coordinator.in_flight.files()):
                overdue = progress.next_retry is not None and progress.next_retry <= iso(now())
                if (not progress.again or not (wait or overdue)) and not self._has_more_job_files():
                    return progress
            self._stop.wait(POLL_SECONDS)

    def _has_more_job_files(self) -> bool:
        """Record the last results, so that no job stays open. Return whether there is more to do."""
        if self._only_files is not None:
            return False
        self._parts.bulk.advance()
        return self.progress().todo > 0


def run_periodically(chore: Callable[[], None], stop: threading.Event, seconds: float) -> None:
    """Run a chore every so many seconds until `stop` is set, even if it fails: it may succeed the next time."""
    while not stop.wait(seconds):
        try:
            chore()
        except VaultGone:
            continue
        except ChymeError as error:
            log.warning("housekeeping is put off: %s", error)
        except Exception:  # without this thread it would silently never run again
            log.exception("housekeeping is put off")
