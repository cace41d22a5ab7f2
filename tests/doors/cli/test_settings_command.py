"""chyme settings: list, set and unset; a key comes from standard input and is never printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from chyme.application.app import App, open_app
from chyme.doors.cli.main import main
from chyme.doors.local_socket.server import answer_commands

KEY = "sk-from-standard-input"


def run(vault: Path, *arguments: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(main, ["settings", *arguments, "--vault", str(vault)], input=typed)


def file_of(vault: Path) -> str:
    return (vault / ".chyme/settings.toml").read_text()


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    with open_app(tmp_path):
        return tmp_path


def test_a_setting_is_set_listed_and_removed(vault: Path) -> None:
    assert "from the next start" in run(vault, "set", "web_delay", "4").output
    assert file_of(vault) == "web_delay = 4.0\n"
    assert "web_delay = 4.0" in run(vault, "list").output
    assert run(vault, "unset", "web_delay").exit_code == 0
    assert file_of(vault) == ""


def test_a_key_is_read_from_standard_input_and_never_printed(vault: Path) -> None:
    outputs = [run(vault, "set", "llm_key", typed=f"{KEY}\n"), run(vault, "list", "--all"), run(vault, "--json")]
    assert f'llm_key = "{KEY}"' in file_of(vault)
    assert [output.exit_code for output in outputs] == [0, 0, 0]
    assert [output.output for output in outputs if KEY in output.output] == []
    assert "llm_key: is set" in outputs[1].output


def test_what_stays_in_the_file_is_refused(vault: Path) -> None:
    refused = run(vault, "set", "browser", "/bin/sh")
    assert (refused.exit_code, "stays in settings.toml" in refused.output) == (2, True)
    assert not (vault / ".chyme/settings.toml").exists()


def test_a_running_server_uses_it_at_once(tmp_path: Path) -> None:
    with open_app(tmp_path) as app, answer_commands(app):
        told = json.loads(run(tmp_path, "set", "web_delay", "4", "--json").output)
        assert told == {"at_once": ["web_delay"], "after_restart": [], "served": True}
        assert _delay(app) == 4.0


def _delay(app: App) -> float:
    return app.settings.web_delay
