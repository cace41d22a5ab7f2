"""Picks the next files, and keeps as many in flight as each lane has places."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from sqlite3 import Connection
from types import MappingProxyType

from chyme.core.pipeline.coordinator import Coordinator
from chyme.core.pipeline.transitions import Claim, PassResult
from chyme.core.store import digest_queue, file_requests
from chyme.core.store.sqlite.database import Database
from chyme.errors import DiskFull, VaultGone
from chyme.model import Lane, iso

log = logging.getLogger(__name__)

WAKE_SECONDS = 1.0
SWEEP_SECONDS = 60.0
REST_SECONDS = 0.6  # before a file that changed meanwhile is picked again, so that it is scanned first
QUIET_SECONDS = 1.0
SMALL = 64 * 1024
ROOM = 3  # free places that are filled together, in one transaction
ROOM_SHARE = 8  # with many places elsewhere: this part of all places
LIGHT_FILES = 4  # small texts that share a place: many go through a child and into the database together
BUNDLE = 32  # small files that one place of Lane.MEANING takes at once
BUNDLE_PASSAGES = 256  # in all files of a bundle: a book goes alone, so that notes need not wait for it
FEW = 8  # so few files are not split into two bundles
GATHER_SECONDS = 0.5  # a bundle that is not full waits this long for files that are being worked on
AHEAD = 32  # extra files to query, because some may still have work in the ordinary lane
# The lanes whose digesters a pass may start, by the lane its file was picked from. While a pass waits for a model or a
# foreign server, no other pass can take the file, so such a pass embeds the file first.
_LANES_OF_PASS = {
    lane: frozenset({Lane.ORDINARY}) if lane is Lane.ORDINARY else frozenset({Lane.ORDINARY, lane, Lane.MEANING})
    for lane in Lane
}


class FileScheduler:
    """One thread picks files, and a pool of threads works on them. Wakes on events, and at least every second."""

    def __init__(
        self,
        database: Database,
        coordinator: Coordinator,
        concurrency: int,
        clock: Callable[[], datetime],
        look_at: Callable[[int], None],
        among: frozenset[int] | None = None,
        cores: int = 2,
        places: Mapping[Lane, int] = MappingProxyType({}),
        extra_places: Callable[[Lane], int] = lambda _lane: 0,
        max_extra: int = 0,
    ) -> None:
        """`extra_places`: how many files more fit into a lane now, because other machines help; at most `max_extra`."""
        self._database = database
        self._coordinator = coordinator
        self._concurrency = concurrency
        self._clock = clock
        self._look_at = look_at
        self._cores = cores
        self._places = {**dict.fromkeys(Lane, 2), **places, Lane.ORDINARY: concurrency}
        self._among = among  # only these files; None means all
        self._extra_places = extra_places
        self._pool = ThreadPoolExecutor(sum(self._places.values()) + max_extra, thread_name_prefix="chyme-file")
        self._in_flight = coordinator.in_flight
        self._light: set[int] = set()  # files in flight that share a place of Lane.ORDINARY
        self._bundles = 0  # of Lane.MEANING, under way
        self._gathering_since: float | None = None  # when the first file of the next bundle was seen
        self._resting: dict[int, float] = {}
        self._alone: int | None = None  # the file that runs with nothing beside it
        self._ordinary_until = time.monotonic()  # when other work was last seen
        self._guard = threading.Lock()
        self._woken = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="chyme-supervisor", daemon=True)
        self.passes = 0

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Look for work now: something may be due."""
        self._woken.set()

    def close(self) -> None:
        """Start nothing more and wait for running work (close the runner first to cut it short)."""
        self._stop.set()
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join()
        self._pool.shutdown(wait=True)  # none is cancelled: each has claimed its file and must release it

    def _run(self) -> None:
        swept = asked = time.monotonic()
        while not self._stop.is_set():
            self._woken.clear()
            if self._database.damaged is not None:  # until it is restored or rescued, for which this process must end
                self._stop.wait(WAKE_SECONDS)
                continue
            if not self._coordinator.pause.disk.may_resume():
                self._stop.wait(WAKE_SECONDS)
                continue
            resumed = self._coordinator.pause.disk.resumed
            try:
                self._database.presence.require()
                if time.monotonic() - swept >= SWEEP_SECONDS:
                    swept = time.monotonic()
                    self._coordinator.recover()
                if time.monotonic() - asked >= WAKE_SECONDS:
                    asked = time.monotonic()
                    self._coordinator.wake(self._among)
                for lane in Lane:  # each has its places: even ten recordings must not keep a note from being read
                    self._take(lane)
            except VaultGone:  # already reported and logged where it was found
                self._stop.wait(WAKE_SECONDS)
                continue
            except DiskFull as error:
                self._coordinator.pause.disk.pause(str(error), resumed)
            except (
                Exception
            ) as error:  # if this thread ended, nothing would ever be digested again, without any message
                self._database.log_failure(log, "the queue could not be worked on", error)
                self._stop.wait(WAKE_SECONDS)
            self._woken.wait(WAKE_SECONDS)

    def _take(self, lane: Lane) -> None:
        """Claim as many files as there are free places, all in one transaction."""
        busy = self._in_flight.files()
        with self._guard:
            none_was_alone = self._alone is None
        moment = time.monotonic()
        self._resting = {id_: until for id_, until in self._resting.items() if until > moment}
        chosen: list[int] = []
        try:
            bundles = self._choose_all(lane, busy)
            chosen = [file_id for bundle in bundles for file_id in bundle]
            if not chosen:
                return
            self._in_flight.add_files(chosen, lane)
            taken = self._coordinator.claim(chosen, _LANES_OF_PASS[lane])
        except BaseException:
            for file_id in chosen:
                self._in_flight.remove_file(file_id)
            with self._guard:
                self._light.difference_update(chosen)
                if none_was_alone:
                    self._alone = None  # the chosen file was not started
            raise
        begun: dict[int, Claim] = {}
        for file_id, claim in zip(chosen, taken, strict=True):
            if claim is not None and claim.attempt is not None:
                begun[file_id] = claim
            else:
                self._done(file_id, PassResult.DONE)
        for bundle in bundles:
            claims = [begun[file_id] for file_id in bundle if file_id in begun]
            if lane is Lane.MEANING and claims:
                with self._guard:
                    self._bundles += 1
                self._pool.submit(self._run_bundle, claims)
            elif claims:
                # A file whose model hangs must not share a thread: others would wait behind it.
                separate = [[claim] for claim in claims]
                for shared in _group_by_thread(claims, self._cores) if lane is Lane.ORDINARY else separate:
                    self._pool.submit(self._run_claims, shared)

    def _choose_all(self, lane: Lane, busy: Mapping[int, Lane]) -> list[list[int]]:
        passed_over = set(busy) | set(self._resting)
        if lane is Lane.MEANING:
            return self._choose_bundles(passed_over, bool(busy))
        free = self._free_places(busy, lane, self._extra_places(lane))
        if free <= 0:
            return []
        if lane is not Lane.ORDINARY:
            return [self._choose(int(free), passed_over, bool(busy), lane)]
        return [self._fill_places(self._choose(int(free * LIGHT_FILES), passed_over, bool(busy), lane), free)]

    def _free_places(self, busy: Mapping[int, Lane], lane: Lane, extra: int) -> float:
        used = [file_id for file_id, busy_lane in busy.items() if busy_lane is lane]
        with self._guard:
            light = len(self._light.intersection(used))
        return self._places[lane] + extra - (len(used) - light) - light / LIGHT_FILES

    def _fill_places(self, chosen: Sequence[int], free: float) -> list[int]:
        """The first of the chosen files, as many as fit into the free places of Lane.ORDINARY."""
        light = self._coordinator.find_light(chosen)
        fitting: list[int] = []
        for file_id in chosen:
            free -= 1 / LIGHT_FILES if file_id in light else 1
            if free < 0:
                break
            fitting.append(file_id)
        with self._guard:
            self._light |= light.intersection(fitting)
        return fitting

    def _choose_bundles(self, passed_over: set[int], crowded: bool) -> list[list[int]]:
        """The next files to embed: for each free place a bundle that goes through a child together."""
        free = self._places[Lane.MEANING] + self._extra_places(Lane.MEANING) - self._bundles
        chosen = self._choose(free * BUNDLE, passed_over, crowded, Lane.MEANING) if free > 0 else []
        moment = time.monotonic()
        self._gathering_since = (self._gathering_since or moment) if chosen else None
        if not chosen or (crowded and len(chosen) < BUNDLE and moment - (self._gathering_since or 0) < GATHER_SECONDS):
            return []
        self._gathering_since = None
        return _split_into_bundles(chosen, self._coordinator.passage_counts(chosen), free)

    def _choose(self, free: int, passed_over: set[int], crowded: bool, lane: Lane) -> list[int]:
        """The next files. A file that was being worked on when chyme died more than once runs last and alone: only
        then can another crash be blamed on it."""
        if self._alone is not None:
            return []
        db, now, moment = self._database.read(), iso(self._clock()), time.monotonic()
        asked = [] if lane else [file_id for file_id in self.requested_files() if file_id not in passed_over][:free]
        chosen = dict.fromkeys(asked)
        room = free - len(chosen)
        others = bool(chosen)
        for due in self._due(db, now, room, passed_over | set(chosen), lane) if room else ():
            if due.last and (crowded or others):
                continue
            if not due.alone:
                chosen[due.file_id] = None
                others |= not due.last
            elif not crowded and not chosen and moment - self._ordinary_until >= QUIET_SECONDS:
                self._alone = due.file_id
                return [due.file_id]
        if chosen or crowded:
            self._ordinary_until = moment
        return list(chosen)

    def requested_files(self) -> list[int]:
        """Files with a stored request that no worker has started on yet."""
        waiting = file_requests.waiting_files(self._database.read(), iso(self._clock()))
        return [file_id for file_id in waiting if self._among is None or file_id in self._among]

    def _due(self, db: Connection, now: str, limit: int, busy: set[int], lane: Lane) -> list[digest_queue.DueFile]:
        max_found = limit + AHEAD if lane is Lane.MEANING else limit
        if self._among is None:
            found = digest_queue.list_due(db, now, max_found, busy, lane)
        else:
            found = digest_queue.list_due_among(db, now, self._among, max_found, busy, lane)
        if (
            lane is Lane.MEANING
        ):  # files come in the same order as in the ordinary lane, which finishes the first ones first
            ready = digest_queue.without_ordinary_work(db, [due.file_id for due in found])
            found = [due for due in found if due.file_id in ready][:limit]
        return found

    def _run_claims(self, claims: list[Claim]) -> None:
        unfinished = {claim.lease.file_id for claim in claims}

        def done(file_id: int, pass_result: PassResult) -> None:
            unfinished.discard(file_id)
            self._done(file_id, pass_result)

        try:
            self._coordinator.run_claims(claims, done)
        except Exception as error:
            self._database.log_failure(log, "a file could not be worked on", error)
        finally:
            self._database.rest()
            for file_id in list(unfinished):
                self._done(file_id, PassResult.STOPPED)

    def _run_bundle(self, claims: list[Claim]) -> None:
        try:
            self._run_claims(claims)
        finally:
            with self._guard:
                self._bundles -= 1
            self._woken.set()

    def _done(self, file_id: int, pass_result: PassResult) -> None:
        lane = self._in_flight.remove_file(file_id)
        extra = self._extra_places(Lane.ORDINARY)
        free = self._free_places(self._in_flight.files(), Lane.ORDINARY, extra)
        with self._guard:
            self._light.discard(file_id)
            if self._alone == file_id:
                self._alone = None
            self.passes += 1
            room = lane is not Lane.ORDINARY or free >= min(max(ROOM, extra // ROOM_SHARE), self._concurrency)
            room &= lane is not Lane.MEANING  # its place becomes free when the whole bundle is done
            if pass_result is not PassResult.DONE:
                self._resting[file_id] = time.monotonic() + REST_SECONDS
        if pass_result is PassResult.CHANGED:
            self._look_at(file_id)
        if room:
            self._woken.set()


def _split_into_bundles(file_ids: Sequence[int], lengths: Mapping[int, int], max_bundles: int) -> list[list[int]]:
    """Split these files, in order, into at most `max_bundles` bundles, none of them too long."""
    size = min(BUNDLE, max(FEW, -(-len(file_ids) // max_bundles)))
    bundles: list[list[int]] = []
    room = 0
    for file_id in file_ids:
        if not bundles or len(bundles[-1]) == size or lengths[file_id] > room:
            if len(bundles) == max_bundles:
                break
            bundles.append([])
            room = BUNDLE_PASSAGES
        bundles[-1].append(file_id)
        room -= lengths[file_id]
    return bundles


def _group_by_thread(claims: list[Claim], cores: int) -> list[list[Claim]]:
    """Group claims by thread: small quick files share one thread per core, every other file has its own."""
    quick = [c for c in claims if c.attempt and c.attempt.digester.runs.quick and c.attempt.file.size <= SMALL]
    shared = [group for first in range(cores) if (group := quick[first::cores])]
    return shared + [[claim] for claim in claims if claim not in quick]
