"""chyme rename, run as a command."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from described_vault import named, put

from chyme.application.app import open_app
from chyme.doors.cli.commands.rename import rename
from chyme.doors.cli.main import Chyme

pytestmark = pytest.mark.slow

MILLER = "2026-04-03-rental-contract-miller.txt"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    (tmp_path / "vault").mkdir()
    with open_app(tmp_path / "vault") as app:
        named(app, "in/scan0001.txt", MILLER)
        put(app, "Mietvertrag.txt")
    return tmp_path / "vault"


def run(vault: Path, *words: str) -> Result:
    return CliRunner().invoke(Chyme("chyme", {"rename": rename}), ["rename", "--vault", os.fspath(vault), *words])


def test_proposals_are_listed_with_their_reason(vault: Path) -> None:
    result = run(vault)
    assert result.stdout == (
        f"in/scan0001.txt → {MILLER}\n    classify-document: “A title”\n"
        "'chyme rename --accept' renames them; '--undo' takes it back\n"
    )
    assert (vault / "in/scan0001.txt").exists()


def test_proposals_are_accepted_and_undone(vault: Path) -> None:
    assert run(vault, "--accept").stdout == f"in/scan0001.txt → {MILLER}\n"
    assert (vault / "in" / MILLER).exists()
    assert run(vault).stdout.startswith("nothing to propose")
    assert run(vault, "--accept").stdout == "nothing to rename\n"
    assert run(vault, "--undo").stdout == f"in/{MILLER} → scan0001.txt\n"
    assert (vault / "in/scan0001.txt").exists()


def test_json_contains_the_same(vault: Path) -> None:
    (proposal,) = json.loads(run(vault, "--json").stdout)["proposals"]
    assert proposal == {
        "path": "in/scan0001.txt",
        "becomes": f"in/{MILLER}",
        "title": "A title",
        "said_by": "classify-document",
    }
    (done,) = json.loads(run(vault, "in", "--accept", "--json").stdout)["renamed"]
    assert done == {"path": "in/scan0001.txt", "becomes": f"in/{MILLER}", "problem": None}


def test_a_path_may_be_relative_to_the_current_folder(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(vault / "in")
    assert run(vault, "scan0001.txt", "--accept").exit_code == 0
    assert run(vault, MILLER, "--undo").stdout == f"in/{MILLER} → scan0001.txt\n"


def test_a_file_that_cannot_be_renamed_is_reported_and_the_command_fails(vault: Path) -> None:
    (vault / "in/scan0001.txt").write_text("changed")
    result = run(vault, "--accept")
    assert result.exit_code == 1
    assert result.stderr == ("in/scan0001.txt: has changed since it was digested; 'chyme digest' looks at it again\n")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--undo"], "no name was accepted that could be taken back"),
        (["--undo", "--accept"], "not both"),
        (["nowhere.pdf"], "nowhere.pdf: is not a file or folder of this vault"),
    ],
)
def test_nonsense_is_refused(vault: Path, words: list[str], why: str) -> None:
    result = run(vault, *words)
    assert result.exit_code == 2 and why in result.stderr
