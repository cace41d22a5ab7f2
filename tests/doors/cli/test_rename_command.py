"""chyme rename, as somebody types it."""

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


def typed(vault: Path, *words: str) -> Result:
    return CliRunner().invoke(Chyme("chyme", {"rename": rename}), ["rename", "--vault", os.fspath(vault), *words])


def test_proposals_are_listed_with_their_reason(vault: Path) -> None:
    told = typed(vault)
    assert told.stdout == (
        f"in/scan0001.txt → {MILLER}\n    classify-document: “A title”\n"
        "'chyme rename --accept' renames them; '--undo' takes it back\n"
    )
    assert (vault / "in/scan0001.txt").exists()


def test_they_are_accepted_and_taken_back(vault: Path) -> None:
    assert typed(vault, "--accept").stdout == f"in/scan0001.txt → {MILLER}\n"
    assert (vault / "in" / MILLER).exists()
    assert typed(vault).stdout.startswith("nothing to propose")
    assert typed(vault, "--accept").stdout == "nothing to rename\n"
    assert typed(vault, "--undo").stdout == f"in/{MILLER} → scan0001.txt\n"
    assert (vault / "in/scan0001.txt").exists()


def test_json_tells_the_same(vault: Path) -> None:
    (proposal,) = json.loads(typed(vault, "--json").stdout)["proposals"]
    assert proposal == {
        "path": "in/scan0001.txt",
        "becomes": f"in/{MILLER}",
        "title": "A title",
        "said_by": "classify-document",
    }
    (done,) = json.loads(typed(vault, "in", "--accept", "--json").stdout)["renamed"]
    assert done == {"path": "in/scan0001.txt", "becomes": f"in/{MILLER}", "problem": None}


def test_a_path_may_be_typed_from_where_somebody_stands(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(vault / "in")
    assert typed(vault, "scan0001.txt", "--accept").exit_code == 0
    assert typed(vault, MILLER, "--undo").stdout == f"in/{MILLER} → scan0001.txt\n"


def test_a_file_that_cannot_be_renamed_is_told_and_the_command_fails(vault: Path) -> None:
    (vault / "in/scan0001.txt").write_text("changed")
    told = typed(vault, "--accept")
    assert told.exit_code == 1
    assert told.stderr == ("in/scan0001.txt: has changed since it was digested; 'chyme digest' looks at it again\n")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--undo"], "no name was accepted that could be taken back"),
        (["--undo", "--accept"], "not both"),
        (["nowhere.pdf"], "nowhere.pdf: is not a file or folder of this vault"),
    ],
)
def test_what_makes_no_sense_is_told(vault: Path, words: list[str], why: str) -> None:
    told = typed(vault, *words)
    assert told.exit_code == 2 and why in told.stderr
