"""Workers on other machines, as HTTP, the pages, metrics and the socket of commands show them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from loopback_nats import LoopbackNats, loopback_nats
from made_up_worker import HOST, MadeUpWorker, made_up_worker
from prometheus_client.parser import text_string_to_metric_families
from running_chyme import SAMPLES
from two_vaults import add_people, answers_of, sign_in, stranger, two_vaults
from waiting import wait_until

from chyme.application.app import App, open_app
from chyme.application.server_vaults import open_server_vaults
from chyme.application.settings import Settings
from chyme.doors.http.vault_api import create_vault_api
from chyme.doors.local_socket.client import ask_server
from chyme.doors.local_socket.server import answer_commands

pytestmark = pytest.mark.slow

VAULT = "photos"
PICTURES = ("a.png", "b.png", "c.png")


@dataclass
class Site:
    """A vault that hands everything it can to workers, and a client of its HTTP API."""

    app: App
    http: TestClient
    nats: LoopbackNats

    def workers(self) -> dict[str, Any]:
        found: dict[str, Any] = self.http.get("/api/workers").json()
        return found

    def worker(self, name: str) -> dict[str, Any]:
        (found,) = (worker for worker in self.workers()["workers"] if worker["name"] == name)
        return dict(found)

    def drop(self, *names: str) -> None:
        for number, name in enumerate(names):
            data = (SAMPLES / "dot.png").read_bytes()
            (self.app.vault.root / name).write_bytes(data + bytes([number]))  # otherwise one digest serves all
        self.app.scan_and_settle()
        self.app.digestion.scheduler.wake()


@pytest.fixture
def nats(tmp_path: Path) -> Iterator[LoopbackNats]:
    with loopback_nats(tmp_path) as server:
        yield server


def settings(nats: LoopbackNats) -> Settings:
    return Settings(workers_url=nats.url, workers_vault=VAULT, home_places=0, crawl=False)


@pytest.fixture
def site(tmp_path: Path, nats: LoopbackNats) -> Iterator[Site]:
    (tmp_path / "vault").mkdir()
    with open_app(tmp_path / "vault", settings(nats)) as app:
        app.start(follow=False)
        with TestClient(create_vault_api(app), base_url="http://localhost") as http:
            found = Site(app, http, nats)
            wait_until(lambda: found.workers()["connected"])
            yield found


def set_aside(site: Site, worker: MadeUpWorker) -> None:
    """Have a worker fail with three files that this machine can read."""
    site.drop(*PICTURES)
    for _ in PICTURES:
        worker.fail(worker.claim())
    wait_until(lambda: site.worker(worker.name)["set_aside"])


def test_without_the_setting_workers_are_not_enabled(app: App, http: TestClient) -> None:
    assert http.get("/api/workers").json() == {"enabled": False}
    assert http.get("/api/status").json()["workers"] is None
    assert 'data-part="workers"' not in http.get("/activity").text
    assert app.workers_report() is None


def test_a_worker_is_described_with_what_it_does_now(site: Site) -> None:
    with made_up_worker(site.nats.url, VAULT, "shed") as worker:
        site.drop("till.png")
        run = worker.claim()
        worker.report_progress(run, 0.4)
        shed = site.worker("shed")

        assert (shed["host"], shed["state"], shed["set_aside"]) == (HOST, "live", None)
        (doing,) = shed["running"]
        assert (doing["path"], doing["digester"], doing["fraction"]) == ("till.png", run["digester"], 0.4)
        assert doing["seconds"] is not None
        status = site.http.get("/api/status").json()["workers"]
        assert (status["connected"], status["live"], status["running"]) == (True, 1, 1)
        assert status["summary"] == "connected to NATS; 1 worker; 1 attempt runs elsewhere"


def test_without_nats_the_status_and_the_page_say_why(site: Site) -> None:
    site.nats.kill()
    wait_until(lambda: not site.workers()["connected"])
    found = site.workers()
    assert found["problem"]
    wait_until(lambda: not site.http.get("/api/status").json()["workers"]["connected"])
    assert "not connected to NATS" in site.http.get("/api/status").json()["workers"]["summary"]
    assert "Not connected to NATS" in site.http.get("/ui/activity/workers").text


def test_a_break_that_nobody_saw_changes_the_status(site: Site) -> None:
    wait_until(lambda: site.workers()["connections"] == 1)
    before = site.http.get("/api/status").json()["workers"]
    site.nats.kill()
    wait_until(lambda: not site.workers()["connected"])
    site.nats.start()
    wait_until(lambda: site.workers()["connections"] == 2)
    after = site.http.get("/api/status").json()["workers"]
    assert after == {**before, "connections": 2}


def test_where_workers_may_read_files_the_page_does_not_say_that_nothing_leaves_this_machine(site: Site) -> None:
    for address in ("/activity", "/ui/activity/models"):
        page = site.http.get(address).text
        assert "Nothing leaves this machine" not in page
        assert "may be read by the workers" in page


def test_work_that_fits_no_worker_is_explained(site: Site) -> None:
    with made_up_worker(site.nats.url, VAULT, "shed", makes=frozenset({"image-ocr"})):
        found = site.workers()
        (line,) = found["fit"]
        names, _, why = line.partition(": ")
        assert why == "0 of 1 worker fits, because: 1 × not among --only"
        assert "image-objects" in names.split(", ")
        assert "image-ocr" not in names.split(", ")
        assert found["unfit"] == len(names.split(", "))


def test_a_worker_that_was_set_aside_is_marked_with_the_way_out(site: Site) -> None:
    with made_up_worker(site.nats.url, VAULT, "shed") as worker:
        set_aside(site, worker)
        shed = site.worker("shed")
        assert (shed["state"], shed["failed"]) == ("set aside", 3)
        assert f"start 'chyme work' on {HOST} again" in shed["set_aside"]
        page = site.http.get("/ui/activity/workers").text
        assert re.search(r'data-worker="shed".*badge-red">set aside.*Gets no more work:', page, re.DOTALL)
        assert "1 × set aside" in " ".join(site.workers()["fit"])


def test_names_of_workers_and_files_are_escaped_on_the_page(site: Site) -> None:
    with made_up_worker(site.nats.url, VAULT, "shed") as worker:
        site.drop("<b>x.png")
        worker.claim()
        page = site.http.get("/ui/activity/workers").text
        assert "&lt;b&gt;x.png" in page
        assert "<b>x" not in page


def test_metrics_count_workers_and_attempts_by_worker_and_outcome(tmp_path: Path, nats: LoopbackNats) -> None:
    (tmp_path / VAULT).mkdir()
    with open_server_vaults([tmp_path / VAULT], replace(settings(nats), server_dir=str(tmp_path / "server"))) as house:
        (app,) = house.vaults.values()
        app.start(follow=False)
        http = stranger(answers_of(house))
        site = Site(app, http, nats)
        with made_up_worker(nats.url, VAULT, "shed") as worker:
            set_aside(site, worker)
            worker.answer_late()
            wait_until(lambda: site.worker("shed")["late"])
            wait_until(lambda: not site.workers()["running"])
            wait_until(lambda: 'chyme_workers{state="set_aside",vault="photos"} 1.0' in http.get("/metrics").text)
            families = list(text_string_to_metric_families(http.get("/metrics").text))
            worker.leave()
            wait_until(lambda: not site.workers()["workers"])
            afterwards = http.get("/metrics").text

    found = {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }
    vault = ("vault", VAULT)
    assert found["chyme_workers", frozenset({vault, ("state", "live")})] == 0
    assert found["chyme_workers_connected", frozenset({vault})] == 1
    assert found["chyme_remote_attempts_running", frozenset({vault})] == 0
    shed = {outcome: ("outcome", outcome) for outcome in ("done", "failed", "lost", "late")}
    counts = {
        outcome: found["chyme_remote_attempts_total", frozenset({vault, ("worker", "shed"), label})]
        for outcome, label in shed.items()
    }
    assert counts == {"done": 0, "failed": 3, "lost": 0, "late": 1}
    assert 'chyme_remote_attempts_total{outcome="failed",vault="photos",worker="shed"} 3.0' in afterwards


def test_a_visitor_without_rights_learns_nothing_of_workers(tmp_path: Path) -> None:
    with two_vaults(tmp_path) as house:
        add_people(house)
        answers = answers_of(house)
        assert stranger(answers).get("/v/photos/api/workers").status_code == 401
        bob = sign_in(stranger(answers), "Bob")
        assert bob.get("/v/photos/api/workers").json() == {"enabled": False}
        assert bob.get("/v/diary/api/workers").status_code == 404


def test_commands_ask_the_server_by_its_socket(site: Site) -> None:
    with answer_commands(site.app), made_up_worker(site.nats.url, VAULT, "shed"):
        answer = ask_server(site.app.state, {"about": "workers"})
        assert answer is not None
        assert [worker["name"] for worker in answer["workers"]] == ["shed"]


def test_the_file_page_and_its_json_name_the_worker_that_made_a_digest(app: App, http: TestClient) -> None:
    shutil.copy(SAMPLES / "dot.png", app.vault.root / "till.png")
    app.scan_and_settle()
    app.database.write(
        lambda db: db.execute(
            "UPDATE digests SET status = 'completed', settled = 1, worker = 'shed' WHERE digester = 'image-ocr'"
        )
    )
    digests = {row["digester"]: row for row in http.get("/api/digest/till.png").json()["digests"]}
    assert (digests["image-ocr"]["worker"], digests["image-objects"]["worker"]) == ("shed", None)
    assert http.get("/file/till.png").text.count("made by the worker shed") == 1
