"""chyme trash: list, restore, empty."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from described_vault import put

from chyme.application.app import open_app
from chyme.doors.cli.main import main


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    with open_app(tmp_path) as app:
        for name in ("a.txt", "in/b.txt"):
            put(app, name)
        app.trash.put(["a.txt", "in/b.txt"])
    return tmp_path


def run(vault: Path, *arguments: str, answer: str | None = None) -> Result:
    return CliRunner().invoke(main, ["trash", *arguments, "--vault", os.fspath(vault)], input=answer)


def ids(vault: Path) -> dict[str, str]:
    return {item["path"]: item["id"] for item in json.loads(run(vault, "list", "--json").output)["trash"]}


def test_the_trash_lists_what_is_in_it(vault: Path) -> None:
    output = run(vault, "list").output
    assert all(name in output and id_ in output for name, id_ in ids(vault).items())


def test_files_are_restored_by_id_or_all_at_once(vault: Path) -> None:
    single = run(vault, "restore", ids(vault)["in/b.txt"])
    assert "in/b.txt" in single.output and (vault / "in/b.txt").is_file() and list(ids(vault)) == ["a.txt"]
    (vault / "a.txt").write_text("another")
    rest = run(vault, "restore", "--all")
    assert "a.txt → a 2.txt" in rest.output and (vault / "a.txt").read_text() == "another"


def test_nothing_is_deleted_for_good_without_confirmation(vault: Path) -> None:
    assert run(vault, "empty", answer="n\n").exit_code == 1 and len(ids(vault)) == 2
    assert "1 file deleted" in run(vault, "empty", ids(vault)["a.txt"], answer="y\n").output
    assert "1 file deleted" in run(vault, "empty", "--yes").output
    assert "the trash is empty" in run(vault, "list").output


def test_a_missing_id_is_reported_in_a_sentence(vault: Path) -> None:
    assert run(vault, "restore").exit_code == 2
    for what in ("restore", "empty"):
        result = run(vault, what, "nothing")
        assert result.exit_code == 2 and "is not in the trash" in result.output
