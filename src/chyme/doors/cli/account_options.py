"""What the commands about accounts share: opening them, naming vaults, asking for passwords."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from chyme.accounts.authentication import Authenticator
from chyme.accounts.permissions import Right
from chyme.accounts.users import Grant
from chyme.application.app import open_app
from chyme.application.server_vaults import identity_of, open_accounts
from chyme.doors.cli.vault_options import GroupOptions, find_vault, printable
from chyme.errors import UsageError

READ_ONLY = click.option("--read-only", is_flag=True, help="Reading only, no changes.")


@contextlib.contextmanager
def open_accounts_of(options: GroupOptions) -> Iterator[Authenticator]:
    """Open the accounts of the server that serves the vault a command refers to."""
    with open_accounts(find_vault(options.vault)) as authenticator:
        yield authenticator


def vault_at(folder: Path) -> tuple[str, str]:
    """Return the identity and the name of the vault in a folder."""
    with open_app(folder, create=False) as app:
        return identity_of(app), app.vault.root.name


def parse_access(arguments: Sequence[str]) -> list[tuple[tuple[str, str], Right]]:
    """Parse `photos`, `photos:read` or `photos:write` into vaults and rights."""
    access = []
    for argument in arguments:
        folder, colon, right = argument.rpartition(":")
        if not colon or right not in (Right.READ, Right.WRITE):
            folder, right = argument, Right.WRITE
        access.append((vault_at(Path(folder)), Right(right)))
    return access


def read_password(from_input: bool) -> str:
    """Ask for a password twice without echo, or read the first line of standard input."""
    if from_input:
        line = sys.stdin.readline()
        if not line:
            raise UsageError("--password-stdin was given, but standard input is empty")
        return line.rstrip("\r\n")
    typed: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return typed


def describe_right(right: str) -> str:
    return {Right.WRITE: "read and change", Right.ADD: "only add to"}.get(Right(right), "read")


def describe_rights(everything: str | None, grants: Sequence[Grant]) -> str:
    """Describe what someone may do: `read every vault and read and change photos`."""
    rights = [f"{describe_right(everything)} every vault"] if everything else []
    rights += [f"{describe_right(grant.right)} {printable(grant.vault_name)}" for grant in grants]
    return " and ".join(rights) if rights else "open nothing yet"
