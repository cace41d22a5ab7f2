"""The wheel has all that chyme needs: installed without the checkout, it digests, serves and says what is missing."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import httpx
import pytest
from installed_wheel import PROJECT, Installed, build, install
from waiting import wait_until

import chyme

pytestmark = pytest.mark.slow

SAMPLES = PROJECT / "tests/samples"
LONG_AGO = 1_700_000_000.0  # chyme leaves a file alone until it was unchanged for a while
EXPECTED_DATA = ("templates", "static", "migrations", "words", "weights")


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make dist` makes, checked by its own rules."""
    folder = tmp_path_factory.mktemp("dist")
    built = build(folder)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def installed(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    (wheel,) = dist.glob("*.whl")
    return install(wheel, tmp_path_factory.mktemp("elsewhere") / "environment")


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documents")
    (folder / "note.md").write_text("# Ferry\n\nThe ferry to Skagen leaves at a quarter past nine.\n", encoding="utf-8")
    (folder / "contract.pdf").write_bytes((SAMPLES / "contract.pdf").read_bytes())
    for path in folder.iterdir():
        os.utime(path, (LONG_AGO, LONG_AGO))
    return folder


def test_the_wheel_is_the_same_each_time(dist: Path, tmp_path: Path) -> None:
    assert build(tmp_path).returncode == 0
    for first in dist.glob("chyme-*"):
        assert (tmp_path / first.name).read_bytes() == first.read_bytes()


def test_the_wheel_has_templates_scripts_schemas_word_lists_and_locks(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        folders = {part for name in archive.namelist() for part in Path(name).parent.parts}
    assert set(EXPECTED_DATA) <= folders


@pytest.mark.parametrize("harm", ["missing", "added"])
def test_a_wheel_with_a_file_too_few_or_too_many_is_refused(dist: Path, tmp_path: Path, harm: str) -> None:
    for built in dist.iterdir():
        if built.suffix == ".whl":
            with zipfile.ZipFile(built) as whole, zipfile.ZipFile(tmp_path / built.name, "w") as harmed:
                for name in whole.namelist():
                    if harm == "added" or not name.endswith("0001_core.sql"):
                        harmed.writestr(name, whole.read(name))
                if harm == "added":
                    harmed.writestr("tests/test_layers.py", "")
        else:
            (tmp_path / built.name).symlink_to(built)

    done = subprocess.run(
        [sys.executable, PROJECT / ".ci/check_dist.py", tmp_path], capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert ("0001_core.sql" if harm == "missing" else "tests/test_layers.py") in done.stderr


def test_the_version_is_the_same_wherever_it_is_said(installed: Installed) -> None:
    assert f"version {chyme.__version__}" in installed.run("--version").stdout
    assert f'version = "{chyme.__version__}"' in (PROJECT / "pyproject.toml").read_text()


def test_chyme_runs_from_the_new_environment_and_not_from_the_checkout(installed: Installed) -> None:
    done = subprocess.run(
        [installed.folder / "bin/python", "-c", "import chyme; print(chyme.__file__)"],
        cwd=installed.folder.parent,
        env=installed.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(done.stdout.strip()).is_relative_to(installed.folder)


def test_a_note_and_a_pdf_are_digested_and_found_without_any_weights(installed: Installed, vault: Path) -> None:
    done = installed.run("digest", "--vault", str(vault))

    assert "files: 2" in done.stdout, done.stderr
    assert "weights of models for embedding" in re.sub(r"\s+", " ", done.stderr)
    for words, path in (("skagen", "note.md"), ("contract", "contract.pdf")):
        hits = json.loads(installed.run("search", words, "--vault", str(vault), "--json").stdout)["hits"]
        assert path in [hit["path"] for hit in hits]


def test_serve_answers_the_page_with_its_files_at_once_and_says_that_weights_cannot_be_fetched(
    installed: Installed, vault: Path, tmp_path: Path
) -> None:
    said = tmp_path / "said.txt"
    with said.open("wb") as out:
        process = subprocess.Popen(
            [installed.program, "serve", vault, "--port", "0", "--json"],
            cwd=tmp_path,
            env=installed.environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until(lambda: '{"address"' in said.read_text() or process.poll() is not None)
        (line,) = (line for line in said.read_text().splitlines() if line.startswith('{"address"'))
        with httpx.Client(base_url=json.loads(line)["address"], trust_env=False, follow_redirects=True) as http:
            page = http.get("/")
            assert page.status_code == 200
            linked = set(re.findall(r'(?:src|href)="(/static/[^"]+)"', page.text))
            assert any(address.endswith(".js") for address in linked)
            assert any(address.endswith(".css") for address in linked)
            assert {http.get(address).status_code for address in linked} == {200}
            assert [hit["path"] for hit in http.get("/api/search", params={"q": "skagen"}).json()["hits"]] == [
                "note.md"
            ]
        wait_until(lambda: "could not be fetched" in said.read_text())
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
    assert "only the names of packages leave this machine" in said.read_text()


def test_nothing_is_fetched_and_nothing_said_where_fetching_is_forbidden(installed: Installed, tmp_path: Path) -> None:
    done = installed.run("digest", "--vault", str(tmp_path), CHYME_WEIGHTS_FETCH="false")
    refused = installed.run("weights", "voices", "--vault", str(tmp_path), CHYME_WEIGHTS_FETCH="false")

    assert "weights" not in done.stderr
    assert refused.returncode == 1
    assert "weights_fetch = false forbids" in refused.stderr


def test_what_is_missing_says_which_extra_brings_it(installed: Installed, tmp_path: Path) -> None:
    model = {"CHYME_LLM_URL": "http://127.0.0.1:1/v1", "CHYME_LLM_MODEL": "m"}

    worker = installed.run("work", "--url", "nats://127.0.0.1:1")
    server = installed.run("digest", "--vault", str(tmp_path), CHYME_WORKERS_URL="nats://127.0.0.1:1")
    checked = installed.run("doctor", "--json", "--vault", str(tmp_path), **model)

    sentence = "chyme: workers on other machines need the package nats-py; pip install 'chyme[workers]'"
    assert (worker.returncode, worker.stderr.strip()) == (2, sentence)
    assert (server.returncode, server.stderr.splitlines()[-1]) == (2, sentence)
    engines = {engine["capability"]: engine for engine in json.loads(checked.stdout)["engines"]}
    assert engines["titles, tags, summaries"]["how"] == "pip install 'chyme[llm]'"
