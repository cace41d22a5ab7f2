"""The service files and manifests in deploy/ are well-formed, and fit the commands and the isolation of children."""

from __future__ import annotations

import dataclasses
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml  # type: ignore[import-untyped]

from chyme.application.settings import Settings
from chyme.doors.cli.main import main

DEPLOY = Path(__file__).parents[1] / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))


class StrictLoader(yaml.SafeLoader):  # type: ignore[misc]
    """Refuses keys that stand twice in a mapping; YAML itself would take the last."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        assert len(set(keys)) == len(keys), f"a key twice in line {node.start_mark.line}: {keys}"
        return super().construct_mapping(node, deep)


def read_unit(path: Path) -> dict[str, list[str]]:
    """The lines of [Service], by name; a name may stand several times."""
    lines: dict[str, list[str]] = {}
    section = ""
    for line in path.read_text().splitlines():
        if line.startswith("["):
            section = line
        elif section == "[Service]" and line and not line.startswith("#"):
            name, _, value = line.partition("=")
            lines.setdefault(name, []).append(value)
    return lines


def worker_pod() -> dict[str, Any]:
    (document,) = yaml.load_all((DEPLOY / "kubernetes/workers.yaml").read_text(), StrictLoader)
    assert (document["apiVersion"], document["kind"]) == ("apps/v1", "Deployment")
    spec = document["spec"]
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    pod: dict[str, Any] = spec["template"]["spec"]
    return pod


def options_of(command: list[str]) -> dict[str, str | None]:
    """The options of a command line of chyme; click reads them, and so finds those that do not exist."""
    assert Path(command[0]).name == "chyme"
    context = click.Context(main)
    found = main.get_command(context, command[1])
    assert found is not None
    parsed = found.make_context(command[1], list(command[2:]), resilient_parsing=True)
    assert not parsed.args
    return parsed.params


def is_known(variable: str) -> bool:
    return variable.removeprefix("CHYME_").lower() in {field.name for field in dataclasses.fields(Settings)}


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_systemd_understands_every_line_of_the_units(path: Path, tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed, so the units of systemd were not checked")
    chyme = tmp_path / "chyme"
    chyme.write_text("#!/bin/sh\n")
    chyme.chmod(0o755)
    unit = tmp_path / path.name
    unit.write_text(path.read_text().replace("/opt/chyme/bin/chyme", str(chyme)))

    checked = subprocess.run([program, "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False)

    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_units_leave_children_what_they_need_to_leave_the_network(path: Path) -> None:
    unit = read_unit(path)
    assert {"user", "net"} <= set(unit["RestrictNamespaces"][0].split())
    assert unit["User"] != ["root"]
    assert not {"PrivateUsers", "RootDirectory", "RootImage", "PrivateNetwork"} & set(unit)


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_units_use_commands_and_settings_that_exist(path: Path) -> None:
    unit = read_unit(path)
    options_of(shlex.split(unit["ExecStart"][0]))
    assert all(is_known(line.partition("=")[0]) for line in unit["Environment"])


def test_a_worker_has_time_to_finish_before_systemd_or_kubernetes_kills_it() -> None:
    unit = read_unit(DEPLOY / "systemd/chyme-worker.service")
    pod = worker_pod()
    grace = options_of(shlex.split(unit["ExecStart"][0]))["grace"]
    pod_grace = options_of(pod["containers"][0]["command"])["grace"]

    assert float(unit["TimeoutStopSec"][0]) >= float(grace or 0) + 15
    assert pod["terminationGracePeriodSeconds"] >= float(pod_grace or 0) + 15


def test_pods_of_workers_find_their_credentials_and_their_scratch() -> None:
    pod = worker_pod()
    (container,) = pod["containers"]
    environment = {row["name"]: row["value"] for row in container["env"]}
    mounts = {row["name"]: row for row in container["volumeMounts"]}
    volumes = {row["name"]: row for row in pod["volumes"]}

    assert all(map(is_known, environment))
    assert set(mounts) == set(volumes)
    credentials = Path(environment["CHYME_WORKERS_CREDENTIALS"])
    assert str(credentials.parent) == mounts["credentials"]["mountPath"]
    assert volumes["credentials"]["secret"] == {"secretName": "chyme-worker", "defaultMode": 0o400}
    assert str(options_of(container["command"])["scratch"]) == mounts["scratch"]["mountPath"]


def test_pods_of_workers_may_isolate_children_and_have_no_rights_on_the_node() -> None:
    pod = worker_pod()
    context = pod["containers"][0]["securityContext"]

    assert pod["hostUsers"] is False
    assert pod["automountServiceAccountToken"] is False
    assert "privileged" not in context
    assert context["capabilities"]["drop"] == ["ALL"]
    assert {"SYS_ADMIN", "SETUID", "SETGID"} <= set(context["capabilities"]["add"])


def test_probes_run_in_the_pod_because_health_listens_on_loopback() -> None:
    (container,) = worker_pod()["containers"]
    port = str(options_of(container["command"])["health_port"])
    for name in ("startupProbe", "livenessProbe", "readinessProbe"):
        program, flag, code = container[name]["exec"]["command"]
        assert (program, flag) == ("python3", "-c")
        assert port in code
        compile(code, name, "exec")
