"""What people are told about workers, in words and figures."""

from __future__ import annotations

import json
from dataclasses import replace

from chyme.workers.attempt_totals import MAX_NAMES, OTHERS, AttemptTotals
from chyme.workers.worker_report import FitReport, RunReport, WorkerReport, WorkersReport, WorkerState

RUN = RunReport("r1", "image-ocr", "till.png", 3.0)
WORKER = WorkerReport(
    *("shed", "i1", "shed.lan", "1.0", WorkerState.LIVE, 4, 1.0, (RUN,), 7, 1, 2, 3, 0.5, None, ("image-ocr",), {})
)
REPORT = WorkersReport("photos", True, None, False, (WORKER,), {}, 0, ())


def summary(report: WorkersReport) -> str:
    return report.summarize().summary


def test_one_line_says_who_is_there_and_how_much_runs_elsewhere() -> None:
    aside = replace(WORKER, instance="i2", state=WorkerState.SET_ASIDE, running=())
    silent = replace(WORKER, instance="i3", state=WorkerState.SILENT, running=())
    assert summary(REPORT) == "connected to NATS; 1 worker; 1 attempt runs elsewhere"
    assert (
        summary(replace(REPORT, workers=(WORKER, aside, silent)))
        == "connected to NATS; 3 workers, 1 silent, 1 set aside; 1 attempt runs elsewhere"
    )
    assert summary(replace(REPORT, workers=())) == "connected to NATS; 0 workers; 0 attempts run elsewhere"


def test_without_nats_the_line_says_why_and_that_digestion_goes_on_here() -> None:
    away = replace(REPORT, connected=False, problem="connection refused", workers=())
    assert summary(away) == "not connected to NATS (connection refused); digestion goes on here"
    assert summary(replace(away, waits_for_workers=True)).endswith("what only workers may do waits")


def test_a_digester_that_fits_no_worker_is_explained_by_the_most_frequent_reasons() -> None:
    reasons = (("not among --only", 8), ("another version", 2), ("silent", 1), ("set aside", 1))
    assert FitReport(("image-ocr", "tags"), 12, reasons).describe() == (
        "image-ocr, tags: 0 of 12 workers fit, because: 8 × not among --only; 2 × another version; 1 × silent; "
        "and 1 other reason"
    )
    assert FitReport(("image-ocr",), 0, ()).describe() == "image-ocr: 0 of 0 workers fit"


def test_the_progress_of_a_run_is_found_by_file_and_digester() -> None:
    (worker,) = REPORT.with_fractions({("till.png", "image-ocr"): 0.4, ("till.png", "tags"): 0.9}).workers
    assert worker.running[0].fraction == 0.4


def test_the_report_is_plain_json() -> None:
    found = json.loads(json.dumps(REPORT.as_json()))
    assert found["enabled"] is True
    assert (found["live"], found["set_aside"], found["running"]) == (1, 0, 1)
    assert found["workers"][0]["state"] == "live"
    assert found["workers"][0]["running"] == [
        {"run": "r1", "digester": "image-ocr", "path": "till.png", "seconds": 3.0, "fraction": 0.0}
    ]


def test_totals_of_workers_grow_and_stay_when_a_worker_is_forgotten() -> None:
    totals = AttemptTotals()
    second = replace(WORKER, instance="i2", done=10)
    assert totals.update(replace(REPORT, workers=(WORKER, second)))["shed", "done"] == 17
    assert totals.update(replace(REPORT, workers=(replace(WORKER, done=8),)))["shed", "done"] == 18
    assert totals.update(replace(REPORT, workers=()))["shed", "done"] == 18
    assert totals.update(replace(REPORT, workers=(replace(WORKER, instance="i3", done=1),)))["shed", "done"] == 19
    assert totals.update(REPORT)["shed", "lost"] == 2 * 4


def test_totals_have_a_limited_number_of_names() -> None:
    totals = AttemptTotals()
    many = tuple(replace(WORKER, name=f"w{number}", done=1) for number in range(MAX_NAMES + 5))
    found = totals.update(replace(REPORT, workers=many))
    assert len({name for name, _ in found}) == MAX_NAMES + 1
    assert found[OTHERS, "done"] == 5
