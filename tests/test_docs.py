"""The docs name everything that exists, and nothing else."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from chyme.application.server_vaults import open_server_vaults
from chyme.application.settings import Settings
from chyme.digesters import built_in
from chyme.doors.cli.main import main
from chyme.doors.http.server_api import create_server_api
from chyme.doors.http.vault_api import create_vault_api
from chyme.pictures.image_embedding import ImageEmbedding

PROJECT = Path(__file__).parents[1]
DOCS = PROJECT / "docs"
PAGES = [PROJECT / "README.md", PROJECT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
DECISIONS = sorted((DOCS / "decisions").glob("*.md"))


def topics(page: str, pattern: str) -> set[str]:
    """What the pattern captures in the lines of a page."""
    return set(re.findall(pattern, (DOCS / page).read_text(), re.MULTILINE))


def every_command(group: click.Group) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None, name
        yield name, command


def commands(group: click.Group, above: str = "chyme") -> Iterator[str]:
    for name, command in every_command(group):
        if isinstance(command, click.Group):
            yield from commands(command, f"{above} {name}")
        else:
            yield f"{above} {name}"


def test_every_output_of_every_digester_has_its_section() -> None:
    outputs = {output for digester in built_in() for output in digester.outputs}
    outputs |= set(ImageEmbedding.outputs)  # registered only with a model in picture_model_dir
    assert topics("digests.md", r"^## `([a-z-]+)`$") == outputs


def test_every_setting_has_its_line() -> None:
    assert topics("settings.md", r"^\| `(\w+)` \|") == {field.name for field in dataclasses.fields(Settings)}


def test_every_command_has_its_section() -> None:
    assert topics("cli.md", r"^## `(chyme [a-z-]+(?: [a-z-]+)?)") == set(commands(main))


def test_every_option_of_every_command_is_explained() -> None:
    page = (DOCS / "cli.md").read_text()
    for name, command in every_command(main):
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert f"`{parameter.opts[-1]}" in page, (
                    f"chyme {name} takes {parameter.opts[-1]}; docs/cli.md is silent"
                )


def test_every_route_has_its_section(tmp_path: Path) -> None:
    with open_server_vaults([tmp_path]) as house:
        (app,) = house.vaults.values()
        faces = (create_vault_api(app), create_server_api(house))
        paths = [item for face in faces for item in face.openapi()["paths"].items()]
    routes = {f"{method.upper()} {path}" for path, methods in paths for method in methods}
    assert topics("http_api.md", r"^## `((?:GET|POST|PATCH|PUT|DELETE) [^`?]+)") == routes


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_make_commands_in_the_docs_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", (PROJECT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)", page.read_text())) <= targets


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.name)
def test_a_decision_takes_at_most_forty_lines(page: Path) -> None:
    text = page.read_text()
    assert len(text.splitlines()) <= 40
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Context", "Decision", "What it costs us"]
