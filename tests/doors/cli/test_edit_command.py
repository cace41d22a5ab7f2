"""chyme edit, run as a command."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from described_vault import classify, put

from chyme.application.app import open_app
from chyme.doors.cli.commands.edit import edit
from chyme.doors.cli.main import Chyme

pytestmark = pytest.mark.slow


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    (tmp_path / "vault").mkdir()
    with open_app(tmp_path / "vault") as app:
        classify(app, put(app, "in/letter.txt"), "A letter", "2026-04-03", "letter", "dog")
    return tmp_path / "vault"


def run(vault: Path, *words: str) -> Result:
    return CliRunner().invoke(Chyme("chyme", {"edit": edit}), ["edit", "--vault", os.fspath(vault), *words])


def test_without_options_it_shows_the_document(vault: Path) -> None:
    assert run(vault, "in/letter.txt").stdout == (
        "in/letter.txt\n  title A letter\n  date  2026-04-03\n  tags  letter, dog\n"
    )


def test_set_values_are_shown_beside_found_ones(vault: Path) -> None:
    done = run(vault, "in/letter.txt", "--title", "Greetings", "--date", "", "--tag", "Zebra", "--untag", "dog")
    assert done.stdout == (
        "in/letter.txt: set the title to “Greetings”, took the date away, tagged “zebra”, untagged “dog”\n"
    )
    assert run(vault, "in/letter.txt").stdout == (
        "in/letter.txt\n  title Greetings  (yours; found: A letter)\n  date  –  (yours; found: 2026-04-03)\n"
        "  tags  letter, zebra  (yours; found: letter, dog)\n"
    )


def test_an_edit_is_undone_in_one_step(vault: Path) -> None:
    run(vault, "in/letter.txt", "--title", "Greetings", "--tags", "a b, c")
    assert run(vault, "--undo").stdout == (
        "undone: in/letter.txt: set the title to “Greetings”, set the tags to “a b”, “c”\n"
    )
    assert "yours" not in run(vault, "in/letter.txt").stdout


def test_a_field_is_cleared(vault: Path) -> None:
    run(vault, "in/letter.txt", "--tags", "")
    assert run(vault, "in/letter.txt", "--clear", "tags").stdout == "in/letter.txt: cleared the tags\n"
    assert "letter, dog" in run(vault, "in/letter.txt").stdout


def test_json_contains_the_document_the_edits_and_the_found_values(vault: Path) -> None:
    payload = json.loads(run(vault, "in/letter.txt", "--tags", "cat", "--json").stdout)
    assert payload == {
        "done": "in/letter.txt: set the tags to “cat”",
        "path": "in/letter.txt",
        "document": {"title": "A letter", "summary": None, "date": "2026-04-03", "language": None, "tags": ["cat"]},
        "edits": {"tags": {"set": ["cat"]}},
        "found": {
            "title": "A letter",
            "summary": None,
            "date": "2026-04-03",
            "language": None,
            "tags": ["letter", "dog"],
        },
        "properties": {},
    }
    assert json.loads(run(vault, "in/letter.txt", "--json").stdout)["edits"] == {"tags": {"set": ["cat"]}}


def test_a_path_may_be_relative_to_the_current_folder(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(vault / "in")
    assert run(vault, "letter.txt", "--title", "x").exit_code == 0


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "name a file"),
        (["in/letter.txt", "--undo", "--title", "x"], "--undo cannot be combined with other changes"),
        (["in/letter.txt", "--date", "tomorrow"], "is no date"),
        (["in/letter.txt", "--clear", "summary"], "summary"),
        (["in/letter.txt", "--undo"], "in/letter.txt: nothing to undo"),
        (["nowhere.txt", "--title", "x"], "nowhere.txt: is not a file of this vault"),
    ],
)
def test_nonsense_is_refused(vault: Path, words: list[str], why: str) -> None:
    result = run(vault, *words)
    assert result.exit_code == 2 and why in result.stderr
