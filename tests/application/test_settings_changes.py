"""Settings that are changed while chyme runs: checked first, stored as a person would, used at once where possible."""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping
from pathlib import Path

import pytest

from chyme.application.digester_config import config_of
from chyme.application.settings import Effect, Settings, effects, read_settings
from chyme.application.settings_changes import Changes, RefusedSettings, SettingsConflict, SettingsEditor
from chyme.application.settings_file import edit
from chyme.errors import UsageError

BY_HAND = """# Ada's vault

concurrency = 4  # the machine is small
  web_delay=2.5
web_agent = "a # b"   # "quoted" # twice

# the end"""


class Running:
    """What uses the settings of a folder."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.path = folder / "settings.toml"
        self.settings = read_settings(folder, environment or {})
        self.adopted = 0
        self.editor = SettingsEditor(folder, environment or {}, lambda: self.settings, self._adopt)

    def _adopt(self, settings: Settings) -> None:
        self.settings, self.adopted = settings, self.adopted + 1

    def refused(self, changes: Changes) -> dict[str, str]:
        """Why these changes are refused; nothing may have been stored."""
        before = self.path.read_bytes() if self.path.exists() else None
        with pytest.raises(RefusedSettings) as refused:
            self.editor.store(changes)
        assert (self.path.read_bytes() if self.path.exists() else None) == before
        assert self.adopted == 0
        return refused.value.problems


@pytest.fixture
def running(tmp_path: Path) -> Running:
    return Running(tmp_path)


def test_what_stays_in_the_file_names_programs_folders_and_limits() -> None:
    settable = {name for name, effect in effects().items() if effect is not None}
    forbidden = re.compile(
        r"(_dir|_uid|_memory_mb|_children|_threads|_credentials)$|^(host|hosts|port|office|browser|trusted|server|state|"
        r"workers|meilisearch|qdrant|search_engine|upload|connections|weights|ocr_engine|web_allow|scratch|log|session)"
    )
    assert [name for name in settable if forbidden.search(name)] == []
    assert {"llm_key", "llm_cost_per_day", "crawl", "web_delay", "ocr_languages"} <= settable


def test_comments_order_and_blanks_stay(running: Running) -> None:
    running.path.write_text(BY_HAND)
    running.editor.store({"concurrency": 6, "web_delay": None, "crawl": False})
    assert running.path.read_text() == (
        BY_HAND.replace("concurrency = 4", "concurrency = 6").replace("  web_delay=2.5\n", "") + "\ncrawl = false\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('web_agent = """a\nb"""\ncrawl = true\n', 'web_agent = "x"\ncrawl = true\n'),
        ("web_agent = 'a'\r\ncrawl = true\r\n", 'web_agent = "x"\r\ncrawl = true\r\n'),
        ('"web_agent" = "a#b" # why\n', 'web_agent = "x"  # why\n'),
        ("# web_agent = 'a'\n", "# web_agent = 'a'\nweb_agent = \"x\"\n"),
        ("# a\u2028web_agent = 1\n", "# a\u2028web_agent = 1\nweb_agent = \"x\"\n"),
    ],
)  # fmt: skip
def test_a_value_is_replaced_where_it_stands(before: str, after: str) -> None:
    assert edit(before.encode(), {"web_agent": "x"}).decode() == after


def test_a_value_in_a_table_is_not_touched() -> None:
    with pytest.raises(UsageError, match="by hand"):
        edit(b"[table]\nweb_agent = 'a'\n", {"web_agent": "x"})


def test_a_change_is_used_at_once_and_named_so(running: Running) -> None:
    stored = running.editor.store({"web_delay": 3, "embedding_provider": "minilm"})
    assert (stored.at_once, stored.after_restart) == (("web_delay",), ("embedding_provider",))
    assert (running.settings.web_delay, running.adopted) == (3.0, 1)


def test_what_takes_effect_after_a_restart_is_not_used_before(running: Running) -> None:
    running.editor.store({"voice_similarity": 0.5})
    assert effects()["voice_similarity"] is Effect.AFTER_RESTART
    assert (running.settings.voice_similarity, running.adopted) == (0.65, 0)
    assert read_settings(running.path.parent, {}).voice_similarity == 0.5


def test_a_file_that_holds_keys_is_for_its_owner_alone(running: Running) -> None:
    running.path.write_text("")
    running.path.chmod(0o644)
    running.editor.store({"llm_key": "sk-1"})
    assert stat.S_IMODE(running.path.stat().st_mode) == 0o600
    assert [path.name for path in running.path.parent.glob(".chyme-*.part")] == []


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"office": "/bin/sh"}, "office"),
        ({"browser": "/bin/sh"}, "browser"),
        ({"web_allow": "169.254.169.254"}, "web_allow"),
        ({"__class__": "x"}, "__class__"),
        ({"web_agent": 'a"\noffice = "/bin/sh'}, "web_agent"),
        ({"web_agent": "a\x7f"}, "web_agent"),
        ({"web_agent": "\ud800"}, "web_agent"),
        ({"llm_model": "x" * 1_000_000}, "llm_model"),
        ({"llm_cost_per_day": float("nan")}, "llm_cost_per_day"),
        ({"llm_cost_per_day": "inf"}, "llm_cost_per_day"),
        ({"llm_calls_per_day": -1}, "llm_calls_per_day"),
        ({"llm_calls_per_day": 10**40}, "llm_calls_per_day"),
        ({"llm_calls_per_day": True}, "llm_calls_per_day"),
        ({"crawl": "perhaps"}, "crawl"),
        ({"concurrency": 0}, "concurrency"),
        ({"ocr_languages": "../../etc/passwd"}, "ocr_languages"),
        ({"llm_provider": "nobody"}, "llm_provider"),
        ({"llm_model": "m"}, "llm_model"),
        ({"llm_url": "file:///etc/passwd", "llm_model": "m"}, "llm_url"),
        ({"llm_url": "http://a:b@127.0.0.1/", "llm_model": "m"}, "llm_url"),
        ({"llm_key": "…"}, "llm_key"),
    ],
)
def test_what_is_not_allowed_or_makes_no_sense_is_refused_with_its_reason(
    running: Running, changes: Changes, name: str
) -> None:
    running.path.write_text(BY_HAND)
    assert name in running.refused({"crawl": False, **changes})


def test_the_environment_wins_and_says_so(tmp_path: Path) -> None:
    running = Running(tmp_path, {"CHYME_LLM_KEY": "sk-env", "CHYME_CRAWL": "no"})
    assert "CHYME_CRAWL" in running.refused({"crawl": True})["crawl"]
    assert "sk-env" not in str(running.refused({"llm_key": "other"}))


def test_of_two_people_who_save_at_once_the_second_is_told(running: Running) -> None:
    seen = running.editor.etag()
    running.editor.store({"web_delay": 3}, seen)
    with pytest.raises(SettingsConflict):
        running.editor.store({"web_delay": 9}, seen)
    assert running.settings.web_delay == 3.0


@pytest.mark.parametrize("broken", ["concurrency = ", "[llm_key]\n123 = 1\n", "llm_key = 123\n", "sk-123 = 'llm'\n"])
def test_a_broken_file_is_left_alone_and_not_quoted(running: Running, broken: str) -> None:
    running.path.write_text(broken)
    with pytest.raises(UsageError, match="by hand") as refused:
        running.editor.store({"web_delay": 3})
    assert "123" not in str(refused.value).replace(str(running.path), "")
    assert running.path.read_text() == broken


def test_a_stored_key_is_never_sent_to_another_address(running: Running) -> None:
    running.editor.store({"llm_url": "https://a.invalid/v1", "llm_model": "m", "llm_key": "sk-1"})
    running.adopted = 0
    for elsewhere in ("https://b.invalid/v1", "http://a.invalid/v1", "https://a.invalid:8443/v1", None):
        assert "again" in running.refused({"llm_url": elsewhere, "llm_model": "m"})["llm_key"]
    running.editor.store({"llm_url": "https://a.invalid/v2"})
    running.editor.store({"llm_url": "https://b.invalid/v1", "llm_key": None})
    assert running.settings.llm_key == ""


def test_what_was_changed_by_hand_is_used_after_a_reload(running: Running) -> None:
    running.path.write_text("web_delay = 7\nport = 9000\n")
    assert running.editor.reload() == ("web_delay",)
    assert (running.settings.web_delay, running.settings.port) == (7.0, 8765)


def test_a_value_given_at_the_start_stays_until_it_is_changed(running: Running) -> None:
    running.settings = Settings(web_delay=5.0)
    running.editor.store({"crawl": False})
    assert (running.settings.web_delay, running.settings.crawl) == (5.0, False)
    assert config_of(running.settings)["crawl"] is False
