"""chyme share, shares and searches, as a person runs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from described_vault import put

from chyme.application.app import open_app
from chyme.core.clock import now
from chyme.core.store import documents
from chyme.doors.cli.main import main
from chyme.model import iso


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "vault").mkdir()
    monkeypatch.setenv("CHYME_SERVER_DIR", str(tmp_path / "server"))
    arrive(tmp_path / "vault", "letter.txt")
    return tmp_path / "vault"


def arrive(vault: Path, name: str) -> None:
    """Put a file into the vault, and let its digestion end."""
    with open_app(vault) as app:
        file = put(app, name)
        app.database.write(lambda db: documents.set_state(db, file.id, "completed", None, False, iso(now())))


def run(vault: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--vault", str(vault)])


def as_json(vault: Path, *arguments: str) -> Any:
    result = run(vault, *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_link_is_printed_once_listed_and_ended(vault: Path) -> None:
    made = run(vault, "share", str(vault / "letter.txt"), "--days", "7", "--label", "For Ada", "--server", "https://x/")
    assert made.exit_code == 0 and made.stdout.startswith("https://x/s/")
    secret = made.stdout.strip().rpartition("/")[2]
    (listed,) = as_json(vault, "shares")["shares"]
    assert (listed["label"], listed["paths"], listed["state"]) == ("For Ada", ["letter.txt"], "open")
    assert secret not in run(vault, "shares").output and "For Ada" in run(vault, "shares").output
    with open_app(vault) as app:
        assert app.shares.find(secret) is not None
    assert as_json(vault, "share", "--revoke", "1")["share"]["state"] == "ended"
    assert "ended" in run(vault, "shares").output


def test_what_cannot_be_shared_is_said(vault: Path) -> None:
    assert "name the files" in run(vault, "share").output
    assert "not in the vault" in run(vault, "share", str(vault / "nothing.txt")).output
    assert "no link 9" in run(vault, "share", "--revoke", "9").output
    assert "nothing to share" in run(vault, "share", "--query", "kind:video").output
    (vault / ".chymeprivate").write_text("*.txt\n")
    refused = run(vault, "share", str(vault / "letter.txt"))
    assert refused.exit_code == 2 and "--private" in refused.output
    assert run(vault, "share", str(vault / "letter.txt"), "--private").exit_code == 0


def test_a_search_is_saved_and_tells_what_is_new(vault: Path) -> None:
    assert as_json(vault, "searches", "save", "Texts", "kind:text")["search"]["new"] == 0
    arrive(vault, "fresh.txt")
    assert "1 file new" in run(vault, "searches").output
    new = as_json(vault, "searches", "new", "texts", "--seen")
    assert [file["path"] for file in new["files"]] == ["fresh.txt"]
    assert as_json(vault, "searches", "list")["searches"][0]["new"] == 0
    arrive(vault, "again.txt")
    assert as_json(vault, "searches", "seen", "1")["search"]["new"] == 0
    assert as_json(vault, "searches", "rename", "Texts", "Letters")["search"]["name"] == "Letters"
    feed = as_json(vault, "searches", "feed", "Letters", "--server", "https://x")["feed"]
    assert feed.startswith("https://x/feeds/") and feed.endswith(".atom")
    assert as_json(vault, "searches", "feed", "Letters", "--revoke") == {"feed": None}
    assert as_json(vault, "searches", "delete", "Letters") == {"deleted": "Letters"}
    assert "no search is saved" in run(vault, "searches").output
    assert run(vault, "searches", "new", "Letters").exit_code == 2
    assert "no user" in run(vault, "searches", "list", "--user", "Ada").output
