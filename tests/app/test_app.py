"""Opening vaults: settings, where the state lives, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from chyme.app import App, doctor, open_app
from chyme.errors import UsageError, VaultError
from chyme.settings import Settings, read_settings


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    return folder


def test_reading_never_makes_a_vault_of_a_folder(vault: Path) -> None:
    with pytest.raises(UsageError, match="not a vault yet"):
        App(vault)
    assert list(vault.iterdir()) == []


def test_a_folder_that_is_not_there_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(VaultError, match="cannot be opened as a vault"):
        App(tmp_path / "nowhere", create=True)


def test_the_state_of_a_vault_is_nobody_elses_to_read(vault: Path) -> None:
    with open_app(vault):
        assert (vault / ".chyme").stat().st_mode & 0o077 == 0


def test_one_state_dir_serves_one_vault(vault: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    settings = Settings(state_dir=str(tmp_path / "state"))
    with open_app(vault, settings):
        assert not (vault / ".chyme").exists()
    with pytest.raises(VaultError, match="state_dir of its own"), open_app(other, settings):
        pass
    vault.rename(tmp_path / "moved")
    with open_app(tmp_path / "moved", settings) as app:
        assert app.documents.status()["files"] == 0


def test_settings_come_from_defaults_then_the_file_then_the_environment(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text('concurrency = 4\nport = 1234\nchild_idle_seconds = 5\nhost = "::1"\n')
    settings = read_settings(tmp_path, {"CHYME_PORT": "99", "CHYME_VAULT": "ignored"})
    assert (settings.concurrency, settings.port, settings.child_idle_seconds, settings.host) == (4, 99, 5.0, "::1")
    assert settings.pdf_pages == Settings().pdf_pages


@pytest.mark.parametrize(
    ("text", "environment", "why"),
    [
        ("concurency = 4", {}, "no setting called 'concurency'"),
        ("concurrency = ", {}, "not valid TOML"),
        ("", {"CHYME_PORT": "many"}, "port must be a whole number"),
        ("port = true", {}, "port must be a whole number"),
        ("host = 4", {}, "host must be a text"),
        ("concurrency = 0", {}, "at least 1"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_in_words(
    tmp_path: Path, text: str, environment: dict[str, str], why: str
) -> None:
    (tmp_path / "settings.toml").write_text(text)
    with pytest.raises(UsageError, match=why):
        read_settings(tmp_path, environment)


@pytest.mark.parametrize(
    ("told", "meant"), [("false", False), ("off", False), ("0", False), ("Yes", True), ("1", True)]
)
def test_a_setting_that_is_true_or_false_is_told_in_words(tmp_path: Path, told: str, meant: bool) -> None:
    assert read_settings(tmp_path, {"CHYME_TELL_PLACE": told}).tell_place is meant
    (tmp_path / "settings.toml").write_text(f"tell_place = {str(meant).lower()}\n")
    assert read_settings(tmp_path, {}).tell_place is meant


def test_children_are_told_of_the_vision_model_but_not_its_key(vault: Path) -> None:
    settings = Settings(vision_url="http://127.0.0.1:9/v1", vision_model="seer", vision_key="secret")
    with open_app(vault, settings) as app:
        told = app.config_of_children()
    assert told["vision"]["model"] == "seer"
    assert "secret" not in repr(told)


def test_the_doctor_names_every_engine_and_needs_no_vault(vault: Path) -> None:
    engines = {engine.capability: engine for engine in doctor(vault)}
    assert engines["PDF"].ok and engines["database"].ok
    assert all(engine.ok or engine.how for engine in engines.values())
    assert list(vault.iterdir()) == []
