"""`/metrics`: metrics in the format of Prometheus."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import Response

from chyme import __version__
from chyme.application.app import App
from chyme.application.attempt_metrics import BOUNDS
from chyme.application.server_vaults import ServerVaults
from chyme.doors.http.connections import Connections, Reason
from chyme.doors.http.request_log import RequestLog

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
STARTED = time.time()


@dataclass(frozen=True)
class Metric:
    """One metric with a sample for each combination of labels."""

    name: str
    kind: str  # gauge, counter or histogram
    help_text: str
    samples: list[tuple[str, dict[str, str], float]] = field(default_factory=list)  # suffix, labels, value

    def add(self, value: float, suffix: str = "", **labels: str) -> None:
        self.samples.append((suffix, labels, value))

    def lines(self) -> Iterator[str]:
        yield f"# HELP {self.name} {_escape(self.help_text)}"
        yield f"# TYPE {self.name} {self.kind}"
        for suffix, labels, value in self.samples:
            label_text = ",".join(f'{name}="{_escape_label(text)}"' for name, text in labels.items())
            yield f"{self.name}{suffix}{'{' + label_text + '}' if label_text else ''} {_format_number(value)}"


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
        collected = collect_vault_metrics(vaults)
        if len(vaults) == len(server_vaults.vaults):  # the metrics of the process cover all vaults
            collected += collect_process_metrics(requests.counts() if requests else {})
            collected += collect_connection_metrics(getattr(request.state, "connections", None))
        return Response(format_metrics(collected), media_type=MEDIA_TYPE)


def format_metrics(metrics: Iterable[Metric]) -> str:
    """Format the metrics in the text format, version 0.0.4. Metrics without samples are left out."""
    return "".join(f"{line}\n" for metric in metrics if metric.samples for line in metric.lines())


def collect_vault_metrics(vaults: dict[str, App]) -> list[Metric]:
    files = Metric("chyme_files", "gauge", "Files of the vault that are on disk.")
    vanished = Metric("chyme_files_vanished", "gauge", "Files that vanished and are not forgotten yet.")
    digests = Metric("chyme_digests", "gauge", "Digests by their status.")
    queue = Metric("chyme_queue", "gauge", "Digests that wait (todo), are made, or are tried again, by lane.")
    calls = Metric("chyme_ai_calls_total", "counter", "Calls of models.")
    failed = Metric("chyme_ai_calls_failed_total", "counter", "Calls of models that were not answered.")
    tokens = Metric("chyme_ai_tokens_total", "counter", "Tokens to and from models.")
    cost = Metric("chyme_ai_cost_dollars_total", "counter", "What calls of models cost, where prices are known.")
    calls_today = Metric("chyme_ai_calls_today", "gauge", "Calls of models since the day began (UTC).")
    cost_today = Metric("chyme_ai_cost_dollars_today", "gauge", "What they cost since the day began (UTC).")
    clients = Metric("chyme_events_clients", "gauge", "Open streams of events.")
    eta = Metric("chyme_eta_seconds", "gauge", "Seconds until all that is due is made; missing while nobody knows.")
    paused = Metric("chyme_paused", "gauge", "1 while digestion stands still.")
    seconds = Metric("chyme_digest_seconds", "histogram", "How long attempts at digests took, by how they ended.")
    children = Metric("chyme_children", "gauge", "Living child processes.")
    restarts = Metric("chyme_engine_restarts_total", "counter", "Child processes that had to be replaced.")
    for vault, app in vaults.items():
        counts, report = app.vault_counter.counts(), app.progress.report()
        files.add(counts.files, vault=vault)
        vanished.add(counts.vanished, vault=vault)
        for status, count in counts.digests.items():
            digests.add(count, vault=vault, status=status)
        for (lane, state), count in counts.queue.items():
            queue.add(count, vault=vault, lane=lane, state=state)
        for lane, count in _count_running(app).items():
            queue.add(count, vault=vault, lane=lane, state="in-progress")
        for totals in counts.calls:
            calls.add(totals.calls, vault=vault, provider=totals.name)
            failed.add(totals.failed, vault=vault, provider=totals.name)
            tokens.add(totals.tokens_in, vault=vault, provider=totals.name, direction="in")
            tokens.add(totals.tokens_out, vault=vault, provider=totals.name, direction="out")
            cost.add(totals.cost or 0.0, vault=vault, provider=totals.name)
        today = {totals.name: totals for totals in counts.calls_today}
        for totals in counts.calls:
            calls_today.add(today[totals.name].calls if totals.name in today else 0, vault=vault, provider=totals.name)
            cost_today.add(
                (today[totals.name].cost or 0.0) if totals.name in today else 0, vault=vault, provider=totals.name
            )
        clients.add(app.broadcast.listeners, vault=vault)
        if report.eta_seconds is not None:
            eta.add(report.eta_seconds, vault=vault)
        paused.add(report.paused is not None, vault=vault)
        _add_histograms(seconds, app, vault)
        if app.is_digesting:
            snapshot = app.digestion.runner.snapshot()
            for family, count in snapshot.restarts_by_family.items():
                alive = sum(child.family == family for child in snapshot.children)
                children.add(alive, vault=vault, family=family)
                restarts.add(count, vault=vault, family=family)
    return [
        *(files, vanished, digests, queue, seconds, children, restarts, eta, paused, clients),
        *(calls, failed, tokens, cost, calls_today, cost_today),
    ]


def _count_running(app: App) -> dict[str, int]:
    lanes = {digester.name: digester.runs.lane.name.lower() for digester in app.rules.registry}
    counts = dict.fromkeys(lanes.values(), 0)
    if app.is_digesting:
        for _, digester, _ in list(app.digestion.coordinator.in_flight.running.values()):
            counts[lanes.get(digester, "ordinary")] += 1
    return counts


def _add_histograms(metric: Metric, app: App, vault: str) -> None:
    for digester, outcome, counts, seconds in app.attempt_metrics.histograms():
        labels = {"vault": vault, "digester": digester, "outcome": outcome}
        up_to = list(accumulate(counts))
        for bound, count in zip((*map(_format_number, BOUNDS), "+Inf"), up_to, strict=True):
            metric.add(count, "_bucket", **labels, le=bound)
        metric.add(seconds, "_sum", **labels)
        metric.add(up_to[-1], "_count", **labels)


def collect_process_metrics(requests: dict[tuple[str, int], int]) -> list[Metric]:
    build = Metric("chyme_build_info", "gauge", "Which chyme this is.")
    build.add(1, version=__version__)
    started = Metric("process_start_time_seconds", "gauge", "When the server was started.")
    started.add(STARTED)
    cpu = Metric("process_cpu_seconds_total", "counter", "CPU of the server itself, without its children.")
    cpu.add(time.process_time())
    resident = Metric("process_resident_memory_bytes", "gauge", "Memory of the server, mapped files included.")
    private = Metric(
        "chyme_process_private_bytes", "gauge", "Memory that only the server uses, mapped files not counted."
    )
    memory = _read_memory()
    if memory is not None:
        resident.add(memory[0])
        private.add(memory[1])
    requests_total = Metric("chyme_http_requests_total", "counter", "Requests by method and status.")
    for (method, status), count in sorted(requests.items()):
        requests_total.add(count, method=method, status=str(status))
    return [build, started, cpu, resident, private, requests_total]


def collect_connection_metrics(connections: Connections | None) -> list[Metric]:
    if connections is None:  # not running in our own server
        return []
    current = Metric("chyme_http_connections", "gauge", "Open HTTP connections.")
    current.add(len(connections))
    closed = Metric("chyme_http_connections_closed_total", "counter", "Connections the server closed, by reason.")
    for reason in Reason:
        closed.add(connections.closed[reason], reason=reason.value)
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


def _format_number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _escape_label(text: str) -> str:
    return _escape(text).replace('"', '\\"')
