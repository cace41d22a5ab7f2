"""The unit of `chyme service`: what systemd makes of it, where it is written, and what systemctl is asked."""

from __future__ import annotations

import getpass
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from chyme.application.service_manager import ServiceManager
from chyme.application.service_unit import MARK, Service, unit_text
from chyme.doors.cli.commands.service import service
from chyme.errors import UsageError

ANALYSE = shutil.which("systemd-analyze")
AWKWARD = 'my "papers" 100% $HOME \\ über'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A user's folders, and a systemctl that notes what it is asked: no manager of systemd runs in tests."""
    folder = tmp_path / "home"
    (folder / "bin").mkdir(parents=True)
    systemctl = folder / "bin/systemctl"
    systemctl.write_text(
        '#!/bin/sh\necho "$*" >> "$ASKED"\n[ -z "$REFUSES" ] || { echo "Failed to connect to bus" >&2; exit 1; }\n'
        'case "$*" in *is-enabled*) echo enabled;; *is-active*) echo active;; esac\n'
    )
    systemctl.chmod(0o755)
    return folder


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / AWKWARD
    folder.mkdir()
    return folder


def run(home: Path, *arguments: str, **more: str) -> Result:
    environment = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "data"),
        "PATH": f"{home / 'bin'}:/usr/bin:/bin",
        "ASKED": str(home / "asked"),
        "REFUSES": "",
    }
    return CliRunner().invoke(service, list(arguments), env=environment | more)


def asked(home: Path) -> list[str]:
    path = home / "asked"
    return path.read_text().splitlines() if path.exists() else []


def settings_in(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return {name: value for name, _, value in pairs}


def a_service(vault: Path, run_as: str = "") -> Service:
    return Service(
        ["/usr/bin/true"], [vault], [vault / "state"], Path("/etc/chyme/environment"), Path("/opt/chyme"), run_as=run_as
    )


@pytest.mark.skipif(ANALYSE is None, reason="systemd-analyze is not installed, so the units were not checked")
@pytest.mark.parametrize("run_as", ["", getpass.getuser()], ids=["user", "system"])
def test_systemd_understands_every_line(tmp_path: Path, vault: Path, run_as: str) -> None:
    unit = tmp_path / "chyme.service"
    unit.write_text(unit_text(a_service(vault, run_as)))
    command = [str(ANALYSE), "verify", "--man=no", *([] if run_as else ["--user"]), str(unit)]

    checked = subprocess.run(
        command,
        env=os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.skipif(ANALYSE is None, reason="systemd-analyze is not installed, so the units were not checked")
def test_the_unit_for_the_machine_counts_as_well_protected(tmp_path: Path) -> None:
    unit = tmp_path / "chyme.service"
    unit.write_text(unit_text(a_service(Path("/srv/vault"), "daemon")))

    rated = subprocess.run(
        [str(ANALYSE), "security", "--offline=yes", "--threshold=30", "--no-pager", str(unit)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert rated.returncode == 0, rated.stdout


@pytest.mark.parametrize("run_as", ["", "daemon"])
def test_children_keep_what_they_need_to_leave_the_network(vault: Path, run_as: str) -> None:
    lines = settings_in(unit_text(a_service(vault, run_as)))

    assert {"user", "net"} <= set(lines["RestrictNamespaces"].split())
    assert lines["NoNewPrivileges"] == "yes"
    assert lines["ProtectSystem"] == "strict"
    assert not {"PrivateUsers", "RootDirectory", "PrivateNetwork", "MemoryDenyWriteExecute"} & set(lines)


def test_a_users_unit_asks_for_nothing_that_takes_privileges(vault: Path) -> None:
    """In the manager of a user, such a line ends the service before it starts."""
    needs_privileges = {"CapabilityBoundingSet", "PrivateDevices", "ProtectClock", "ProtectKernelModules", "User"}
    assert not needs_privileges & set(settings_in(unit_text(a_service(vault))))
    assert needs_privileges <= set(settings_in(unit_text(a_service(vault, "daemon"))))


def test_folders_that_the_service_needs_are_not_hidden_from_it() -> None:
    elsewhere, at_home, temporary = (
        settings_in(unit_text(a_service(Path(path), "daemon"))) for path in ("/srv/v", "/home/ada/v", "/tmp/v")
    )
    assert (elsewhere["ProtectHome"], elsewhere["PrivateTmp"]) == ("yes", "yes")
    assert at_home["ProtectHome"] == "read-only"
    assert temporary["PrivateTmp"] == "no"


def test_special_characters_of_systemd_in_a_path_mean_themselves() -> None:
    text = unit_text(a_service(Path("/srv") / AWKWARD))
    assert 'serve "/srv/my \\"papers\\" 100%% $$HOME \\\\ über"' in text
    assert 'ReadWritePaths="/srv/my \\"papers\\" 100%% $HOME \\\\ über"' in text


def test_a_path_that_could_add_lines_to_the_unit_is_refused() -> None:
    with pytest.raises(UsageError, match="line break"):
        unit_text(a_service(Path("/srv/a\nExecStartPre=/bin/evil")))


def test_install_writes_the_unit_and_starts_it_now_and_later(home: Path, vault: Path) -> None:
    result = run(home, "install", str(vault), "--port", "9000")

    assert result.exit_code == 0, result.output
    unit = home / "config/systemd/user/chyme.service"
    assert unit.read_text().startswith(MARK)
    assert "--port 9000" in unit.read_text()
    assert (home / "data/chyme").is_dir()
    assert [line.removeprefix("--user --no-pager ") for line in asked(home)[:3]] == [
        *("daemon-reload", "enable chyme.service", "restart chyme.service")
    ]
    assert "systemd: enabled, active" in result.output
    assert "loginctl enable-linger" in result.output


def test_without_a_manager_the_unit_is_there_and_the_commands_are_named(home: Path, vault: Path) -> None:
    result = run(home, "install", str(vault), REFUSES="yes")

    assert result.exit_code == 1
    assert (home / "config/systemd/user/chyme.service").is_file()
    assert "Failed to connect to bus" in result.output
    assert "systemctl --user daemon-reload && systemctl --user enable chyme.service" in result.output


def test_uninstall_stops_it_and_removes_the_unit_alone(home: Path, vault: Path) -> None:
    (vault / "letter.txt").write_text("stays")
    run(home, "install", str(vault))

    result = run(home, "uninstall", "--json")

    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["installed"] is False
    assert "--user --no-pager disable --now chyme.service" in asked(home)
    assert not (home / "config/systemd/user/chyme.service").exists()
    assert (vault / "letter.txt").is_file()


def test_a_unit_of_somebody_else_is_left_as_it_is(home: Path, vault: Path) -> None:
    unit = home / "config/systemd/user/chyme.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nExecStart=/bin/true\n")

    for arguments in (("install", str(vault)), ("uninstall",)):
        result = run(home, *arguments)
        assert isinstance(result.exception, UsageError)
        assert "not made by chyme" in str(result.exception)
    assert unit.read_text() == "[Service]\nExecStart=/bin/true\n"


def test_print_writes_nothing(home: Path, vault: Path) -> None:
    result = run(home, "print", str(vault))

    assert result.output.startswith(MARK)
    assert not (home / "config").exists()
    assert asked(home) == []


@pytest.mark.parametrize("name", ["../evil", "a b", "", "-x", "a.service/../b"])
def test_a_name_that_is_no_name_of_a_unit_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="is no name for a service"):
        ServiceManager(name, False, {})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root plans services for the machine")
def test_a_service_for_the_machine_never_runs_as_root(vault: Path) -> None:
    with pytest.raises(UsageError, match="must not run as root"):
        ServiceManager("chyme", True, {}).plan([vault])
    planned = ServiceManager("chyme", True, {}).plan([vault], run_as="daemon")
    assert (planned.run_as, planned.has_home, list(planned.writable)) == ("daemon", False, [])
    assert settings_in(unit_text(planned))["StateDirectory"] == "chyme"
