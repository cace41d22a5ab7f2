"""`/metrics`: metrics in the format of Prometheus."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily as Counter
from prometheus_client.core import GaugeMetricFamily as Gauge
from prometheus_client.core import HistogramMetricFamily as Histogram
from prometheus_client.registry import Collector

from chyme import __version__
from chyme.application.app import App
from chyme.application.attempt_metrics import BOUNDS
from chyme.application.server_vaults import ServerVaults
from chyme.doors.http.connections import Connections, Reason
from chyme.doors.http.request_log import RequestLog

STARTED = time.time()
_VAULT, _PROVIDER = ("vault",), ("vault", "provider")  # labels


def add_metrics(api: FastAPI, server_vaults: ServerVaults) -> None:
    """Add the route to the server. It covers the vaults the visitor may read, and the process if these are all."""

    @api.get(
        "/metrics",
        response_class=Response,
        responses={200: {"description": "Figures", "content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    def metrics(request: Request) -> Response:
        """Metrics for Prometheus."""
        requests: RequestLog | None = getattr(request.state, "requests", None)
        vaults = {name: server_vaults.vaults[name] for name in request.state.vaults}
        collected = collect_vault_metrics(vaults) + collect_worker_metrics(vaults)
        if len(vaults) == len(server_vaults.vaults):  # the metrics of the process cover all vaults
            collected += collect_process_metrics(requests.counts() if requests else {})
            collected += collect_connection_metrics(getattr(request.state, "connections", None))
        return Response(format_metrics(collected), media_type=CONTENT_TYPE_PLAIN_0_0_4)


class _Collected(Collector):
    """Only our own metrics; the library's registry has its own about the process."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return (metric for metric in self._metrics if metric.samples)


def format_metrics(metrics: Iterable[Metric]) -> bytes:
    """Format the metrics in the text format, version 0.0.4. Metrics without samples are left out."""
    return generate_latest(_Collected(metrics))


def collect_vault_metrics(vaults: dict[str, App]) -> list[Metric]:
    files = Gauge("chyme_files", "Files of the vault that are on disk.", labels=_VAULT)
    vanished = Gauge("chyme_files_vanished", "Files that vanished and are not forgotten yet.", labels=_VAULT)
    digests = Gauge("chyme_digests", "Digests by their status.", labels=["vault", "status"])
    queue = Gauge(
        "chyme_queue",
        "Digests that wait (todo), are made, or are tried again, by lane.",
        labels=["vault", "lane", "state"],
    )
    calls = Counter("chyme_ai_calls_total", "Calls of models.", labels=_PROVIDER)
    failed = Counter("chyme_ai_calls_failed_total", "Calls of models that were not answered.", labels=_PROVIDER)
    tokens = Counter("chyme_ai_tokens_total", "Tokens to and from models.", labels=["vault", "provider", "direction"])
    cost = Counter(
        "chyme_ai_cost_dollars_total", "What calls of models cost, where prices are known.", labels=_PROVIDER
    )
    calls_today = Gauge("chyme_ai_calls_today", "Calls of models since the day began (UTC).", labels=_PROVIDER)
    cost_today = Gauge("chyme_ai_cost_dollars_today", "What they cost since the day began (UTC).", labels=_PROVIDER)
    clients = Gauge("chyme_events_clients", "Open streams of events.", labels=_VAULT)
    eta = Gauge(
        "chyme_eta_seconds", "Seconds until all that is due is made; missing while nobody knows.", labels=_VAULT
    )
    paused = Gauge("chyme_paused", "1 while digestion stands still.", labels=_VAULT)
    seconds = Histogram(
        "chyme_digest_seconds",
        "How long attempts at digests took, by how they ended.",
        labels=["vault", "digester", "outcome"],
    )
    children = Gauge("chyme_children", "Living child processes.", labels=["vault", "family"])
    restarts = Counter(
        "chyme_engine_restarts_total", "Child processes that had to be replaced.", labels=["vault", "family"]
    )
    for vault, app in vaults.items():
        counts, report = app.vault_counter.counts(), app.progress.report()
        files.add_metric([vault], counts.files)
        vanished.add_metric([vault], counts.vanished)
        for status, count in counts.digests.items():
            digests.add_metric([vault, status], count)
        for (lane, state), count in counts.queue.items():
            queue.add_metric([vault, lane, state], count)
        for lane, count in _count_running(app).items():
            queue.add_metric([vault, lane, "in-progress"], count)
        for totals in counts.calls:
            calls.add_metric([vault, totals.name], totals.calls)
            failed.add_metric([vault, totals.name], totals.failed)
            tokens.add_metric([vault, totals.name, "in"], totals.tokens_in)
            tokens.add_metric([vault, totals.name, "out"], totals.tokens_out)
            cost.add_metric([vault, totals.name], totals.cost or 0.0)
        today = {totals.name: totals for totals in counts.calls_today}
        for totals in counts.calls:
            so_far = today.get(totals.name)
            calls_today.add_metric([vault, totals.name], so_far.calls if so_far else 0)
            cost_today.add_metric([vault, totals.name], (so_far.cost or 0.0) if so_far else 0)
        clients.add_metric([vault], app.broadcast.listeners)
        if report.eta_seconds is not None:
            eta.add_metric([vault], report.eta_seconds)
        paused.add_metric([vault], report.paused is not None)
        for digester, outcome, attempts, total in app.attempt_metrics.histograms():
            seconds.add_metric([vault, digester, outcome], _cumulative_buckets(attempts), total)
        if app.is_digesting:
            snapshot = app.digestion.runner.snapshot()
            for family, count in snapshot.restarts_by_family.items():
                alive = sum(child.family == family for child in snapshot.children)
                children.add_metric([vault, family], alive)
                restarts.add_metric([vault, family], count)
    return [
        *(files, vanished, digests, queue, seconds, children, restarts, eta, paused, clients),
        *(calls, failed, tokens, cost, calls_today, cost_today),
    ]


def collect_worker_metrics(vaults: dict[str, App]) -> list[Metric]:
    """Collect metrics about workers on other machines, of vaults that have them."""
    workers = Gauge("chyme_workers", "Workers on other machines by their state.", labels=["vault", "state"])
    connected = Gauge("chyme_workers_connected", "1 while there is a connection to NATS.", labels=_VAULT)
    running = Gauge("chyme_remote_attempts_running", "Attempts that run on workers.", labels=_VAULT)
    remote = Counter(
        "chyme_remote_attempts_total",
        "Attempts on workers by how they ended; late: the answer was not wanted any more.",
        labels=["vault", "worker", "outcome"],
    )
    for vault, app in vaults.items():
        summary = app.progress.report().workers
        if summary is None:
            continue
        for state, count in (("live", summary.live), ("silent", summary.silent), ("set_aside", summary.set_aside)):
            workers.add_metric([vault, state], count)
        connected.add_metric([vault], summary.connected)
        running.add_metric([vault], summary.running)
        for (worker, outcome), count in sorted(app.remote_attempt_totals().items()):
            remote.add_metric([vault, worker, outcome], count)
    return [workers, connected, running, remote]


def _count_running(app: App) -> dict[str, int]:
    lanes = {digester.name: digester.runs.lane.name.lower() for digester in app.rules.registry}
    counts = dict.fromkeys(lanes.values(), 0)
    if app.is_digesting:
        for _, digester, _ in list(app.digestion.coordinator.in_flight.running.values()):
            counts[lanes.get(digester, "ordinary")] += 1
    return counts


def _cumulative_buckets(counts: Sequence[int]) -> list[tuple[str, float]]:
    bounds = (*(f"{bound:g}" for bound in BOUNDS), "+Inf")
    return list(zip(bounds, accumulate(counts), strict=True))


def collect_process_metrics(requests: dict[tuple[str, int], int]) -> list[Metric]:
    build = Gauge("chyme_build_info", "Which chyme this is.", labels=["version"])
    build.add_metric([__version__], 1)
    started = Gauge("process_start_time_seconds", "When the server was started.", STARTED)
    cpu = Counter("process_cpu_seconds_total", "CPU of the server itself, without its children.", time.process_time())
    resident = Gauge("process_resident_memory_bytes", "Memory of the server, mapped files included.")
    private = Gauge("chyme_process_private_bytes", "Memory that only the server uses, mapped files not counted.")
    memory = _read_memory()
    if memory is not None:
        resident.add_metric([], memory[0])
        private.add_metric([], memory[1])
    requests_total = Counter("chyme_http_requests_total", "Requests by method and status.", labels=["method", "status"])
    for (method, status), count in sorted(requests.items()):
        requests_total.add_metric([method, str(status)], count)
    return [build, started, cpu, resident, private, requests_total]


def collect_connection_metrics(connections: Connections | None) -> list[Metric]:
    if connections is None:  # not running in our own server
        return []
    current = Gauge("chyme_http_connections", "Open HTTP connections.", len(connections))
    closed = Counter(
        "chyme_http_connections_closed_total", "Connections the server closed, by reason.", labels=["reason"]
    )
    for reason in Reason:
        closed.add_metric([reason.value], connections.closed[reason])
    return [current, closed]


def _read_memory() -> tuple[int, int] | None:
    """Return the resident bytes, and those that are neither shared nor backed by files; None if unknown."""
    try:
        fields = dict(
            line.split(":", 1) for line in Path(f"/proc/{os.getpid()}/status").read_text().splitlines() if ":" in line
        )
        return _parse_kb(fields["VmRSS"]), _parse_kb(fields["RssAnon"])
    except (OSError, KeyError, ValueError):
        return None


def _parse_kb(text: str) -> int:
    return int(text.split(maxsplit=1)[0]) * 1024
