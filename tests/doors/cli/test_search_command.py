"""chyme search says which words stand nowhere, and can be told to correct none."""

from __future__ import annotations

import json
import os
from pathlib import Path

from click.testing import CliRunner
from described_vault import put

from chyme.application.app import open_app
from chyme.doors.cli.commands.search import search


def ask(vault: Path, *words: str) -> str:
    answer = CliRunner().invoke(search, [*words, "--vault", os.fspath(vault)])
    assert answer.exit_code == 0, answer.output
    return answer.output


def test_what_is_shown_instead_of_a_word_is_said_and_can_be_refused(tmp_path: Path) -> None:
    with open_app(tmp_path) as app:
        put(app, "contact.txt", "who to contact")
    told = ask(tmp_path, "contract")
    assert "nothing has “contract”; showing “contact”" in told and "contact.txt" in told and "--as-typed" in told
    for refused in (("contract", "--as-typed"), ("+contract",)):
        told = ask(tmp_path, *refused)
        assert "showing" not in told and "0 found" in told
    told = json.loads(ask(tmp_path, "contract", "--json"))
    assert (told["corrected"], told["suggested"]) == ({"contract": "contact"}, {})


def test_what_is_not_near_certain_is_offered(tmp_path: Path) -> None:
    with open_app(tmp_path) as app:
        put(app, "contest.txt", "a contest")
    told = ask(tmp_path, "content")
    assert "nothing has “content”; did you mean “contest”?" in told and "0 found" in told
