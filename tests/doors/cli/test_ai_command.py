"""chyme ai, run as a command; and what chyme digest says about models."""

from __future__ import annotations

import os
from pathlib import Path
from sqlite3 import Connection

import pytest
from click.testing import CliRunner
from described_vault import complete, put

from chyme.application.app import open_app
from chyme.core.store.models import fallbacks
from chyme.doors.cli.commands.ai import ai
from chyme.doors.cli.commands.digest import digest
from chyme.doors.cli.main import Chyme

FUTURE = "2999-01-01T00:00:00.000000Z"


class Typed:
    """A vault, a configured model, and a person at the keyboard."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.made = 0
        root.mkdir()
        with open_app(root):
            pass

    def without(self, times: int, for_person: int) -> None:
        """Record `times` digests made without the model, `for_person` of them for a person to look at."""
        with open_app(self.root) as app:
            for number in range(times):
                self.made += 1
                file = put(app, f"note {self.made}.txt")
                complete(app, file, "classify-document", '{"title": "by rules", "tags": []}')
                at = None if number < for_person else FUTURE

                def note(db: Connection, file_id: int = file.id, at: str | None = at) -> None:
                    recipe = "without its model: network"
                    fallbacks.record_reason(db, file_id, "classify-document", recipe, "llm", "it is down", 1, at)

                app.database.write(note)

    def __call__(self, *words: str) -> str:
        command = Chyme("chyme", {"ai": ai, "digest": digest})
        answer = CliRunner().invoke(command, [*words, "--vault", os.fspath(self.root)])
        assert answer.exit_code == 0, answer.output
        return answer.stdout


@pytest.fixture
def chyme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Typed:
    monkeypatch.setenv("CHYME_LLM_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("CHYME_LLM_MODEL", "scripted")
    return Typed(tmp_path / "vault")


@pytest.mark.parametrize(
    ("times", "for_person", "expected"),
    [
        (1, 0, "1 digest was made without it and will be made again"),
        (3, 0, "3 digests were made without it and will be made again"),
        (3, 1, "2 digests were made without it and will be made again; 1 only by 'chyme retry'"),
        (1, 1, "1 digest was made without it and will be made again only by 'chyme retry'"),
        (2, 2, "2 digests were made without it and will be made again only by 'chyme retry'"),
    ],
)
def test_digests_that_wait_for_a_person_are_counted_separately(
    chyme: Typed, times: int, for_person: int, expected: str
) -> None:
    chyme.without(times, for_person)
    assert chyme("ai").splitlines()[-1].strip() == expected


def test_a_pause_is_reported_as_a_pause(chyme: Typed) -> None:
    assert chyme("ai", "pause").startswith("paused: llm; ")
    lines = chyme("ai", "status").splitlines()
    assert lines[0].split()[:2] == ["llm", "paused"]
    assert lines[1].strip().startswith("paused by you at 20")
    assert chyme("ai", "resume") == "goes on: llm; 0 digests will be made again by 'chyme digest' or 'chyme serve'\n"


@pytest.mark.slow
def test_a_digestion_says_why_and_what_follows(chyme: Typed) -> None:
    chyme("ai", "pause")
    (chyme.root / "letter.txt").write_text("Dear Ms Miller, the heating was repaired on 3 April 2026.")
    (line,) = [line for line in chyme("digest").splitlines() if "llm" in line]
    assert line.startswith("1 digest was made without llm (paused by you at 20")
    assert line.endswith(") and will be made again")


def test_a_single_item_is_reported_in_the_singular(chyme: Typed) -> None:
    private = chyme.root / ".chymeprivate"
    private.write_text("*.key\n")
    assert chyme("ai").endswith("1 pattern in .chymeprivate keeps files away from models\n")
    private.write_text("*.key\ndiary/\n")
    assert chyme("ai").endswith("2 patterns in .chymeprivate keep files away from models\n")
    chyme.without(1, 0)
    assert "; 1 digest will be made again by" in chyme("ai", "resume")
    assert chyme("ai", "spend", "--days", "1") == "no model was asked in the last day\n"
