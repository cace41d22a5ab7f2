"""Which vault a command works on, and the options all commands share."""

from __future__ import annotations

import contextlib
import functools
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from chyme.application.settings import read_settings
from chyme.core.files.vault_folder import STATE
from chyme.text.display import printable

if TYPE_CHECKING:
    from chyme.application.app import App

__all__ = ["find_state_folder", "find_vault", "open_vault", "print_json", "printable", "vault_options"]

F = TypeVar("F", bound=Callable[..., Any])


def vault_options(command: F) -> F:
    """Add --vault and --json to a command."""
    command = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")(command)
    return click.option(
        "--vault", "vault", type=click.Path(path_type=Path, file_okay=False), help="The vault's folder."
    )(command)


def find_vault(vault: Path | None) -> Path:
    """Return the given folder, else CHYME_VAULT, else the nearest parent with a .chyme, else the current folder."""
    if vault is not None:
        return vault
    if os.environ.get("CHYME_VAULT"):
        return Path(os.environ["CHYME_VAULT"])
    current = Path.cwd()
    return next((folder for folder in (current, *current.parents) if (folder / STATE).is_dir()), current)


def find_state_folder(vault: Path | None) -> Path:
    """Return where the state of the vault is, which need not exist."""
    own_state = find_vault(vault).resolve() / STATE
    settings = read_settings(own_state, os.environ)
    return Path(settings.state_dir).expanduser() if settings.state_dir else own_state


@contextlib.contextmanager
def open_vault(vault: Path | None, *, create: bool = False) -> Iterator[App]:
    """Open the vault a command works on."""
    from chyme.application.app import open_app  # imported here: it takes a second, which not every command needs

    with open_app(find_vault(vault), create=create) as app:
        yield app


def print_json(value: object) -> None:
    """Print JSON to standard output; works for names that are not valid text."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str).encode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class GroupOptions:
    """Which vault is meant, and whether to answer in JSON."""

    vault: Path | None
    as_json: bool


def group_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add --vault and --json to a command of a group whose `ctx.obj` is a GroupOptions.

    The command gets the options of both places, joined, as its first argument.
    """

    @vault_options
    @click.pass_obj
    @functools.wraps(command)
    def with_options(group: GroupOptions, /, vault: Path | None, as_json: bool, **arguments: Any) -> None:
        command(GroupOptions(vault or group.vault, as_json or group.as_json), **arguments)

    return with_options


def vault_group(command: Callable[[GroupOptions], None]) -> click.Group:
    """Make a command group with --vault and --json; without a subcommand, `command` runs."""

    @click.group(command.__name__, help=command.__doc__, invoke_without_command=True)
    @vault_options
    @click.pass_context
    def group(ctx: click.Context, vault: Path | None, as_json: bool) -> None:
        ctx.obj = GroupOptions(vault, as_json)
        if ctx.invoked_subcommand is None:
            command(ctx.obj)

    return group
