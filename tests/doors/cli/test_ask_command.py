"""chyme ask prints each sentence with its places, and says plainly when nothing answers."""

from __future__ import annotations

import json
import os
from pathlib import Path

from asked_vault import fill
from click.testing import CliRunner
from model_server import ModelServer, streams

from chyme.application.app import open_app
from chyme.doors.cli.commands.ask import ask


def run_ask(vault: Path, *words: str, environment: dict[str, str] | None = None) -> str:
    answer = CliRunner().invoke(ask, [*words, "--vault", os.fspath(vault)], env=environment or {})
    assert answer.exit_code == 0, answer.output
    return answer.output


def test_sentences_are_printed_with_their_places(tmp_path: Path) -> None:
    with open_app(tmp_path) as app:
        fill(app)
    output = run_ask(tmp_path, "What", "is", "the", "monthly", "rent?")
    assert "The monthly rent is 900 euros.\n    papers/lease.txt" in output
    assert "quotations from your files" in output
    assert "It is not in your files." in run_ask(tmp_path, "xylophone quartet?")
    assert "crane" in run_ask(tmp_path, "What is the rent of the crane?", "--file", "boiler.txt")


def test_a_model_is_asked_and_what_it_invents_is_struck(tmp_path: Path) -> None:
    with open_app(tmp_path) as app:
        fill(app)
    with ModelServer([streams("The monthly rent is 900 euros [1].\nThe moon is made of cheese [1].")]) as provider:
        environment = {"CHYME_LLM_URL": provider.url, "CHYME_LLM_MODEL": "scripted"}
        output = run_ask(tmp_path, "What is the rent?", environment=environment)
        assert "scripted" in output and "The monthly rent is 900 euros.\n" in output
        assert "[struck: " in output and "1 private file" in output
        payload = json.loads(run_ask(tmp_path, "What is the rent?", "--json", environment=environment))
        assert [sentence["supported"] for sentence in payload["sentences"]] == [True, False]
        run_ask(tmp_path, "What is the rent?", "--quote", environment=environment)
        assert provider.count == 2
