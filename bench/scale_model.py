"""How many workers one coordinator, one writer and one NATS server can feed, on paper: python -m bench.scale_model.

A model, not a measurement: it takes measured costs and finds the resource that is used up first. Vaults share the
workers evenly; each has a coordinator with a core of its own, and all share the NATS server.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

# Change these when they are measured again; each is also an option, such as --coordinator-ms 3.
COORDINATOR_MS = 4.2  # CPU of the coordinator for one attempt elsewhere: `python -m bench.remote_costs`
LOCAL_MS = 2.6  # and for the scan and the one quick digest of such a file at home: the same run
BEAT_MS = 0.1  # and for one sign of life of a run: the same run, 64 of them every two seconds
COMMITS_PER_SECOND = 2500.0  # of the writer of a vault: design, section 11; `python -m bench writer`
COMMITS_PER_ATTEMPT = 1.0  # the verdict, with the start of the next digester: docs/architecture.md, "Transactions"
NATS_BYTES_PER_SECOND = 400e6  # that one server passes on with TLS: assumed, to be measured
HOME_CORES = 1.0  # that the coordinator's own process can use: Python runs one thread at a time
BEAT_SECONDS = 2.0  # between two signs of life: src/chyme/workers/worker.py


@dataclass(frozen=True)
class Kind:
    """One attempt: seconds of one place of a worker, and bytes to it and back."""

    worker_seconds: float
    bytes_in: float
    bytes_out: float


KINDS: Mapping[str, Kind] = {  # seconds are assumed from docs/benchmarks.md, bytes from the corpus; to be measured
    "text PDF": Kind(0.2, 200e3, 150e3),
    "scanned page": Kind(4.0, 1e6, 20e3),
    "hour of speech": Kind(900.0, 30e6, 300e3),
}

WORKERS = (1, 3, 10, 30, 100, 300, 1000)
VAULTS = (1, 10, 100)
COORDINATOR, WRITER, NATS, PLACES = "coordinator's CPU", "writer", "NATS", "workers"


@dataclass(frozen=True)
class Costs:
    """What one attempt of any kind costs, and what there is."""

    coordinator_ms: float = COORDINATOR_MS
    local_ms: float = LOCAL_MS
    beat_ms: float = BEAT_MS
    commits_per_second: float = COMMITS_PER_SECOND
    commits_per_attempt: float = COMMITS_PER_ATTEMPT
    nats_bytes_per_second: float = NATS_BYTES_PER_SECOND
    home_cores: float = HOME_CORES

    def attempt_ms(self, kind: Kind) -> float:
        """CPU of the coordinator, with all signs of life."""
        return self.coordinator_ms + self.local_ms + self.beat_ms * kind.worker_seconds / BEAT_SECONDS


@dataclass(frozen=True)
class Load:
    """What so many workers (places, one core each) and vaults give."""

    attempts_per_second: float
    limit: str  # the resource that is used up first
    used: Mapping[str, float]  # resource → the share in use, 0 to 1


def capacities(costs: Costs, kind: Kind, workers: float, vaults: int) -> dict[str, float]:
    """Attempts a second that each resource allows."""
    return {
        PLACES: workers / kind.worker_seconds,
        COORDINATOR: vaults * costs.home_cores * 1000 / costs.attempt_ms(kind),
        WRITER: vaults * costs.commits_per_second / costs.commits_per_attempt,
        NATS: costs.nats_bytes_per_second / (kind.bytes_in + kind.bytes_out),
    }


def load(costs: Costs, kind: Kind, workers: float, vaults: int) -> Load:
    """The work done when there is always more than enough to do."""
    allowed = capacities(costs, kind, workers, vaults)
    limit = min(allowed, key=lambda resource: allowed[resource])
    done = allowed[limit]
    return Load(done, limit, {resource: done / most for resource, most in allowed.items()})


def knee(costs: Costs, kind: Kind, vaults: int) -> tuple[float, str]:
    """How many workers are busy all the time at most, and the resource that more of them would wait for."""
    allowed = capacities(costs, kind, 0.0, vaults)
    del allowed[PLACES]
    limit = min(allowed, key=lambda resource: allowed[resource])
    return allowed[limit] * kind.worker_seconds, limit


def table(name: str, costs: Costs, kind: Kind) -> str:
    carried = (kind.bytes_in + kind.bytes_out) / 1e6
    lines = [f"{name}: {kind.worker_seconds:g} s of a worker, {carried:.2g} MB, {costs.attempt_ms(kind):.3g} ms here"]
    for vaults in VAULTS:
        most, limit = knee(costs, kind, vaults)
        lines.append(f"  {vaults} vault{'s' if vaults > 1 else ''}: the knee is at {most:,.0f} workers ({limit})")
        lines.append("    workers   attempts/s   workers busy   coordinator   writer   NATS   limit")
        for count in WORKERS:
            now = load(costs, kind, count, vaults)
            used = now.used
            lines.append(
                f"    {count:>7,}{now.attempts_per_second:>13,.3f}{used[PLACES]:>15.0%}{used[COORDINATOR]:>14.0%}"
                f"{used[WRITER]:>9.0%}{used[NATS]:>7.0%}   {now.limit}"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scale_model", description=__doc__)
    names = [field.name for field in fields(Costs)]
    for name in names:
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, default=getattr(Costs(), name))
    for field in fields(Kind):
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=float, help="for every kind of attempt")
    asked = parser.parse_args()
    costs = Costs(**{name: getattr(asked, name) for name in names})
    given = {field.name: getattr(asked, field.name) for field in fields(Kind)}
    print("A model, not a measurement. A worker is one place here, that is one core.")
    for name, kind in KINDS.items():
        changed = replace(kind, **{key: value for key, value in given.items() if value is not None})
        print(f"\n{table(name, costs, changed)}")


if __name__ == "__main__":
    main()
