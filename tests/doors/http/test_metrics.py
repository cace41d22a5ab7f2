"""GET /metrics, read by Prometheus' own parser."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families
from two_vaults import add_people, answers_of, sign_in, stranger, two_vaults

from chyme.application.server_vaults import ServerVaults
from chyme.core.pipeline.attempt import AttemptResult
from chyme.doors.http.routes.metrics import format_metrics

pytestmark = pytest.mark.slow  # each takes little time, but there are many

OVER = AttemptResult("a.txt", "tags", 0, 1, "completed", None, None, 1, "run", 0.2)
# Dashboards depend on these: (name, type, help) and the labels of the samples.
FAMILIES = {
    ("chyme_ai_calls", "counter", "Calls of models."): "provider vault",
    ("chyme_ai_calls_failed", "counter", "Calls of models that were not answered."): "provider vault",
    ("chyme_ai_calls_today", "gauge", "Calls of models since the day began (UTC)."): "provider vault",
    ("chyme_ai_cost_dollars", "counter", "What calls of models cost, where prices are known."): "provider vault",
    ("chyme_ai_cost_dollars_today", "gauge", "What they cost since the day began (UTC)."): "provider vault",
    ("chyme_ai_tokens", "counter", "Tokens to and from models."): "direction provider vault",
    ("chyme_build_info", "gauge", "Which chyme this is."): "version",
    ("chyme_digest_seconds", "histogram", "How long attempts at digests took, by how they ended."): (
        "digester le outcome vault"
    ),
    ("chyme_digests", "gauge", "Digests by their status."): "status vault",
    ("chyme_events_clients", "gauge", "Open streams of events."): "vault",
    ("chyme_files", "gauge", "Files of the vault that are on disk."): "vault",
    ("chyme_files_vanished", "gauge", "Files that vanished and are not forgotten yet."): "vault",
    ("chyme_http_requests", "counter", "Requests by method and status."): "method status",
    ("chyme_paused", "gauge", "1 while digestion stands still."): "vault",
    ("chyme_process_private_bytes", "gauge", "Memory that only the server uses, mapped files not counted."): "",
    ("chyme_queue", "gauge", "Digests that wait (todo), are made, or are tried again, by lane."): "lane state vault",
    ("process_cpu_seconds", "counter", "CPU of the server itself, without its children."): "",
    ("process_resident_memory_bytes", "gauge", "Memory of the server, mapped files included."): "",
    ("process_start_time_seconds", "gauge", "When the server was started."): "",
}
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(text: str) -> Samples:
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = (sample.name, frozenset(sample.labels.items()))
            assert key not in found, f"appears twice: {key}"
            found[key] = sample.value
    return found


def scrape(house: ServerVaults) -> Samples:
    answer = stranger(answers_of(house)).get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return samples(answer.text)


def value(found: Samples, name: str, **labels: str) -> float:
    return found[name, frozenset(labels.items())]


def test_figures_of_every_vault_are_reported(tmp_path: Path) -> None:
    with two_vaults(tmp_path) as house:
        app = house.vaults["photos"]
        for outcome, seconds in (("completed", 0.2), ("completed", 0.004), ("failed", 7200.0)):
            app.attempt_metrics.record(replace(OVER, outcome=outcome, seconds=seconds))
        found = scrape(house)

    assert value(found, "chyme_files", vault="photos") == value(found, "chyme_files", vault="diary") == 1
    todo = value(found, "chyme_digests", vault="photos", status="todo")
    assert todo > 3
    lanes = [v for (name, labels), v in found.items() if name == "chyme_queue" and ("state", "todo") in labels]
    assert sum(lanes) == 2 * todo
    labels = {"vault": "photos", "digester": "tags"}
    assert value(found, "chyme_digest_seconds_bucket", **labels, outcome="completed", le="0.005") == 1
    assert value(found, "chyme_digest_seconds_bucket", **labels, outcome="completed", le="+Inf") == 2
    assert value(found, "chyme_digest_seconds_count", **labels, outcome="completed") == 2
    assert value(found, "chyme_digest_seconds_sum", **labels, outcome="completed") == pytest.approx(0.204)
    assert value(found, "chyme_digest_seconds_bucket", **labels, outcome="failed", le="1800") == 0
    assert value(found, "chyme_events_clients", vault="photos") == 0
    assert value(found, "chyme_paused", vault="diary") == 0
    assert value(found, "process_resident_memory_bytes") > value(found, "chyme_process_private_bytes") > 1_000_000


def call(db: sqlite3.Connection, at: str, cost: float) -> None:
    db.execute(
        """
        INSERT INTO ai_calls (at, provider, host, model, digester, run_id, question, outcome, tokens_in, cost)
        VALUES (?, 'llm', 'h', 'm', 'tags', 'r', '', 'answered', 100, ?)
        """,
        (at, cost),
    )


def test_names_types_helps_and_labels_stay_as_they_are(tmp_path: Path) -> None:
    with two_vaults(tmp_path) as house:
        house.vaults["photos"].attempt_metrics.record(OVER)
        house.vaults["diary"].database.write(lambda db: call(db, "2020-01-01T00:00:00Z", 0.5))
        http = stranger(answers_of(house))
        http.get("/healthz")
        families = list(text_string_to_metric_families(http.get("/metrics").text))

    assert len(families) == len(FAMILIES)
    assert {
        (family.name, family.type, family.documentation): " ".join(
            sorted({label for sample in family.samples for label in sample.labels})
        )
        for family in families
    } == FAMILIES


def test_the_cost_of_models_is_reported_by_provider(tmp_path: Path) -> None:
    with two_vaults(tmp_path) as house:
        house.vaults["diary"].database.write(lambda db: call(db, "2020-01-01T00:00:00Z", 0.5))
        house.vaults["diary"].database.write(lambda db: call(db, "2999-01-01T00:00:00Z", 0.25))
        found = scrape(house)

    labels = {"vault": "diary", "provider": "llm"}
    assert value(found, "chyme_ai_calls_total", **labels) == 2
    assert value(found, "chyme_ai_cost_dollars_total", **labels) == pytest.approx(0.75)
    assert value(found, "chyme_ai_calls_today", **labels) == 1
    assert value(found, "chyme_ai_cost_dollars_today", **labels) == pytest.approx(0.25)
    assert value(found, "chyme_ai_tokens_total", **labels, direction="in") == 200


def test_requests_are_counted_by_method_and_status(tmp_path: Path) -> None:
    with two_vaults(tmp_path) as house:
        http = stranger(answers_of(house))
        for _ in range(3):
            http.get("/healthz")
        http.get("/nowhere")
        found = samples(http.get("/metrics").text)

    assert value(found, "chyme_http_requests_total", method="GET", status="200") == 3
    assert value(found, "chyme_http_requests_total", method="GET", status="404") == 1


def test_users_see_no_figures_of_vaults_they_may_not_read(tmp_path: Path) -> None:
    with two_vaults(tmp_path) as house:
        add_people(house)
        answers = answers_of(house)
        anonymous = stranger(answers).get("/metrics")
        bob = sign_in(stranger(answers), "Bob").get("/metrics").text
        ada = sign_in(stranger(answers), "Ada").get("/metrics").text

    assert anonymous.status_code == 401
    assert "photos" not in anonymous.text
    assert ("photos" in bob, "diary" in bob) == (True, False)
    assert ("photos" in ada, "diary" in ada) == (True, True)
    for figure in ("process_", "chyme_process_", "chyme_http_requests_total", "chyme_build_info"):
        assert (figure in bob, figure in ada) == (False, True), figure


def test_labels_and_texts_are_escaped() -> None:
    odd = 'a "vault"\\with\nlines, {braces} and ünïcode'
    metric = GaugeMetricFamily("chyme_files", "back\\slash\nand line", labels=["vault"])
    metric.add_metric([odd], 0.1)
    metric.add_metric(["plain"], 3)
    text = format_metrics([metric, GaugeMetricFamily("chyme_none", "no sample")]).decode()
    (family,) = text_string_to_metric_families(text)

    assert [(sample.labels["vault"], sample.value) for sample in family.samples] == [(odd, 0.1), ("plain", 3)]
    assert family.documentation == "back\\slash\nand line"
