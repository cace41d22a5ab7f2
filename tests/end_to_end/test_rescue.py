"""chyme rescue: what people set by hand and what was captured from the web survives a damaged database."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import damaging
import pytest
from click.testing import CliRunner, Result
from damaging import REFUSED
from running_chyme import wait_until

from chyme.application.app import open_app
from chyme.application.backup.rescue import PREFIX
from chyme.application.backup.salvaged_rows import Capture, restore_captures
from chyme.core.pipeline.output_updates import prepare_output
from chyme.core.store import artifacts, digests, vault_properties
from chyme.core.store.models import calls
from chyme.core.store.rescue.salvage import OldDigest
from chyme.doors.cli.main import main
from chyme.model import Artifact, Form, Output, Place, Question, Voice, iso
from chyme.speech.people.tables import people, voices
from chyme.understanding.edit_rules import EditRequest
from chyme.understanding.tables import tags

pytestmark = pytest.mark.slow

PAGE = "# A page that is gone\n\n" + "What stood there about walnuts. " * 1000
COPY = b"<html>" + bytes(range(256)) * 100
FOUND = {"edits": 3, "tag_rules": 1, "people": 1, "voices": 1, "captures": 2, "renames": 0, "ai_calls": 1}


def environment(root: Path) -> dict[str, str]:
    return {"CHYME_CRAWL": "false", "CHYME_SERVER_DIR": os.fspath(root.parent / "server")}


def run(root: Path, command: str, *arguments: str) -> Result:
    return CliRunner().invoke(main, [command, "--vault", os.fspath(root), *arguments], env=environment(root))


def rescue(root: Path, *arguments: str) -> Any:
    answer = run(root, "rescue", "--json", *arguments)
    assert answer.exit_code == 0, answer.output
    return json.loads(answer.stdout)


def database_of(root: Path) -> Path:
    return root / ".chyme/vault.db"


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault with many edits by hand and captures from the web."""
    root = tmp_path_factory.mktemp("known") / "vault"
    root.mkdir()
    for number in range(30):
        (root / f"note {number}.md").write_text(f"# Note {number}\n\nThe walnut harvest was counted {number} times.\n")
    (root / "page.url").write_text("[InternetShortcut]\nURL=https://example.com/gone\n")
    now = iso(datetime(2026, 4, 3, tzinfo=UTC))
    with open_app(root) as app:
        app.scan_and_settle()
        app.edits.change("note 1.md", EditRequest({"title": "Counting nuts"}))
        app.edits.change("note 1.md", EditRequest({"date": "2026-04"}))
        app.edits.change("note 2.md", EditRequest(tags=["garden"]))
        file = app.open_vault.files_below(["note 3.md"])[0]
        link = app.open_vault.files_below(["page.url"])[0]

        def fill(db: Connection) -> None:
            tags.put_rule(db, "Nut", "Nuts", now)
            person = people.add(db, now)
            people.rename(db, person, "Ada", now)
            voice = Voice("speaker-1", 12.5, "encoder", (1.0, 0.0, 0.0))
            voices.add(db, file.id, voice, voices.add_group(db, person, voice), is_new=True)
            question = Question("llm", "localhost", "model", "hash")
            calls.begin(db, question, "tags", file.id, "run", now)
            captured = [
                Output("url-crawl-content", PAGE, places=(Place(0, 24, heading="A page that is gone"),)),
                Output("url-crawl-html", None, (Artifact("page.html", COPY),)),
            ]
            prepared = [prepare_output(output, Form.DATA) for output in captured]
            restore_captures(
                db,
                app.rules,
                link,
                [
                    Capture(
                        OldDigest(part.output.name, part.output.content, part.content_hash, "recipe", "input"), part
                    )
                    for part in prepared
                ],
                now,
            )

        app.database.write(fill)
    return root


@pytest.fixture
def vault(known: Path, tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    shutil.copytree(known, root)
    return root


def assert_everything_is_back(root: Path) -> None:
    with open_app(root) as app:
        document = app.edits.get("note 1.md").document
        assert (document.title, document.date) == ("Counting nuts", "2026-04")
        assert app.edits.get("note 2.md").document.tags == ("garden",)
        db = app.database.read()
        link = app.open_vault.files_below(["page.url"])[0]
        assert tags.rules(db) == {"Nut": "Nuts"}
        ada = people.by_name(db, "ada")
        assert ada is not None and [voice.path for voice in voices.of_person(db, ada.id)] == ["note 3.md"]
        assert digests.content(db, link.id, "url-crawl-content") == PAGE
        assert artifacts.of_digest(db, "page.url", "url-crawl-html") == {"page.html": COPY}
        assert db.execute("SELECT outcome, count(*) FROM ai_calls").fetchall() == [("lost", 1)]
        assert app.documents.problems() == []


def failed_digests(vault: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(database_of(vault))) as db:
        return db.execute("SELECT file_path, digester FROM digests WHERE status = 'failed'").fetchall()


@pytest.mark.parametrize("how", ["header", "schema"])
def test_everything_set_by_hand_survives_a_lost_beginning(vault: Path, how: str) -> None:
    with closing(sqlite3.connect(database_of(vault))) as db:
        identity = vault_properties.value_of(db, "identity")
    REFUSED[how][0](database_of(vault))
    damaged = database_of(vault).read_bytes()

    report = rescue(vault, "--yes")

    assert report["found"] == FOUND == report["saved"]
    assert report["files"] == 31
    (aside,) = report["aside"]
    assert Path(aside).read_bytes() == damaged and Path(aside).parent == database_of(vault).parent
    with closing(sqlite3.connect(database_of(vault))) as db:
        assert vault_properties.value_of(db, "identity") == identity, "accounts keep their rights"
    assert_everything_is_back(vault)
    assert not list((vault / ".chyme").glob(f"{PREFIX}*"))
    assert run(vault, "digest").exit_code == 1, "without fetching the page, its screenshot cannot be made"
    assert failed_digests(vault) == [("page.url", "url-crawl-screenshot")]
    assert run(vault, "verify").stdout == "all is well\n"
    assert_everything_is_back(vault)


@pytest.mark.parametrize("how", [*REFUSED, "pages"])
def test_after_any_damage_rescue_makes_a_consistent_vault(vault: Path, how: str) -> None:
    (REFUSED[how][0] if how in REFUSED else damaging.overwrite_pages)(database_of(vault))
    dry = rescue(vault, "--dry-run")
    report = rescue(vault, "--yes")
    assert report["problem"] and dry["found"] == report["found"] and not dry["saved"]
    assert all(report["saved"][kind] <= count for kind, count in report["found"].items())
    assert report["files"] == 31
    assert run(vault, "verify").stdout == "all is well\n"


def test_data_that_is_only_in_the_journal_is_read(vault: Path) -> None:
    with closing(sqlite3.connect(database_of(vault))) as db:
        db.execute("UPDATE edits SET value = '\"Walnuts\"' WHERE field = 'title'")
        db.commit()
        for end in ("", "-wal"):
            shutil.copy(f"{database_of(vault)}{end}", vault.parent / f"copy.db{end}")
    for end in ("", "-wal"):
        shutil.move(vault.parent / f"copy.db{end}", f"{database_of(vault)}{end}")
    damaging.overwrite_header(database_of(vault))
    rescue(vault, "--yes")
    with open_app(vault) as app:
        assert app.edits.get("note 1.md").document.title == "Walnuts"


def test_damaged_captures_are_not_saved(vault: Path) -> None:
    at = database_of(vault).read_bytes().index(b"What stood there about walnuts. " * 20)
    damaging.overwrite(database_of(vault), at, b"Something else")
    damaging.overwrite_header(database_of(vault))
    report = rescue(vault, "--yes")
    assert (report["found"]["captures"], report["saved"]["captures"]) == (2, 1)


def test_a_healthy_database_is_left_alone_without_force(vault: Path) -> None:
    answer = run(vault, "rescue", "--yes")
    assert answer.exit_code == 2 and "is not damaged" in answer.stderr
    assert rescue(vault, "--yes", "--force")["saved"] == FOUND
    assert_everything_is_back(vault)


def test_rescue_asks_for_confirmation_first(vault: Path) -> None:
    damaging.overwrite_header(database_of(vault))
    before = database_of(vault).read_bytes()
    answer = CliRunner().invoke(main, ["rescue", "--vault", os.fspath(vault)], input="n\n", env=environment(vault))
    assert answer.exit_code == 1 and "titles, dates and tags set by hand: 3 can be read" in answer.stderr
    assert database_of(vault).read_bytes() == before


def test_nothing_is_rescued_while_another_process_has_the_database_open(vault: Path) -> None:
    script = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute('SELECT * FROM marks').fetchall();"
    script += "print('open', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", script, os.fspath(database_of(vault))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"open\n"
        damaging.overwrite_schema(database_of(vault))
        answer = run(vault, "rescue", "--yes")
        assert answer.exit_code == 2 and "is open in another chyme process" in answer.stderr
        holder.communicate()
    assert rescue(vault, "--yes")["saved"] == FOUND


def test_a_rescue_that_is_killed_loses_nothing(vault: Path) -> None:
    damaging.overwrite_header(database_of(vault))
    before = database_of(vault).read_bytes()
    command = [sys.executable, "-m", "chyme", "rescue", "--vault", os.fspath(vault), "--yes"]
    with subprocess.Popen(command, env=os.environ | environment(vault)) as process:
        wait_until(lambda: list((vault / ".chyme").glob(f"{PREFIX}*/new/vault.db")), 60)
        process.send_signal(signal.SIGKILL)
    assert database_of(vault).read_bytes() == before
    assert rescue(vault, "--yes")["saved"] == FOUND
    assert_everything_is_back(vault)
    assert not list((vault / ".chyme").glob(f"{PREFIX}*"))


def test_a_rescue_killed_at_the_last_moment_still_finds_the_journal(vault: Path) -> None:
    with closing(sqlite3.connect(database_of(vault))) as db:
        db.execute("UPDATE edits SET value = '\"Walnuts\"' WHERE field = 'title'")
        db.commit()
        for end in ("", "-wal"):
            shutil.copy(f"{database_of(vault)}{end}", vault.parent / f"copy.db{end}")
    aside = database_of(vault).with_name("vault.damaged-20260403T120000000000Z.db")
    database_of(vault).unlink()
    shutil.move(vault.parent / "copy.db", database_of(vault))
    shutil.move(vault.parent / "copy.db-wal", f"{aside}-wal")
    damaging.overwrite_header(database_of(vault))
    os.link(database_of(vault), aside)
    rescue(vault, "--yes")
    with open_app(vault) as app:
        assert app.edits.get("note 1.md").document.title == "Walnuts"


def test_without_a_database_there_is_nothing_to_rescue(tmp_path: Path) -> None:
    answer = run(tmp_path, "rescue")
    assert answer.exit_code == 2 and "there is no database to rescue" in answer.stderr


def test_rows_that_violate_our_constraints_are_left_out_and_the_others_saved(vault: Path) -> None:
    with closing(sqlite3.connect(database_of(vault), isolation_level=None)) as db:
        db.execute("PRAGMA ignore_check_constraints = ON")
        (file_id,) = db.execute("SELECT id FROM files WHERE path = 'note 3.md'").fetchone()
        (other,) = db.execute("SELECT id FROM files WHERE path = 'note 4.md'").fetchone()
        now = "2026-04-03T00:00:00.000Z"
        db.execute("INSERT INTO tag_rules VALUES (' Leaf', 'Leaves', ?)", (now,))
        db.execute("INSERT INTO people VALUES (77, '  ', 'odd', ?, ?)", (now, now))
        db.execute("INSERT INTO voice_groups VALUES (77, 77, 'encoder', x'00000000')")
        db.execute("INSERT INTO voices VALUES (77, ?, 'speaker-9', 77, 1.0, 'encoder', x'00000000', 0)", (file_id,))
        db.execute("INSERT INTO voices VALUES (78, ?, '', 1, -1.0, 'encoder', x'00000000', 0)", (other,))
        db.execute("INSERT INTO edits VALUES (?, 'tags', ?, ?)", (file_id, "[" * 100_000, now))
        db.execute("INSERT INTO edits VALUES (?, 'title', ?, ?)", (other, '"\\ud800"', now))
        db.execute("UPDATE places SET \"end\" = -1 WHERE digester = 'url-crawl-content'")
        db.execute("UPDATE digests SET error = error")
        db.execute(
            "INSERT INTO ai_calls SELECT 77, at, provider, host, model, digester, file_id, run_id, question, 'odd', "
            "status, tokens_in, tokens_out, cost, duration_ms, media_type, response FROM ai_calls"
        )
    damaging.overwrite_header(database_of(vault))

    report = rescue(vault, "--yes")

    lost = {kind: report["found"][kind] - report["saved"][kind] for kind in FOUND}
    assert lost == {"edits": 1, "tag_rules": 1, "people": 1, "voices": 2, "captures": 1, "renames": 0, "ai_calls": 1}
    with open_app(vault) as app:
        assert app.edits.get("note 1.md").document.title == "Counting nuts"
        assert app.documents.problems() == []


def test_a_file_keeps_its_own_edits_and_voices_though_a_copy_of_it_is_gone(vault: Path) -> None:
    (vault / "copy.md").write_bytes((vault / "note 3.md").read_bytes())
    with open_app(vault) as app:
        app.scan_and_settle()
        copy, own = app.open_vault.files_below(["copy.md"])[0], app.open_vault.files_below(["note 3.md"])[0]
        app.edits.change("copy.md", EditRequest({"title": "The copy"}))
        app.edits.change("note 3.md", EditRequest({"title": "The original"}))

        def speak(db: Connection) -> None:
            (group,) = db.execute("SELECT group_id FROM voices WHERE file_id = ?", (own.id,)).fetchone()
            voices.add(db, copy.id, Voice("speaker-1", 3.0, "encoder", (0.0, 1.0, 0.0)), group, is_new=False)

        app.database.write(speak)
    (vault / "copy.md").unlink()
    damaging.overwrite_header(database_of(vault))

    rescue(vault, "--yes")

    with open_app(vault) as app:
        assert app.edits.get("note 3.md").document.title == "The original"
        seconds = app.database.read().execute("SELECT seconds FROM voices").fetchall()
        assert seconds == [(12.5,)]
