"""The arithmetic of the model of many machines."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.scale_model import COORDINATOR, NATS, PLACES, WRITER, Costs, Kind, knee, load

COSTS = Costs(
    coordinator_ms=6,
    local_ms=4,
    beat_ms=0,
    commits_per_second=2000,
    commits_per_attempt=2,
    nats_bytes_per_second=4e8,
    home_cores=1,
)
SMALL, LARGE = Kind(0.5, 1e3, 1e3), Kind(0.5, 3e6, 1e6)


def check_knee(costs: Costs, kind: Kind, vaults: int, workers: float, limit: str) -> None:
    found, found_limit = knee(costs, kind, vaults)
    assert found == pytest.approx(workers)
    assert found_limit == limit


def test_the_knee_is_where_the_scarcest_resource_is_used_up() -> None:
    check_knee(COSTS, SMALL, 1, 50, COORDINATOR)
    check_knee(replace(COSTS, commits_per_second=100), SMALL, 1, 25, WRITER)
    check_knee(COSTS, LARGE, 2, 50, NATS)


def test_the_knee_moves_out_twice_as_far_when_the_cost_halves() -> None:
    check_knee(replace(COSTS, coordinator_ms=3, local_ms=2), SMALL, 1, 100, COORDINATOR)
    check_knee(COSTS, replace(SMALL, worker_seconds=1), 1, 100, COORDINATOR)


def test_signs_of_life_bound_how_many_long_attempts_one_coordinator_can_watch() -> None:
    watched = replace(COSTS, beat_ms=0.5)  # one every two seconds: 4,000 of them fill a core
    hours, days = (knee(watched, replace(SMALL, worker_seconds=seconds), 1)[0] for seconds in (3_600, 86_400))
    assert hours == pytest.approx(4000, rel=0.02)
    assert days == pytest.approx(4000, rel=0.001)


def test_before_the_knee_workers_are_the_limit_and_after_it_more_of_them_change_nothing() -> None:
    few, many, more = (load(COSTS, SMALL, workers, 1) for workers in (10, 100, 1000))

    assert few.limit == PLACES
    assert few.attempts_per_second == pytest.approx(20)
    assert few.used[COORDINATOR] == pytest.approx(0.2)
    assert many.attempts_per_second == more.attempts_per_second == pytest.approx(100)
    assert more.used[PLACES] == pytest.approx(0.05)


def test_vaults_add_coordinators_and_writers_but_share_nats() -> None:
    assert load(COSTS, SMALL, 1000, 10).attempts_per_second == pytest.approx(1000)
    assert load(COSTS, LARGE, 1000, 10).attempts_per_second == pytest.approx(100)
    assert load(COSTS, LARGE, 1000, 10).limit == NATS
