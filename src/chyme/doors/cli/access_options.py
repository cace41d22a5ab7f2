"""How commands about users and tokens name vaults and rights, and where passwords come from."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from chyme.accounts.authentication import Authenticator
from chyme.accounts.permissions import Right
from chyme.application.app import open_app
from chyme.application.server_vaults import identity_of, open_accounts
from chyme.doors.cli.group_options import GroupOptions
from chyme.doors.cli.vault_options import find_vault
from chyme.errors import UsageError


@contextlib.contextmanager
def open_accounts_of(asked: GroupOptions) -> Iterator[Authenticator]:
    """The doors of the server that serves the vault a command means."""
    with open_accounts(find_vault(asked.vault)) as doors:
        yield doors


def vault_at(folder: Path) -> tuple[str, str]:
    """The identity of the vault in a folder, and its name."""
    with open_app(folder, create=False) as app:
        return identity_of(app), app.vault.root.name


def parse_access(given: Sequence[str]) -> list[tuple[tuple[str, str], Right]]:
    """`photos`, `photos:read` or `photos:write` as vaults and rights."""
    found = []
    for one in given:
        folder, colon, right = one.rpartition(":")
        if not colon or right not in tuple(Right):
            folder, right = one, Right.WRITE
        found.append((vault_at(Path(folder)), Right(right)))
    return found


def read_password(from_input: bool) -> str:
    """From the keyboard, unseen and twice; or the first line of standard input."""
    if from_input:
        line = sys.stdin.readline()
        if not line:
            raise UsageError("--password-stdin was said, but standard input is empty")
        return line.rstrip("\r\n")
    typed: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return typed


def describe_right(right: str) -> str:
    return "read and change" if right == Right.WRITE else "read"
