"""chyme workers, status and show: what the server says of workers, in words for people."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from loopback_nats import LoopbackNats, loopback_nats
from made_up_worker import HOST, made_up_worker
from running_chyme import SAMPLES
from waiting import wait_until

from chyme import __version__
from chyme.application.app import App, open_app
from chyme.application.settings import Settings
from chyme.doors.cli.main import main
from chyme.doors.local_socket.server import answer_commands

pytestmark = pytest.mark.slow

VAULT = "photos"


def run(vault: Path, command: str, *arguments: str, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(main, [command, "--vault", os.fspath(vault), *arguments], env=env)


@pytest.fixture
def nats(tmp_path: Path) -> Iterator[LoopbackNats]:
    with loopback_nats(tmp_path) as server:
        yield server


@pytest.fixture
def serving(tmp_path: Path, nats: LoopbackNats) -> Iterator[App]:
    """A vault with workers whose commands are answered."""
    (tmp_path / "vault").mkdir()
    chosen = Settings(workers_url=nats.url, workers_vault=VAULT, home_places=0, crawl=False)
    with open_app(tmp_path / "vault", chosen) as app:
        app.start(follow=False)
        with answer_commands(app):
            yield app


def test_the_table_says_what_each_worker_does_and_did(serving: App, nats: LoopbackNats) -> None:
    root = serving.vault.root
    with made_up_worker(nats.url, VAULT, "shed", makes=frozenset({"image-preview"})) as worker:
        shutil.copy(SAMPLES / "dot.png", root / "till.png")
        serving.scan_and_settle()
        serving.digestion.scheduler.wake()
        worker.report_progress(worker.claim(), 0.4)
        answer = run(root, "workers")
        status = run(root, "status")
        figures = json.loads(run(root, "status", "--json").output)["workers"]

    assert answer.exit_code == 0, answer.output
    first, _, headings, row, *rest = answer.output.splitlines()
    assert first == "connected to NATS; 1 worker; 1 attempt runs elsewhere"
    assert headings.split() == ["NAME", "HOST", "VERSION", "DOING", "NOW", "DONE", "FAILED", "LOST", "HEARD"]
    assert " ".join(row.split()).startswith(f"shed {HOST} {__version__} image-preview of till.png, 40%, ")
    (why,) = (line for line in rest if " fits, because: " in line)
    assert "image-ocr, " in why
    assert why.endswith(": 0 of 1 worker fits, because: 1 × not among --only")
    assert "workers: connected to NATS; 1 worker; 1 attempt runs elsewhere\n" in status.output
    assert (figures["connected"], figures["live"], figures["running"]) == (True, 1, 1)


def test_a_worker_that_was_set_aside_is_listed_with_the_way_out(serving: App, nats: LoopbackNats) -> None:
    root = serving.vault.root
    with made_up_worker(nats.url, VAULT, "shed") as worker:
        for number in range(3):
            (root / f"{number}.png").write_bytes((SAMPLES / "dot.png").read_bytes() + bytes([number]))
        serving.scan_and_settle()
        serving.digestion.scheduler.wake()
        for _ in range(3):
            worker.fail(worker.claim())
        wait_until(lambda: "1 set aside" in run(root, "workers").output)
        answer = run(root, "workers")
        payload = json.loads(run(root, "workers", "--json").output)

    assert "shed is set aside: failed with 3 files in a row" in answer.output
    assert f"start 'chyme work' on {HOST} again" in answer.output
    assert payload["workers"][0]["state"] == "set aside"


def test_a_server_without_workers_says_that_they_are_not_set_up(tmp_path: Path) -> None:
    with open_app(tmp_path) as app, answer_commands(app):
        answer = run(tmp_path, "workers")
        assert answer.exit_code == 0
        assert "workers are not set up" in answer.output
        assert json.loads(run(tmp_path, "workers", "--json").output) == {"enabled": False}
        assert "workers" not in run(tmp_path, "status").output
        assert json.loads(run(tmp_path, "status", "--json").output)["workers"] is None


def test_without_a_server_the_command_says_so(tmp_path: Path) -> None:
    with open_app(tmp_path):
        pass
    answer = run(tmp_path, "workers")
    assert answer.exit_code == 2
    assert "no server runs on this vault, and workers are not set up" in answer.output
    set_up = {"CHYME_WORKERS_URL": "nats://127.0.0.1:9"}
    answer = run(tmp_path, "workers", env=set_up)
    assert answer.exit_code == 2
    assert "no server runs on this vault, so nothing is known of its workers; start 'chyme serve'" in answer.output
    assert "workers: set up, but no server gives them work" in run(tmp_path, "status", env=set_up).output


def test_without_nats_the_status_says_that_digestion_goes_on_here(tmp_path: Path) -> None:
    with open_app(tmp_path, Settings(workers_url="nats://127.0.0.1:9")) as app:
        app.start(follow=False)
        with answer_commands(app):
            output = run(tmp_path, "status").output
    (line,) = (line for line in output.splitlines() if line.startswith("workers: "))
    assert line.startswith("workers: not connected to NATS (")
    assert line.endswith("; digestion goes on here")


def test_show_names_the_worker_that_made_a_digest(tmp_path: Path) -> None:
    shutil.copy(SAMPLES / "dot.png", tmp_path / "till.png")
    with open_app(tmp_path) as app:
        app.scan_and_settle()
        app.database.write(
            lambda db: db.execute(
                "UPDATE digests SET status = 'completed', settled = 1, duration_ms = 7, worker = 'shed' "
                "WHERE digester = 'image-ocr'"
            )
        )
    output = run(tmp_path, "show", os.fspath(tmp_path / "till.png")).output
    assert "image-ocr: completed, 7 ms, made by the worker shed\n" in output
    assert output.count("made by") == 1
