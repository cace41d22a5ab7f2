"""The options --vault and --json of a command group, which may stand before or after the subcommand."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from chyme.doors.cli.vault_options import vault_options


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
