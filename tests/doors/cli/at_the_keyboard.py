"""Runs the commands of one group as a person types them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner, Result

from chyme.doors.cli.main import Chyme


class Typed:
    """A vault, and a person at the keyboard, who names the vault before or after the subcommand."""

    def __init__(self, root: Path, group: click.Group) -> None:
        self.root = root
        self._name = str(group.name)
        self._command = Chyme("chyme", {self._name: group})

    def json(self, *words: str) -> Any:
        answer = self._run("--vault", os.fspath(self.root), *words, "--json")
        assert answer.exit_code == 0, answer.output
        return json.loads(answer.stdout)

    def says(self, *words: str) -> str:
        answer = self._run(*words, "--vault", os.fspath(self.root))
        assert answer.exit_code == 0, answer.output
        return answer.stdout

    def refuses(self, *words: str) -> str:
        answer = self._run(*words, "--vault", os.fspath(self.root))
        assert answer.exit_code == 2, answer.output
        assert answer.stderr.startswith("chyme: ")
        return answer.stderr

    def _run(self, *words: str) -> Result:
        return CliRunner().invoke(self._command, [self._name, *words])
