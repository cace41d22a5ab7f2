"""Making a cluster and changing who belongs to it, without a running server."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from loopback_nats import nats_program

from chyme.core import clock
from chyme.doors.cli.commands.cluster import cluster
from chyme.doors.cli.main import Chyme
from chyme.workers.cluster import Role
from chyme.workers.cluster_folder import ClusterFolder
from chyme.workers.credentials import Credentials

HOSTILE = ['a"b', "a\nb", "worker\n", "*", ">", "a.b", "", "a b", "-a", "../a", "ä", "ca", "Server", "ask", "a" * 65]


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(Chyme("chyme", {"cluster": cluster}), ["cluster", *(os.fspath(word) for word in words)])


def says(*words: str | Path) -> str:
    answer = run(*words)
    assert answer.exit_code == 0, answer.output
    return answer.stdout


def refuses(*words: str | Path) -> str:
    answer = run(*words)
    assert answer.exit_code == 2, answer.output
    assert answer.stderr.startswith("chyme: ")
    return answer.stderr


def shown(folder: Path) -> Any:
    return json.loads(says("show", folder, "--json"))


def content_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def made(tmp_path: Path) -> Path:
    says("init", tmp_path / "cluster", "--host", "127.0.0.1")
    return tmp_path / "cluster"


def test_init_writes_everything_and_says_how_to_start(tmp_path: Path) -> None:
    folder = tmp_path / "my cluster"
    output = says("init", folder, "--host", "127.0.0.1", "--host", "vault.example", "--port", "5333")
    assert sorted(content_of(folder)) == [
        *("ca.key", "ca.pem", "cluster.json", "coordinator.pem", "nats.conf"),
        *("server.key", "server.pem", "worker-1.pem"),
    ]
    assert f"  nats-server -c '{folder}/nats.conf'\n" in output
    assert '  workers_url = "tls://vault.example:5333"\n' in output
    assert f'  workers_credentials = "{folder}/coordinator.pem"\n' in output
    assert "  chyme work --url tls://vault.example:5333 --credentials worker-1.pem\n" in output


def test_only_the_owner_may_read_the_folder_and_its_files(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    before = os.umask(0)
    try:
        says("init", tmp_path / "open", "--host", "localhost")
        says("add-worker", "w2", tmp_path / "open")
        says("renew", "w2", tmp_path / "open")
    finally:
        os.umask(before)
    files = (tmp_path / "open").iterdir()
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert stat.S_IMODE((tmp_path / "open").stat().st_mode) == 0o700


def test_init_leaves_a_folder_alone_that_is_not_empty(made: Path) -> None:
    before = content_of(made)
    assert "is not an empty folder" in refuses("init", made, "--host", "localhost")
    assert content_of(made) == before


def test_init_refuses_a_folder_in_a_vault_because_keys_would_be_digested(tmp_path: Path) -> None:
    (tmp_path / ".chyme").mkdir()
    assert "is in the vault" in refuses("init", tmp_path / "deep/cluster", "--host", "localhost")
    assert not (tmp_path / "deep").exists()


@pytest.mark.parametrize("folder", ["my cluster", 'say "hi"', "back\\slash", "$HOME", "#{ü}'"])
def test_the_server_accepts_the_configuration_whatever_the_folder_is_called(tmp_path: Path, folder: str) -> None:
    says("init", tmp_path / folder, "--host", "127.0.0.1", "--vaults", "a,b")
    says("add-worker", "w2", tmp_path / folder, "--vaults", "*")
    config = tmp_path / folder / "nats.conf"
    check = subprocess.run([nats_program(), "-t", "-c", config], capture_output=True, text=True, check=False)
    assert check.returncode == 0, check.stderr


def test_a_folder_whose_name_the_configuration_cannot_have_is_refused(tmp_path: Path) -> None:
    assert "characters" in refuses("init", tmp_path / "a\nb", "--host", "localhost")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", HOSTILE)
def test_names_that_mean_something_in_subjects_or_files_are_refused(made: Path, name: str) -> None:
    before = content_of(made)
    for command in ("add-worker", "add-coordinator"):
        assert run(command, "--", name, made).exit_code == 2
    assert content_of(made) == before


@pytest.mark.parametrize("vault", ['a"b', "a\nb", ">", "a.b", "", "*,a", "a b", "inbox"])
def test_vaults_that_mean_something_in_subjects_are_refused(made: Path, tmp_path: Path, vault: str) -> None:
    before = content_of(made)
    refuses("add-worker", "w2", made, "--vaults", vault)
    refuses("init", tmp_path / "second", "--host", "localhost", "--vaults", vault)
    assert content_of(made) == before
    assert not (tmp_path / "second").exists()


@pytest.mark.parametrize("host", ["", "a b", "*.example", 'a"b', "a\nb", "0.0.0.0", "::", "999.1.1.1", "-a", "a..b"])
def test_hosts_that_no_client_can_connect_to_are_refused(tmp_path: Path, host: str) -> None:
    refuses("init", tmp_path / "cluster", f"--host={host}")
    assert not (tmp_path / "cluster").exists()


def test_a_name_can_be_taken_once_also_in_capital_letters(made: Path) -> None:
    assert "already" in refuses("add-worker", "worker-1", made)
    assert "already" in refuses("add-worker", "WORKER-1", made)
    assert "already" in refuses("add-coordinator", "worker-1", made)


def test_new_people_may_use_the_vaults_of_the_cluster_or_those_named(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    says("init", folder, "--host", "localhost", "--vaults", "photos,diary")
    says("add-worker", "w2", folder)
    says("add-worker", "w3", folder, "--vaults", "photos")
    says("add-coordinator", "second", folder, "--vaults", "*")
    assert {person["name"]: person["vaults"] for person in shown(folder)["people"]} == {
        "coordinator": ["diary", "photos"],
        "second": ["*"],
        "worker-1": ["diary", "photos"],
        "w2": ["diary", "photos"],
        "w3": ["photos"],
    }
    assert "worker       w3: vaults photos, until 2" in says("show", folder)
    assert "coordinator  second: every vault, until 2" in says("show", folder)


def test_everyone_can_be_removed_but_the_last_coordinator(made: Path) -> None:
    assert "last coordinator" in refuses("remove-worker", "coordinator", made)
    says("add-coordinator", "second", made)
    says("remove-worker", "coordinator", made)
    says("remove-worker", "worker-1", made)
    assert [person["name"] for person in shown(made)["people"]] == ["second"]
    assert not (made / "coordinator.pem").exists()
    assert "there is no" in refuses("remove-worker", "worker-1", made)
    assert "last coordinator" in refuses("remove-worker", "second", made)


def test_someone_new_under_an_old_name_is_someone_else_for_the_server(made: Path) -> None:
    (old,) = (person["id"] for person in shown(made)["people"] if person["name"] == "worker-1")
    says("remove-worker", "worker-1", made)
    says("add-worker", "worker-1", made)
    assert old not in (made / "nats.conf").read_text()


def test_renewing_gives_the_same_person_a_later_certificate(made: Path) -> None:
    before, config = Credentials.read(made / "worker-1.pem"), (made / "nats.conf").read_text()
    says("renew", "worker-1", made, "--days", "700")
    after = Credentials.read(made / "worker-1.pem")
    assert (after.name, after.role) == (before.name, before.role)
    assert after.expires > before.expires
    assert (made / "nats.conf").read_text() == config
    assert shown(made)["people"][1]["expires"] == after.expires.isoformat()


def test_the_certificate_of_the_server_is_renewed_like_any_other(made: Path) -> None:
    before, key = shown(made)["server_expires"], (made / "server.key").read_bytes()
    says("renew", "server", made, "--days", "700")
    assert shown(made)["server_expires"] > before
    assert (made / "server.key").read_bytes() != key


def test_show_says_which_certificates_expire_soon(made: Path) -> None:
    says("renew", "worker-1", made, "--days", "20")
    (line,) = (line for line in says("show", made).splitlines() if "renew" in line)
    assert line.startswith("worker       worker-1: every vault, until 2")


def test_no_certificate_outlives_the_authority(made: Path) -> None:
    says("renew", "worker-1", made, "--days", "3650")
    assert shown(made)["people"][1]["expires"] <= shown(made)["authority_expires"]


def test_without_a_running_server_commands_say_how_to_reload_it(made: Path) -> None:
    answer = run("add-worker", "w2", made)
    assert f"nats-server --signal reload={made}/nats.pid" in answer.stderr


def test_a_process_that_is_no_server_gets_no_signal_because_of_an_old_pid_file(made: Path) -> None:
    with subprocess.Popen(["tail", "-f", made / "nats.conf"], stdout=subprocess.DEVNULL) as reader:
        try:
            (made / "nats.pid").write_text(f"{reader.pid}")
            assert "does not run here" in run("add-worker", "w2", made).stderr
        finally:
            reader.kill()
    assert reader.returncode == -signal.SIGKILL  # not of SIGHUP


def test_people_added_at_the_same_time_are_all_kept(made: Path) -> None:
    cluster = ClusterFolder(made)
    names = [f"w{number}" for number in range(2, 12)]
    with ThreadPoolExecutor(len(names)) as threads:
        list(threads.map(lambda name: cluster.add(name, Role.WORKER, None, 10, clock.now()), names))
    assert {person["name"] for person in shown(made)["people"]} == {"coordinator", "worker-1", *names}
    assert all(f":{name}:" in (made / "nats.conf").read_text() for name in names)


def test_a_folder_without_a_cluster_is_refused_with_the_way_out(tmp_path: Path) -> None:
    for words in (["show"], ["add-worker", "w"], ["remove-worker", "w"], ["renew", "w"]):
        assert "'chyme cluster init'" in refuses(*words, tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [("{", ""), ('"format": 1', '"format": 2'), ('"port"', '"harbour"'), ('"worker-1"', '"*"'), ('"hosts"', '"h"')],
)
def test_a_damaged_list_is_refused_before_anything_is_written(made: Path, old: str, new: str) -> None:
    path = made / "cluster.json"
    path.write_text(path.read_text().replace(old, new))
    before = content_of(made)
    assert "cluster.json: cannot be used" in refuses("add-worker", "w2", made)
    assert content_of(made) == before


def test_without_the_key_of_the_authority_people_can_be_removed_but_not_added(made: Path) -> None:
    (made / "ca.key").unlink()
    assert "ca.key: cannot be read" in refuses("add-worker", "w2", made)
    says("remove-worker", "worker-1", made)


def test_answers_in_json_have_the_file_and_what_the_server_was_told(made: Path) -> None:
    added = json.loads(says("add-worker", "w2", made, "--json"))
    assert added["worker"]["name"] == "w2"
    assert added["file"] == os.fspath(made / "w2.pem")
    assert added["server"] == "not running here"
    assert json.loads(says("renew", "w2", made, "--json"))["expires"] > "2"
    assert json.loads(says("remove-worker", "w2", made, "--json"))["removed"]["name"] == "w2"
