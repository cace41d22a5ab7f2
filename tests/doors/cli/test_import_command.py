"""chyme import and chyme export --format, as people type them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from made_exports import BOOKMARKS, household
from paperless_importer import check_export

from chyme.doors.cli.main import main


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments), catch_exceptions=False)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    (tmp_path / "vault").mkdir()
    return tmp_path / "vault"


def test_a_dry_run_counts_then_an_import_shows_what_it_did(vault: Path, tmp_path: Path) -> None:
    export = str(household(tmp_path / "export"))

    planned = run("import", "paperless", export, "--vault", str(vault), "--dry-run")
    assert "2 files would be added to Paperless" in planned.output
    done = run("import", "paperless", export, "--vault", str(vault), "--json")
    assert (done.exit_code, json.loads(done.stdout)["added"]) == (0, 2)
    again = run("import", "paperless", export, "--vault", str(vault))
    assert "2 were there and stay as they are" in again.output

    shown = run("edit", str(vault / "Paperless/scan 17.txt"), "--vault", str(vault))
    assert "archive number: 1042" in shown.output
    assert "title Power bill of May" in shown.output


def test_a_failed_entry_is_named_and_makes_the_exit_code_1(vault: Path, tmp_path: Path) -> None:
    export = household(tmp_path / "export")
    (export / "power.txt").unlink()
    done = run("import", "paperless", str(export), "--vault", str(vault))
    assert done.exit_code == 1
    assert "1 failed" in done.output
    assert "document 1 “Power bill of May”: power.txt is not in the export" in done.output


def test_what_is_no_export_is_refused_in_one_sentence(vault: Path, tmp_path: Path) -> None:
    done = run("import", "karakeep", str(tmp_path / "missing.json"), "--vault", str(vault))
    assert done.exit_code == 2
    assert "missing.json: cannot be read" in done.output


def test_exports_for_other_programs(vault: Path, tmp_path: Path) -> None:
    (tmp_path / "b.html").write_text(BOOKMARKS)
    run("import", "paperless", str(household(tmp_path / "export")), "--vault", str(vault))
    run("import", "bookmarks", str(tmp_path / "b.html"), "--vault", str(vault))

    done = run("export", str(tmp_path / "p"), "--format", "paperless", "--vault", str(vault))
    assert "2 files exported" in done.output and "2 left out" in done.output
    check_export(tmp_path / "p")
    run("export", str(tmp_path / "b"), "--format", "bookmarks", "--vault", str(vault))
    assert 'HREF="https://example.org/ants"' in (tmp_path / "b/bookmarks.html").read_text()
    assert run("export", str(tmp_path / "x"), "--format", "bookmarks", "--spend", "--vault", str(vault)).exit_code == 2
