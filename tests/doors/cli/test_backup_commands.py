"""chyme backup, restore and export, run as commands."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from described_vault import put

from chyme.application.app import open_app
from chyme.doors.cli.main import main


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(main, [os.fspath(word) for word in words])


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    with open_app(folder) as app:
        put(app, "letter.txt", "Dear Ada")
    return folder


def test_a_backup_is_checked_and_restored(vault: Path, tmp_path: Path) -> None:
    made = run("backup", tmp_path / "b.tar", "--files", "--vault", vault)
    assert made.exit_code == 0, made.output
    assert "wrote" in made.stdout
    check = run("backup", "--check", tmp_path / "b.tar")
    assert (check.exit_code, check.stdout) == (0, "the archive is whole\n")

    back = run("restore", tmp_path / "b.tar", "--into", tmp_path / "new", "--json")
    assert back.exit_code == 0, back.output
    assert json.loads(back.stdout)["files"] == 1
    assert (tmp_path / "new/letter.txt").read_text() == "Dear Ada"
    show_result = run("show", "letter.txt", "--vault", tmp_path / "new", "--json")
    assert json.loads(show_result.stdout)["file"]["path"] == "letter.txt"


def test_a_damaged_archive_is_reported_by_the_exit_code(vault: Path, tmp_path: Path) -> None:
    run("backup", tmp_path / "b.tar", "--vault", vault)
    data = bytearray((tmp_path / "b.tar").read_bytes())
    data[20_000] ^= 0xFF
    (tmp_path / "b.tar").write_bytes(data)
    check = run("backup", "--check", tmp_path / "b.tar", "--json")
    assert check.exit_code == 1
    assert "damaged" in json.loads(check.stdout)["problems"][0]
    back = run("restore", tmp_path / "b.tar", "--into", tmp_path / "new")
    assert back.exit_code == 2
    assert back.stderr.startswith("chyme: ")


def test_nonsense_is_refused(vault: Path, tmp_path: Path) -> None:
    assert run("backup", "--check").exit_code == 2
    assert run("backup", vault / "b.tar", "--vault", vault).exit_code == 2
    assert run("backup", tmp_path / "b.tar", "--vault", tmp_path).exit_code == 2
    assert run("restore", tmp_path / "nowhere.tar", "--into", tmp_path / "new").exit_code == 2
    assert not (tmp_path / "new").exists()
    replaced = run("restore", tmp_path / "b.tar", "--into", tmp_path / "new", "--replace")
    assert "--server" in replaced.stderr


def test_a_backup_with_settings_warns_that_they_are_secret(vault: Path, tmp_path: Path) -> None:
    (vault / ".chyme/settings.toml").write_text('llm_key = "secret"\n')
    assert "as safe as the vault" in run("backup", tmp_path / "b.tar", "--vault", vault).stderr


def test_one_line_says_how_to_put_the_settings_of_a_backup_in_force(vault: Path, tmp_path: Path) -> None:
    (vault / ".chyme/settings.toml").write_text("port = 7\n")
    run("backup", tmp_path / "b.tar", "--vault", vault)
    new = tmp_path / "new vault"
    there, beside = new / ".chyme/settings.toml", new / ".chyme/settings.restored.toml"

    back = run("restore", tmp_path / "b.tar", "--into", new)
    assert back.exit_code == 0, back.output
    (line,) = [line for line in back.stdout.splitlines() if str(beside) in line]
    assert not there.exists()
    subprocess.run(shlex.split(line.partition("once you say: ")[2]), check=True)
    assert there.read_text() == "port = 7\n"

    assert "settings.restored" not in run("restore", tmp_path / "b.tar", "--into", new).stdout
    there.write_text("port = 8\n")
    assert "restore with --settings" in run("restore", tmp_path / "b.tar", "--into", new).stdout
    assert there.read_text() == "port = 8\n"
    assert "settings.restored" not in run("restore", tmp_path / "b.tar", "--into", new, "--settings").stdout
    assert there.read_text() == "port = 7\n"
    payload = json.loads(run("restore", tmp_path / "b.tar", "--into", tmp_path / "other", "--json").stdout)
    assert (Path(payload["settings"]).name, payload["settings_in_force"]) == ("settings.restored.toml", False)


def test_exporting_says_how_much_was_exported(vault: Path, tmp_path: Path) -> None:
    done = run("export", tmp_path / "out", "--vault", vault)
    assert done.stdout.startswith("1 file exported to")
    again = json.loads(run("export", tmp_path / "out", "--artifacts", "--spend", "--vault", vault, "--json").stdout)
    assert (again["files"], again["written"], again["unchanged"]) == (1, 1, 4)
    assert (tmp_path / "out/spend.json").exists()
