"""chyme search says which words no file has, and can be run without correcting any."""

from __future__ import annotations

import json
import os
from pathlib import Path

from click.testing import CliRunner
from described_vault import put

from chyme.application.app import open_app
from chyme.doors.cli.commands.search import search


def run_search(vault: Path, *words: str) -> str:
    answer = CliRunner().invoke(search, [*words, "--vault", os.fspath(vault)])
    assert answer.exit_code == 0, answer.output
    return answer.output


def test_a_correction_is_announced_and_can_be_refused(tmp_path: Path) -> None:
    with open_app(tmp_path) as app:
        put(app, "contact.txt", "who to contact")
    output = run_search(tmp_path, "contract")
    assert "nothing has “contract”; showing “contact”" in output and "contact.txt" in output and "--as-typed" in output
    for refused in (("contract", "--as-typed"), ("+contract",)):
        output = run_search(tmp_path, *refused)
        assert "showing" not in output and "0 found" in output
    payload = json.loads(run_search(tmp_path, "contract", "--json"))
    assert (payload["corrected"], payload["suggested"]) == ({"contract": "contact"}, {})


def test_an_uncertain_correction_is_only_offered(tmp_path: Path) -> None:
    with open_app(tmp_path) as app:
        put(app, "contest.txt", "a contest")
    output = run_search(tmp_path, "content")
    assert "nothing has “content”; did you mean “contest”?" in output and "0 found" in output
