"""Every command and page reports a damaged database in one sentence, with the ways out."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import damaging
import pytest
from click.testing import CliRunner, Result
from damaging import REFUSED
from running_chyme import RunningChyme, wait_until

from chyme.doors.cli.main import main

pytestmark = pytest.mark.slow

NOTES = 40
COMMANDS = (
    ["status"],
    ["verify"],
    ["search", "walnut"],
    ["digest"],
    ["show", "note 1.md"],
    ["edit", "note 1.md", "--title", "Nuts"],
    ["backup", "elsewhere.tar"],
)


@pytest.fixture(scope="module")
def digested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault with notes, digested once for all tests."""
    root = tmp_path_factory.mktemp("digested")
    for number in range(NOTES):
        (root / f"note {number}.md").write_text(f"# Note {number}\n\nThe walnut harvest was counted {number} times.\n")
    answer = run(root, "digest")
    assert answer.exit_code == 0, answer.output
    return root


@pytest.fixture
def vault(digested: Path, tmp_path: Path) -> Iterator[Path]:
    root = tmp_path / "copy"
    shutil.copytree(digested, root)
    before = Path.cwd()
    os.chdir(tmp_path)
    yield root
    os.chdir(before)


def run(root: Path, command: str, *arguments: str) -> Result:
    environment = {"CHYME_CRAWL": "false", "CHYME_SERVER_DIR": os.fspath(root.parent / "server")}
    return CliRunner().invoke(main, [command, "--vault", os.fspath(root), *arguments], env=environment)


def database_of(root: Path) -> Path:
    return root / ".chyme/vault.db"


def assert_one_sentence(message: str, root: Path, cause: str) -> None:
    assert message.startswith(f"chyme: the database {database_of(root)} {cause}"), message
    assert message.count("\n") == 1 and "Traceback" not in message
    assert "chyme restore" in message and "chyme rescue" in message, "the ways out"


@pytest.mark.parametrize("how", REFUSED)
def test_every_command_reports_why_a_database_cannot_be_opened(vault: Path, how: str) -> None:
    damage, cause = REFUSED[how]
    damage(database_of(vault))
    before = database_of(vault).read_bytes()
    for command in COMMANDS:
        answer = run(vault, *command)
        assert answer.exit_code == 2, (command, answer.output)
        assert answer.stdout == ""
        assert_one_sentence(answer.stderr, vault, cause)
    assert database_of(vault).read_bytes() == before, "the file is unchanged"


def test_every_command_reports_overwritten_pages(vault: Path) -> None:
    damaging.overwrite_pages(database_of(vault))
    for command in COMMANDS:
        answer = run(vault, *command)
        assert answer.exit_code in (1, 2), (command, answer.output)
        message = answer.stderr or f"chyme: {answer.stdout}"  # verify prints what it found, if it could open it
        assert_one_sentence(message, vault, "is damaged (")


def test_verify_reports_an_index_that_lacks_entries(vault: Path) -> None:
    damaging.empty_index(database_of(vault))
    answer = run(vault, "verify")
    assert answer.exit_code == 1 and answer.stderr == ""
    first, *rest = answer.stdout.splitlines()
    assert_one_sentence(f"chyme: {first}\n", vault, "is damaged (row 1 missing from index files_by_folder)")
    assert "database: wrong # of entries in index files_by_folder" in rest
    assert "found" in run(vault, "search", "walnut").stdout, "readable data is still read"


def test_a_journal_of_noise_does_no_harm(vault: Path) -> None:
    damaging.scribble_in_journal(database_of(vault))
    assert run(vault, "verify").stdout == "all is well\n"


def test_an_empty_file_in_an_empty_folder_is_a_new_vault(tmp_path: Path) -> None:
    state = tmp_path / "vault/.chyme"
    state.mkdir(parents=True)
    (state / "settings.toml").write_text("")
    (state / "vault.db").touch()
    answer = run(tmp_path / "vault", "digest")
    assert answer.exit_code == 0, answer.output


def test_a_journal_without_its_database_is_not_thrown_away(vault: Path) -> None:
    with closing(
        sqlite3.connect(database_of(vault))
    ) as db:  # committed data stays in the journal while this connection is open
        db.execute("INSERT INTO marks VALUES ('a', 'b')")
        db.commit()
        journal = database_of(vault).with_name("vault.db-wal")
        shutil.copy(journal, vault / "kept")
    database_of(vault).unlink()
    shutil.move(vault / "kept", journal)
    answer = run(vault, "digest")
    assert answer.exit_code == 2
    assert_one_sentence(answer.stderr, vault, "is gone, though there was one here: vault.db-wal is still beside it")
    assert journal.stat().st_size > 0


@pytest.mark.parametrize("how", ["header", "cut short", "empty", "foreign", "text"])
def test_damaged_accounts_open_no_door(vault: Path, how: str) -> None:
    made = run(vault, "tokens", "add", "ci")
    assert made.exit_code == 0, made.output
    accounts = vault.parent / "server/server.db"
    damage, _ = REFUSED[how]
    damage(accounts)
    for command in (["tokens", "list"], ["serve", "--port", "0"]):
        answer = run(vault, *command)
        assert answer.exit_code == 2, answer.output
        assert answer.stderr.startswith(f"chyme: the database {accounts} ") and answer.stderr.count("\n") == 1
        assert "--server --replace" in answer.stderr


def test_a_damaged_vault_does_not_prevent_serving_the_others(vault: Path, chyme: RunningChyme) -> None:
    damaging.overwrite_header(database_of(vault))
    other = vault
    chyme.drop("note.md", "walnut")
    server = chyme.serve(os.fspath(other))
    with closing(server.http) as http:
        assert http.get("/v/vault/api/status").status_code == 200
        refused = http.get("/v/copy/api/status")
        assert refused.status_code == 503
        assert refused.json()["detail"].startswith(f"the database {database_of(other)} does not begin like a database")
        page = http.get("/v/copy/", headers={"Accept": "text/html"})
        assert page.status_code == 503 and "chyme rescue" in page.text
        assert http.get("/v/nothing/").status_code == 404


def test_a_server_whose_database_gets_damaged_pauses_and_reports_it_once(vault: Path, chyme: RunningChyme) -> None:
    chyme.vault.rmdir()
    vault.rename(chyme.vault)
    server = chyme.serve()
    with closing(server.http) as http:
        wait_until(lambda: http.get("/api/status").json()["digests"].get("todo", 0) == 0, 60)
        pages = database_of(chyme.vault)
        for name in ("digests", "digests_todo", "digests_of_file", "processing_locks", "files"):
            page = damaging.root_page(pages, name)
            damaging.overwrite(pages, (page - 1) * damaging.PAGE, damaging.noise(damaging.PAGE))
        for number in range(5):
            chyme.drop(f"new {number}.md", "hazelnut", still=False)

        def paused() -> str:
            answer = http.get("/api/status").json()
            return str(answer.get("paused") or answer.get("detail") or "")

        wait_until(lambda: "is damaged" in paused(), 60)
        assert "chyme rescue" in paused()
        for _ in range(20):
            for address in ("/api/status", "/api/search?q=walnut", "/", "/f/note%201.md"):
                answer = http.get(address, headers={"Accept": "text/html"})
                assert answer.status_code in (200, 404, 503), (address, answer.text)
        answer = http.patch("/api/documents/note%201.md", json={"title": "Nuts"})
        assert answer.status_code != 500
    log = chyme.said(server.process)
    assert log.count("is damaged") == 1, log
    assert "Traceback" not in log
