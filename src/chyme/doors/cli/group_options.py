"""What was asked of a group of commands: --vault and --json, which may stand before or behind what is to be done."""

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
    """Which vault is meant, and whether the answer is for a program."""

    vault: Path | None
    as_json: bool


def group_options(command: Callable[..., None]) -> Callable[..., None]:
    """--vault and --json for a command of a group whose `ctx.obj` is an Asked; it gets both places in one, first."""

    @vault_options
    @click.pass_obj
    @functools.wraps(command)
    def joined(before: GroupOptions, /, vault: Path | None, as_json: bool, **others: Any) -> None:
        command(GroupOptions(vault or before.vault, as_json or before.as_json), **others)

    return joined
