"""Opening vaults: settings, where the state lives, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from sqlite3 import Connection

import pytest

from chyme.application.app import App, open_app
from chyme.application.doctor import doctor
from chyme.application.settings import Settings, read_settings
from chyme.application.vault_languages import count_languages, suggest_multilingual
from chyme.core.files.vault_folder import STATE
from chyme.core.store import vault_properties
from chyme.errors import UsageError, VaultError


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    return folder


def test_reading_never_makes_a_vault_of_a_folder(vault: Path) -> None:
    with pytest.raises(UsageError, match="not a vault yet"):
        App(vault)
    assert list(vault.iterdir()) == []


def test_a_missing_folder_is_refused_with_an_explanation(tmp_path: Path) -> None:
    with pytest.raises(VaultError, match="cannot be opened as a vault"):
        App(tmp_path / "nowhere", create=True)


def test_only_its_owner_may_read_the_state_of_a_vault(vault: Path) -> None:
    with open_app(vault):
        assert (vault / ".chyme").stat().st_mode & 0o077 == 0


def test_a_state_dir_serves_only_one_vault(vault: Path, tmp_path: Path) -> None:
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
def test_a_setting_that_makes_no_sense_is_refused_with_an_explanation(
    tmp_path: Path, text: str, environment: dict[str, str], why: str
) -> None:
    (tmp_path / "settings.toml").write_text(text)
    with pytest.raises(UsageError, match=why):
        read_settings(tmp_path, environment)


@pytest.mark.parametrize(
    ("text", "expected"), [("false", False), ("off", False), ("0", False), ("Yes", True), ("1", True)]
)
def test_a_boolean_setting_is_read_from_words(tmp_path: Path, text: str, expected: bool) -> None:
    assert read_settings(tmp_path, {"CHYME_TELL_PLACE": text}).tell_place is expected
    (tmp_path / "settings.toml").write_text(f"tell_place = {str(expected).lower()}\n")
    assert read_settings(tmp_path, {}).tell_place is expected


def test_children_get_the_vision_model_but_not_its_key(vault: Path) -> None:
    settings = Settings(vision_url="http://127.0.0.1:9/v1", vision_model="seer", vision_key="secret")
    with open_app(vault, settings) as app:
        config = app.child_config
    assert config["vision"]["model"] == "seer"
    assert "secret" not in repr(config)


def test_the_doctor_names_every_engine_and_needs_no_vault(vault: Path) -> None:
    engines = {engine.capability: engine for engine in doctor(vault)}
    assert engines["PDF"].ok and engines["database"].ok
    assert all(engine.ok or engine.how for engine in engines.values())
    assert list(vault.iterdir()) == []


def test_the_doctor_names_the_scripts_that_cannot_be_read_and_one_command(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    (line,) = [engine for engine in doctor(vault, Settings()) if engine.capability == "other scripts in pictures"]
    assert (line.engine, line.ok) == ("none; such writing is noted, not read", True)
    assert "Cyrillic, Greek, Arabic, Hebrew, Devanagari, Korean and Thai" in line.how
    assert "apt-get install tesseract-ocr tesseract-ocr-rus tesseract-ocr-ell tesseract-ocr-ara" in line.how
    off = doctor(vault, Settings(ocr_scripts=False))
    assert "other scripts in pictures" not in [engine.capability for engine in off]


def test_the_doctor_counts_documents_in_languages_that_the_embedder_does_not_know(vault: Path) -> None:
    for name in ("a", "b", "c", "d"):
        (vault / f"{name}.txt").write_text("hello")
    with open_app(vault) as app:
        app.scan_and_settle()
        app.database.write(
            lambda db: db.executemany(
                "UPDATE documents SET language = ? WHERE file_id = ?", [("ru", 1), ("ru", 2), ("th", 3), ("de", 4)]
            )
        )
        open_vault = count_languages(app.state)
    assert open_vault == {"ru": 2, "th": 1, "de": 1}
    assert count_languages(vault / STATE) == open_vault
    assert count_languages(vault) == {}


def test_the_multilingual_embedder_is_offered_for_languages_it_knows_only() -> None:
    told = suggest_multilingual({"th": 1, "ru": 1200, "de": 40, "en": 7, "he": 3}, is_fetched=False)
    assert told.startswith("1,201 documents are in languages that it does not know (Russian 1,200, Thai 1)")
    assert "run 'chyme weights multilingual' and set embedding_provider to multilingual" in told
    assert "chyme weights" not in suggest_multilingual({"ko": 1}, is_fetched=True)
    assert suggest_multilingual({"en": 900, "fr": 20, "he": 1}, is_fetched=False) == ""


def test_only_outputs_whose_lane_has_changed_are_moved(vault: Path) -> None:
    (vault / "note.txt").write_text("hello")
    with open_app(vault) as app:
        app.scan_and_settle()
        app.start(follow=False, only_files=frozenset())
        lanes = app.rules.lanes()

        def elsewhere(db: Connection) -> None:
            db.execute("UPDATE digests SET weight = weight % 1000 + 9000")
            vault_properties.put(db, "lanes", json.dumps(lanes | {"slug": 9}, sort_keys=True))

        app.database.write(elsewhere)
    with open_app(vault) as app:
        app.start(follow=False, only_files=frozenset())
        rows = app.database.read().execute("SELECT digester, weight / 1000 FROM digests").fetchall()
        assert dict(rows) == dict.fromkeys(lanes, 9) | {"slug": lanes["slug"]}
        assert json.loads(str(vault_properties.value_of(app.database.read(), "lanes"))) == lanes


def test_a_document_that_differs_from_its_digests_is_reported(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("# A note\n")
    with open_app(tmp_path) as app:
        app.scan_and_settle()
        assert not [problem for problem in app.documents.problems() if "something else" in problem]
        app.database.write(lambda db: db.execute("UPDATE documents SET title = 'another'"))
        assert [problem for problem in app.documents.problems() if "something else" in problem]


def test_outputs_that_no_digester_makes_any_more_are_skipped_when_digestion_starts(vault: Path) -> None:
    (vault / "note.txt").write_text("hello")
    with open_app(vault) as app:
        app.scan_and_settle()

        def leave_behind(db: Connection) -> None:
            db.execute("UPDATE digests SET digester = 'guest' WHERE digester = 'slug'")
            db.execute("UPDATE digests SET digester = 'visitor' WHERE digester = 'tags'")
            db.execute(
                "UPDATE digests SET status = 'in-progress', run_id = 'x', attempts = 1 WHERE digester = 'visitor'"
            )

        app.database.write(leave_behind)  # like a process that died while a plug-in was working
        app.start(follow=False, only_files=frozenset())
        left = "SELECT status, error FROM digests WHERE digester IN ('guest', 'visitor')"
        rows = app.database.read().execute(left).fetchall()
        assert rows == [("skipped", "nobody makes this any more")] * 2
