"""Every command of the tutorial runs, and says what the tutorial says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from running_chyme import PROJECT

pytestmark = pytest.mark.slow

TUTORIAL = PROJECT / "docs/tutorial.md"
END_OF_OUTPUT = "-- end of the output of command"


@dataclass(frozen=True)
class Step:
    """A command of the tutorial, and the lines that it is said to print."""

    command: str
    expected: tuple[str, ...]


def tutorial_steps() -> list[Step]:
    """The commands in the blocks that are called `console`; each begins with `$`."""
    steps: list[Step] = []
    for block in re.findall(r"^```console\n(.*?)^```", TUTORIAL.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *expected = part.splitlines()
            steps.append(Step(command, tuple(line for line in expected if line.strip())))
    return steps


def is_printed(expected: str, out: str) -> bool:
    """Whether a line of the output contains the expected text, in which … stands for anything."""
    pattern = ".*".join(re.escape(part.strip()) for part in expected.split("…"))
    return re.search(pattern, out) is not None


def run_as_reader(steps: list[Step], folder: Path) -> list[str]:
    """Run all commands in one shell, as a reader would, and return what each printed."""
    script = "\n".join(f"{step.command} 2>&1 || exit 1\necho '{END_OF_OUTPUT}'" for step in steps)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CHYME_")}
    environment |= {"CHYME_CRAWL": "false", "CHYME_SERVER_DIR": os.fspath(folder / "server")}
    ran = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    printed = ran.stdout.split(END_OF_OUTPUT)
    assert ran.returncode == 0, f"{steps[len(printed) - 1].command} failed: {printed[-1]}{ran.stderr}"
    return printed[:-1]


def test_every_command_of_the_tutorial_prints_what_the_tutorial_shows(tmp_path: Path) -> None:
    shutil.copytree(PROJECT / "demo", tmp_path / "demo")
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv/bin").symlink_to(Path(sys.executable).parent)
    steps = tutorial_steps()
    assert len(steps) >= 12
    for step, out in zip(steps, run_as_reader(steps, tmp_path), strict=True):
        for line in step.expected:
            assert is_printed(line, out), f"$ {step.command}\nshould print: {line}\nprinted: {out}"
