"""The estimated time left of a digestion, checked against a simulated digestion whose end is known."""

from __future__ import annotations

import heapq
import itertools
import random
from collections import Counter
from dataclasses import dataclass

import pytest

from chyme.core.pipeline.eta import (
    RunningDigest,
    Throughput,
    WaitingDigests,
    remaining_seconds,
    seconds_left,
    smooth_estimate,
)


@dataclass(frozen=True)
class Sample:
    """The estimate at one moment of a simulated digestion, and the true value."""

    done: float  # share of the work
    raw: float | None
    estimate: float | None
    true: float


def simulate(work: dict[str, tuple[int, int, float]], places: dict[int, int], seed: int) -> list[Sample]:
    """Carry out `work` (digester → lane, count, mean seconds each) and take an estimate every second."""
    dice = random.Random(seed)
    queues: dict[int, list[tuple[str, float]]] = {}
    for name, (lane, count, mean) in work.items():
        queues.setdefault(lane, []).extend((name, dice.lognormvariate(0, 0.8) * mean / 1.377) for _ in range(count))
    spans: list[tuple[float, float, str, int]] = []
    for lane, queue in queues.items():
        dice.shuffle(queue)
        free = [100.0] * places[lane]
        for name, seconds in queue:
            began = heapq.heappop(free)
            heapq.heappush(free, began + seconds)
            spans.append((began, began + seconds, name, lane))
    end = max(span[1] for span in spans)
    ended = sorted(spans, key=lambda span: span[1])
    pace, samples, at, estimated_at, finished = Throughput(), [], 100.0, 100.0, 0
    before: float | None = None
    while at < end:
        while finished < len(ended) and ended[finished][1] <= at:
            began, finish, name, lane = ended[finished]
            pace.record_finished(name, lane, 1, finish - began, finish)
            finished += 1
        running = [span for span in spans if span[0] <= at < span[1]]
        waiting = Counter((span[2], span[3]) for span in spans if span[0] > at)
        concurrency = {lane: pace.concurrency(lane, [s[0] for s in running if s[3] == lane], at) for lane in places}
        waiting_digests = [
            WaitingDigests(lane, count, pace.typical_seconds(name)) for (name, lane), count in waiting.items()
        ]
        running_digests = [
            RunningDigest(s[3], remaining_seconds(at - s[0], _reported_progress(s, at), pace.typical_seconds(s[2])))
            for s in running
        ]
        raw = seconds_left(
            waiting_digests, running_digests, {lane: value for lane, value in concurrency.items() if value is not None}
        )
        before = None if raw is None else smooth_estimate(before, raw, at - estimated_at)
        estimated_at = at
        samples.append(Sample((at - 100.0) / (end - 100.0), raw, before, end - at))
        at += 1.0
    return samples


def _reported_progress(span: tuple[float, float, str, int], at: float) -> float:
    """Recordings report their progress, other digests do not."""
    return (at - span[0]) / (span[1] - span[0]) if span[2] == "speech" else 0.0


MIXED = {"text": (0, 1200, 0.05), "picture": (0, 300, 0.8), "pages": (0, 200, 0.3)}
LANES = {**MIXED, "speech": (1, 60, 4.0), "model": (3, 160, 5.0)}


@pytest.mark.parametrize("work", [MIXED, LANES], ids=["one lane", "three lanes"])
@pytest.mark.parametrize("seed", range(5))
def test_after_a_fifth_of_the_work_the_estimate_is_right_within_a_factor(
    work: dict[str, tuple[int, int, float]], seed: int
) -> None:
    samples = [sample for sample in simulate(work, {0: 2, 1: 1, 3: 8}, seed) if 0.2 <= sample.done <= 0.85]

    assert samples
    for sample in samples:
        assert sample.estimate is not None, f"there was no estimate when {sample.done:.0%} was done"
        assert sample.true / 2 <= sample.estimate <= sample.true * 2, sample
    off = sorted(max(sample.estimate or 0, sample.true) / min(sample.estimate or 0, sample.true) for sample in samples)
    assert off[len(off) // 2] <= 1.35


@pytest.mark.parametrize("seed", range(5))
def test_the_estimate_does_not_jump_and_comes_to_nothing(seed: int) -> None:
    estimates = [
        sample.estimate for sample in simulate(MIXED, {0: 2}, seed) if sample.estimate is not None and sample.done > 0.2
    ]

    for before, after in itertools.pairwise(estimates):
        assert abs(after - (before - 1)) <= max(6.0, before * 0.25)
    assert estimates[-1] < 8
    assert min(estimates) >= 0


def test_there_is_no_estimate_while_the_duration_of_such_digests_is_unknown() -> None:
    assert seconds_left([WaitingDigests(0, 8, 1.0), WaitingDigests(0, 100, None)], [], {0: 2.0}) is None
    assert seconds_left([WaitingDigests(0, 100, 1.0), WaitingDigests(1, 1, None)], [], {0: 2.0}) is None
    assert seconds_left([], [RunningDigest(0, None)], {0: 1.0}) is None


def test_a_few_digests_of_unknown_duration_count_as_much_as_the_others() -> None:
    assert seconds_left([WaitingDigests(0, 90, 2.0), WaitingDigests(0, 10, None)], [], {0: 4.0}) == pytest.approx(50.0)


def test_lanes_do_not_wait_for_each_other_so_the_slowest_decides() -> None:
    assert seconds_left(
        [WaitingDigests(0, 100, 1.0), WaitingDigests(3, 10, 40.0)], [], {0: 2.0, 3: 4.0}
    ) == pytest.approx(100.0)


def test_one_long_digest_cannot_be_shared() -> None:
    assert seconds_left([WaitingDigests(0, 10, 1.0)], [RunningDigest(0, 300.0)], {0: 10.0}) == pytest.approx(300.0)


def test_nothing_left_takes_no_time() -> None:
    assert seconds_left([], [], {}) == 0.0


def test_reported_progress_counts_more_than_the_typical_duration() -> None:
    assert remaining_seconds(100.0, 0.25, 10.0) == pytest.approx(300.0)
    assert remaining_seconds(2.0, 0.0, 10.0) == pytest.approx(8.0)
    assert remaining_seconds(40.0, 0.0, 10.0) == pytest.approx(10.0)  # overdue, so it must be a long digest
    assert remaining_seconds(40.0, 0.0, None) is None


def test_a_long_attempt_counts_for_all_the_time_it_took() -> None:
    pace = Throughput()
    pace.record_finished("speech", 1, 1, 300.0, now=1000.0)
    for at in range(950, 1001):
        pace.record_finished("text", 0, 1, 1.0, now=float(at))

    assert pace.concurrency(1, [], now=1000.0) == pytest.approx(1.0, abs=0.05)
    assert pace.concurrency(0, [], now=1000.0) == pytest.approx(1.0, abs=0.1)


def test_work_before_a_rest_does_not_count_for_the_present_concurrency() -> None:
    pace = Throughput()
    pace.record_finished("text", 0, 1, 1.0, now=100.0)
    for _ in range(2):
        for at in range(140, 150):
            pace.record_finished("text", 0, 1, 1.0, now=float(at))

    assert pace.concurrency(0, [], now=149.0) == pytest.approx(2.0, abs=0.2)
    assert pace.concurrency(0, [], now=200.0) is None


def test_running_digests_count_before_any_is_finished() -> None:
    assert Throughput().concurrency(1, [100.0, 100.0, 105.0], now=110.0) == pytest.approx(2.5)
    assert Throughput().concurrency(1, [109.9], now=110.0) is None


def test_outputs_of_one_attempt_share_its_time() -> None:
    pace = Throughput()
    pace.record_finished("image-preview", 0, 2, 3.0, now=10.0)

    assert pace.typical_seconds("image-preview") == pytest.approx(1.5)
    assert pace.typical_seconds("tags") is None
    assert pace.recent_outputs(20.0) == 2
    assert pace.recent_outputs(80.0) == 0


def test_memory_of_the_past_is_bounded() -> None:
    pace = Throughput()
    for at in range(5000):
        pace.record_finished("text", 0, 1, 2.0, now=float(at))

    assert len(pace._worked[0]) <= 70
    assert len(pace._done) <= 70
