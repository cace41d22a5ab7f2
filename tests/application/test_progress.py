"""The progress of a digestion: counted from the database, estimated from measurements, and equal for all readers."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from sqlite3 import Connection

import pytest
from described_vault import file_at, put
from waiting import AMPLE, wait_until

from chyme.application import progress
from chyme.application.app import App, open_app
from chyme.application.attempt_metrics import BOUNDS, AttemptMetrics
from chyme.application.bulk_jobs import Selection
from chyme.application.progress import ProgressReport
from chyme.application.settings import Settings
from chyme.application.vault_counts import CountCache
from chyme.core.pipeline.attempt import AttemptResult
from chyme.core.store import digest_counts, digests, events, files, remaining_work
from chyme.workers.worker_report import WorkersReport

pytestmark = pytest.mark.slow  # each test is quick, but there are many

FINISHED = AttemptResult("a.txt", "tags", 0, 1, "completed", None, None, 1, "run", 0.2)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with open_app(tmp_path) as opened:
        yield opened


def test_remaining_work_is_counted_by_output_and_without_vanished_files(app: App) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        put(app, name)
    db = app.database.read()
    before = remaining_work.count_todo(db)
    (app.vault.root / "b.txt").unlink()
    app.scan()

    assert set(before.values()) == {3}
    assert remaining_work.count_todo(db) == dict.fromkeys(before, 2)
    assert (
        sum(remaining_work.count_todo(db).values()) == digest_counts.by_status(db)["todo"] == app.progress.report().todo
    )
    assert app.progress.report().files == files.counts(db)[0] == 2


def test_what_a_report_says_of_workers_is_never_old(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    away = WorkersReport("photos", False, "the connection was lost", False, (), {}, 0, ()).summarize()
    back = replace(away, connected=True, problem=None)
    answers = iter((away, back))
    monkeypatch.setattr(app.progress, "summarize_workers", lambda: next(answers))
    monkeypatch.setattr(progress, "FRESH_SECONDS", AMPLE)
    assert [app.progress.report().workers, app.progress.report().workers] == [away, back]


def test_digests_that_a_running_job_has_not_requested_yet_count_as_todo(app: App) -> None:
    for number in range(60):
        put(app, f"{number}.txt")
    app.database.write(lambda db: db.execute("UPDATE digests SET status = 'completed', settled = 1").rowcount)
    job = app.bulk.start(Selection(everything=True), ["tags"])
    assert app.progress.report().todo == 60
    assert job.left == 60


def test_later_retries_are_counted_separately_and_by_their_time(app: App) -> None:
    for name in ("a.txt", "b.txt"):
        put(app, name)
    first, second = (file_at(app, name).id for name in ("a.txt", "b.txt"))

    def fail(db: Connection) -> None:
        db.execute("UPDATE digests SET status = 'completed', settled = 1 WHERE status = 'todo'")
        for file_id, at in ((first, "2026-01-01T00:00:00Z"), (second, "2999-01-01T00:00:00Z")):
            db.execute(
                """
                UPDATE digests SET status = 'failed', settled = 0, error = 'no answer', error_category = 'network',
                       retry_at = ? WHERE file_id = ? AND digester = 'tags'
                """,
                (at, file_id),
            )

    app.database.write(fail)
    report = app.progress.report()

    assert (report.todo, report.running, report.again) == (0, 0, 2)
    assert report.next_retry == "2026-01-01T00:00:00Z"
    assert report.eta_seconds is None
    assert remaining_work.count_retries_until(app.database.read(), "2027") == {"tags": 1}
    assert remaining_work.count_retries_until(app.database.read(), "9999") == {"tags": 2}


def test_the_database_remembers_how_long_outputs_took(app: App) -> None:
    file = put(app, "a.txt")

    def complete(db: Connection) -> None:
        digests.complete(db, file.id, "tags", None, "hash", None, "recipe", "input", 1500, "now")
        events.record(db, "now", "digest", file.id, file.path, "tags", "completed")

    app.database.write(complete)

    assert remaining_work.average_durations(app.database.read()) == {"tags": pytest.approx(1.5)}


def test_the_report_names_a_paused_model_that_digests_wait_for(tmp_path: Path) -> None:
    with open_app(tmp_path, Settings(llm_url="http://127.0.0.1:9/v1", llm_model="scripted")) as app:
        file = put(app, "a.txt")

        def wait(db: Connection) -> None:
            db.execute("UPDATE digests SET status = 'completed', settled = 1 WHERE status = 'todo'")
            db.execute(
                "UPDATE digests SET provider = 'llm', retry_at = NULL WHERE file_id = ? AND digester = 'tags'",
                (file.id,),
            )

        app.database.write(wait)
        app.spending.pause("llm")
        report = app.progress.report()

    assert report.paused is not None
    assert report.paused.startswith("1 digests wait for llm, which is paused: by you")
    assert report.eta_seconds is None


def test_a_real_digestion_is_followed_to_its_end(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"{number:02}.md").write_text(f"# Note {number}\n\nSomething about the moon, number {number}.\n")
    reports: list[ProgressReport] = []
    with open_app(tmp_path) as app:
        app.scan_and_settle()
        first = app.progress.report()
        assert first.todo > 40
        assert first.eta_seconds is None  # no digestion is running
        app.start(follow=False)
        deadline = time.monotonic() + AMPLE
        while (app.progress.report().todo or app.progress.report().running) and time.monotonic() < deadline:
            reports.append(app.progress.report())
            time.sleep(0.2)
        time.sleep(1.6)
        last = app.progress.report()
        durations = app.attempt_metrics.histograms()

    assert (last.todo, last.running, last.eta_seconds, last.paused) == (0, 0, None, None)
    assert last.done_lately > 40
    assert [report.todo for report in reports] == sorted((report.todo for report in reports), reverse=True)
    assert all(report.eta_seconds is None or report.eta_seconds >= 0 for report in reports)
    assert {outcome for _, outcome, _, _ in durations} == {"completed"}
    assert sum(sum(counts) for name, _, counts, _ in durations if name == "tags") == 40


def test_attempts_are_counted_by_digester_outcome_and_time() -> None:
    metrics = AttemptMetrics()
    for seconds in (0.2, 0.3, 5000.0):
        metrics.record(replace(FINISHED, seconds=seconds))
    metrics.record(replace(FINISHED, outcome="failed", category="timeout", seconds=0.0))

    (name, outcome, counts, seconds), failed = metrics.histograms()
    assert (name, outcome, sum(counts)) == ("tags", "completed", 3)
    assert seconds == pytest.approx(5000.5)
    assert (counts[BOUNDS.index(0.25)], counts[BOUNDS.index(0.5)], counts[-1]) == (1, 1, 1)
    assert failed[1:3] == ("failed", (1, *(0 for _ in BOUNDS)))


def test_an_attempt_that_was_given_back_does_not_count_for_the_typical_duration() -> None:
    metrics = AttemptMetrics()
    metrics.record(replace(FINISHED, outcome="given-back", seconds=0.001))

    assert metrics.typical_seconds("tags") is None
    assert metrics.count_last_minute() == 0


class SlowCount:
    """A count that takes `takes` seconds, by a clock that only the test moves."""

    def __init__(self, takes: float) -> None:
        self.now, self.takes, self.counted = 0.0, takes, 0
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.may_end.set()

    def clock(self) -> float:
        return self.now

    def __call__(self) -> int:
        self.begun.set()
        assert self.may_end.wait(AMPLE)
        self.counted += 1
        self.now += self.takes
        return self.counted


def test_a_fast_count_is_repeated_every_few_seconds() -> None:
    count = SlowCount(0.001)
    figure = CountCache(count, 5.0, count.clock)

    assert [figure(), figure()] == [1, 1]
    count.now += 5.1
    assert figure() == 2


def test_a_slow_count_is_repeated_seldom_and_no_caller_waits_for_it() -> None:
    count = SlowCount(0.4)  # so every 20 seconds: counting may take at most a fiftieth of the time
    figure = CountCache(count, 5.0, count.clock)
    assert figure() == 1
    count.now += 19.0
    assert figure() == 1
    count.now += 2.0
    count.begun.clear()
    count.may_end.clear()
    assert figure() == 1
    assert count.begun.wait(AMPLE)
    assert figure() == 1  # while a new count is under way
    count.may_end.set()
    wait_until(lambda: figure() == 2)


def test_a_count_that_was_not_read_for_a_long_time_is_refreshed_before_it_is_returned() -> None:
    count = SlowCount(0.4)
    figure = CountCache(count, 5.0, count.clock)
    figure()
    count.now += 3600.0

    assert figure() == 2
