"""The Containerfile keeps the rules of an image that strangers run, and fits the commands and settings of chyme."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from chyme import __version__
from chyme.application.settings import Settings
from chyme.doors.cli.main import main

CONTAINERFILE = Path(__file__).parents[1] / "deploy/container/Containerfile"
KNOWN = {
    *("ARG", "FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK"),
    *("ENTRYPOINT", "CMD"),
}
ROOTS = {"root", "0"}
NETWORK = re.compile(r"\b(apt|apt-get|apk|dnf|yum|curl|wget|git|npm|uv|nc|ssh|http://|https://|ftp://)\b|://")


@dataclass(frozen=True)
class Step:
    name: str
    value: str


def parse(text: str) -> list[Step]:
    """The instructions, each on one line; a line that is none fails."""
    joined = re.sub(r"\\\n", " ", "\n".join(line for line in text.splitlines() if not line.startswith("#")))
    steps = []
    for line in filter(str.strip, joined.splitlines()):
        name, _, value = line.strip().partition(" ")
        assert name in KNOWN, line
        steps.append(Step(name, " ".join(value.split())))
    return steps


def problems_of(text: str) -> list[str]:
    """What a Containerfile does that ours must not."""
    steps = parse(text)
    found = []
    arguments = {step.value.partition("=")[0]: step.value.partition("=")[2] for step in steps if step.name == "ARG"}
    bases = [step.value.split()[0] for step in steps if step.name == "FROM"]
    found += [f"the base {base} is not an ARG" for base in bases if not re.fullmatch(r"\$\{\w+\}", base)]
    for name in {base.strip("${}") for base in bases} & set(arguments):
        image, _, tag = arguments[name].partition(":")
        if not image or not re.match(r"\d+\.\d+\.\d+-", tag):
            found.append(f"the base {arguments[name]} is not pinned to a version")
    last_stage = steps[max(index for index, step in enumerate(steps) if step.name == "FROM") :]
    users = [step.value for step in last_stage if step.name == "USER"]
    if not users or users[-1].partition(":")[0] in ROOTS or not users[-1].isdigit():
        found.append("it does not run as a user by number")
    named = "".join(step.value for step in steps if step.name in ("ENV", "ARG"))
    if re.search(r"(?i)(key|token|password|secret)\w*=\S", named):
        found.append("it holds a secret")
    for step in steps:
        if step.name == "RUN":
            found += _problems_of_command(step.value)
        if step.name == "COPY" and "--from=" not in step.value and ".." in step.value:
            found.append(f"it copies from outside of its context: {step.value}")
    return found


def _problems_of_command(command: str) -> list[str]:
    found = []
    if NETWORK.search(command):
        found.append(f"it uses the network besides pip: {command}")
    for part in command.split("&&"):
        if "pip install" in part and "--no-index" not in part and "--require-hashes" not in part:
            found.append(f"it installs what no hash pins: {part}")
        if "sudo" in part or "chmod 777" in part or "--privileged" in part:
            found.append(f"it gives rights away: {part}")
    return found


@pytest.fixture
def steps() -> list[Step]:
    return parse(CONTAINERFILE.read_text())


def value_of(steps: list[Step], name: str) -> str:
    return [step.value for step in steps if step.name == name][-1]


def test_the_containerfile_keeps_the_rules() -> None:
    assert problems_of(CONTAINERFILE.read_text()) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("ARG BASE=python:3.11.14-slim-bookworm", "ARG BASE=python:latest", "not pinned"),
        ("FROM ${BASE}\n", "FROM python:3.11.14-slim\n", "not an ARG"),
        ("USER 10001", "USER root", "user by number"),
        ("USER 10001\n", "", "user by number"),
        ("ENV PATH=", "ENV CHYME_LLM_KEY=sk-1 PATH=", "a secret"),
        ("RUN useradd", "RUN apt-get update && useradd", "network"),
        ("--require-hashes", "", "no hash pins"),
        ("COPY . .", "COPY ../src .", "outside of its context"),
    ],
)
def test_each_rule_finds_what_breaks_it(old: str, new: str, problem: str) -> None:
    broken = CONTAINERFILE.read_text().replace(old, new)
    assert any(problem in found for found in problems_of(broken)), problems_of(broken)


def test_the_container_serves_the_vault_beyond_loopback_with_settings_that_exist(steps: list[Step]) -> None:
    command = json.loads(value_of(steps, "ENTRYPOINT")) + json.loads(value_of(steps, "CMD"))
    assert command[0] == "chyme"
    found = main.get_command(click.Context(main), command[1])
    assert found is not None
    options = found.make_context(command[1], command[2:], resilient_parsing=True).params
    assert (options["host"], [str(folder) for folder in options["folders"]]) == ("0.0.0.0", ["/vault"])
    variables = dict(word.split("=", 1) for word in shlex.split(value_of(steps, "ENV")))
    known = {f"CHYME_{field.name.upper()}" for field in dataclasses.fields(Settings)} | {"PATH"}
    assert set(variables) <= known
    volumes = json.loads(value_of(steps, "VOLUME"))
    assert all(Path(path).is_relative_to("/state") for name, path in variables.items() if name != "PATH")
    assert volumes == ["/vault", "/state"]


def test_health_is_asked_at_the_port_it_serves(steps: list[Step]) -> None:
    options, _, command = value_of(steps, "HEALTHCHECK").partition("CMD ")
    program, flag, code = json.loads(command)
    assert (program, flag) == ("python3", "-c")
    assert f":{Settings().port}/healthz" in code
    assert value_of(steps, "EXPOSE") == str(Settings().port)
    assert "--start-period" in options
    compile(code, "healthcheck", "exec")


def test_its_comments_name_this_version() -> None:
    assert f"chyme:{__version__}" in CONTAINERFILE.read_text()
