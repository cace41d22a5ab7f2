"""Everything that runs while a vault is being digested."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chyme.application.bulk_jobs import BulkJobThread
from chyme.application.settings import Settings
from chyme.core.children.runner import Family, Runner
from chyme.core.clock import now
from chyme.core.outbound.connection_server import ConnectionServer
from chyme.core.outbound.guard import Guard
from chyme.core.outbound.policy import policy_of
from chyme.core.pipeline.coordinator import Allowance, Coordinator
from chyme.core.pipeline.progress.attempt_results import COMPLETED, AttemptResult
from chyme.core.pipeline.scheduler import FileScheduler
from chyme.core.store import digest_queue, files
from chyme.errors import ChymeError, DatabaseDamaged, UsageError, VaultGone
from chyme.model import Lane, iso
from chyme.models.local.model import close_all
from chyme.models.providers.cancellation import cancel_calls
from chyme.vault.watch.watcher import Watcher

if TYPE_CHECKING:
    from chyme.application.app import App

log = logging.getLogger(__name__)

MB = 1024 * 1024
STILL_MOVING_SECONDS = 60.0
POLL_SECONDS = 0.25
ENGINES_SECONDS = 15.0
PURGE_SECONDS = 3600.0


@dataclass(frozen=True)
class Progress:
    """How far a digestion is, for whoever watches."""

    todo: int
    running: int
    again: int
    moving: int
    work: tuple[tuple[str, str, float], ...]  # path, digester, fraction
    paused: str | None
    next_retry: str | None
    later: int = 0  # files of jobs that can only be begun with when others have ended


class Digestion:
    """Everything that runs while a vault is being digested."""

    def __init__(self, app: App, follow: bool, among: frozenset[int] | None) -> None:
        settings = app.settings
        self._app = app
        self._among = among
        families = _families(settings)
        self._door = ConnectionServer(Guard(policy_of(settings.web_allow), settings.web_delay))
        self.runner = Runner(
            "chyme.digesters:in_child",
            app.config_of_children(),
            families,
            run_as=(settings.child_uid, settings.child_uid),
            scratch_bytes=settings.scratch_mb * MB,
            answer_bytes=settings.answer_mb * MB,
            door=self._door,
        )
        embedding = settings.embedding_threads or settings.cores
        threads = {"speech": settings.speech_threads or settings.cores, "embedding": embedding, "meaning": embedding}
        allowed = {name: Allowance(one.memory_bytes, threads.get(name, 1)) for name, one in families.items()}
        self.coordinator = Coordinator(
            app.database,
            app.rules,
            self.runner,
            app.vault,
            app.state / "scratch",
            now,
            lambda f: allowed.get(f, allowed["parsers"]),
            app.ledger,
            self._finished,
        )
        self.pause = self.coordinator.pause
        self.scheduler = FileScheduler(
            *(app.database, self.coordinator, settings.concurrency, now, self._look_at, among, settings.cores),
            places={
                Lane.LONG: families["speech"].count,
                Lane.AWAY: families["web"].count,
                Lane.MODEL: settings.model_calls,
                Lane.MEANING: families["meaning"].count,
            },
        )
        self.watcher = Watcher(
            os.fspath(app.vault.root),
            app.scanner,
            self.scheduler.wake,
            settings.rescan_seconds,
            report_full=lambda reason: self.pause.disk.pause(reason, self.pause.disk.resumed),
        )
        self._stop = threading.Event()
        self._purged = time.monotonic()
        chores = (self._keep_house, self._stop, ENGINES_SECONDS)
        self._housekeeping = threading.Thread(target=run_periodically, args=chores, name="chyme-house", daemon=True)
        self.coordinator.recover()
        app.file_registry.on_change = self.scheduler.wake
        self._settling = follow
        self._pump = BulkJobThread(app.bulk)
        if among is None:  # whoever digests a few files leaves the jobs to others
            self._pump.start()
        if follow:
            self.watcher.start()
            self._housekeeping.start()
        self.scheduler.start()

    def close(self) -> None:
        """Stop at once: running attempts are given back without loss."""
        self._stop.set()
        self._pump.close()
        self.coordinator.stop()
        self.watcher.close()
        self.runner.close()
        with cancel_calls():  # calls under way, and those that begin meanwhile, end at once
            close_all()
            self.scheduler.close()
        self._door.close()
        self.coordinator.close()
        if self._housekeeping.is_alive():
            self._housekeeping.join()

    def _finished(self, one: AttemptResult) -> None:
        """Count an attempt; where the setting says so, keep the links of a text that was read."""
        self._app.attempt_metrics.record(one)
        if self._app.settings.keep_links and one.digester == "search-keyword" and one.outcome == COMPLETED:
            from chyme.vault.intake.text_links import keep_new_links  # which needs the app that starts us

            keep_new_links(self._app.open_vault, one.path)

    def _look_at(self, file_id: int) -> None:
        file = files.by_id(self._app.database.read(), file_id)
        if file is not None:
            disk = self._app.vault.disk_path(file.path, file.escaped)
            self.watcher.rescan_path(disk.removeprefix(os.path.join(os.fspath(self._app.vault.root), "")))

    def _keep_house(self) -> None:
        """The chores of the house; damage of the database is told elsewhere, once."""
        try:
            self._do_chores()
        except sqlite3.Error as error:
            self._app.database.log_failure(log, "housekeeping is put off", error)
        except DatabaseDamaged:
            return

    def _do_chores(self) -> None:
        """Notice engines that were installed meanwhile, tidy up, and once an hour purge what vanished long ago."""
        if self._app.detect_new_engines():
            self.scheduler.wake()
        if time.monotonic() - self._purged >= PURGE_SECONDS:
            self._purged = time.monotonic()
            try:
                self._app.purge(everything=False, confirmed=False)
            except UsageError as error:
                log.warning("%s", error)
        self._app.search_index.finish_embedder_migration()

    def progress(self) -> Progress:
        db = self._app.database.read()
        counts = (
            digest_queue.count_unfinished(db)
            if self._among is None
            else digest_queue.count_unfinished_among(db, self._among)
        )
        todo, running, again = counts
        of_jobs = self._app.bulk.count_waiting_files() if self._among is None else 0
        due = of_jobs > 0 and self._app.bulk.has_due_files()
        models, when = self._app.ledger.count_due_soon(self._among)
        return Progress(
            todo + len(self.scheduler.requested_files()) + (of_jobs if due else 0),
            running,
            again + models,
            self.watcher.unfinished_count,
            tuple(self.coordinator.in_flight.running.values()),
            self.pause.reason(),
            min((at for at in (digest_queue.next_retry(db), when) if at), default=None),
            0 if due else of_jobs,
        )

    def drain(self, wait: bool, watch: Callable[[Progress], None] | None = None) -> Progress:
        """Return when nothing is due any more; with `wait`, retries that come later are waited for."""
        if not self._settling:
            self._settling = True
            self.watcher.start(follow=False)
        self.scheduler.wake()
        moving_since = time.monotonic()
        while True:
            progress = self.progress()
            if watch is not None:
                watch(progress)
            if not progress.moving:
                moving_since = time.monotonic()
            patient = progress.moving and time.monotonic() - moving_since < STILL_MOVING_SECONDS
            if not (progress.todo or progress.running or patient or self.coordinator.in_flight.files()):
                overdue = progress.next_retry is not None and progress.next_retry <= iso(now())
                if (not progress.again or not (wait or overdue)) and not self._more_of_jobs():
                    return progress
            self._stop.wait(POLL_SECONDS)

    def _more_of_jobs(self) -> bool:
        """Count off what ended last, so that no job stays open behind us. Whether there is more to do."""
        if self._among is not None:
            return False
        self._app.bulk.advance()
        return self.progress().todo > 0


def run_periodically(chore: Callable[[], None], stop: threading.Event, seconds: float) -> None:
    """Do a chore every so many seconds until told to stop, however it ends: another time it may go well."""
    while not stop.wait(seconds):
        try:
            chore()
        except VaultGone:
            continue
        except ChymeError as error:
            log.warning("housekeeping is put off: %s", error)
        except Exception:  # without this thread it is never done again, and nobody would be told
            log.exception("housekeeping is put off")


MOST_CHILDREN = {
    "speech": 4,
    "web": 4,
    "embedding": 2,
    "meaning": 2,
}  # each takes half a gigabyte; a long recording keeps all cores busy by itself
PER_CORE = {"web": 2}  # they mostly wait for strangers


def _families(settings: Settings) -> dict[str, Family]:
    """Children by what they load. A model that was loaded once is no reason to start a child anew."""
    families = {
        "parsers": ("parser", 768 * MB),
        "text": ("text", 256 * MB),
        "pictures": ("picture", 1024 * MB),
        "pages": ("page", 512 * MB),
        "media": ("media", 256 * MB),
        "speech": ("speech", 1024 * MB),
        "web": ("web", 768 * MB),
        "embedding": ("embedding", 512 * MB),
        "meaning": ("embedding", 512 * MB),  # by itself: the tags of a note do not wait until a book is embedded
    }
    return {
        family: Family(
            getattr(settings, f"{name}_children") or _children(family, settings.cores),
            getattr(settings, f"{name}_memory_mb") * MB,
            settings.child_idle_seconds,
            recycle_growth_bytes=growth,
            memory_setting=f"{name}_memory_mb",
            door=family == "web",
        )
        for family, (name, growth) in families.items()
    }


def _children(family: str, cores: int) -> int:
    wanted = cores * PER_CORE.get(family, 1)
    return min(wanted, MOST_CHILDREN.get(family, wanted))
