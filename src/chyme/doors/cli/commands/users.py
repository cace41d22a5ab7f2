"""chyme users: who may sign in, and which vaults they may open."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from chyme.accounts.authentication import Authenticator
from chyme.accounts.permissions import Right
from chyme.accounts.users import Account
from chyme.application.app import open_app
from chyme.application.server_vaults import identity_of, open_accounts
from chyme.doors.cli.vault_options import GroupOptions, find_vault, group_options, print_json, printable, vault_group
from chyme.errors import UsageError

_PASSWORD_STDIN = click.option(
    "--password-stdin", is_flag=True, help="Read the password from standard input instead of asking."
)
_FOLDERS = click.argument("folders", nargs=-1, type=click.Path(path_type=Path, file_okay=False), metavar="[VAULT…]")
_READ_ONLY = click.option("--read-only", is_flag=True, help="Reading only, no changes.")
_ALL = click.option("--all-vaults", is_flag=True, help="Every vault of the server, also those to come.")


@vault_group
def users(options: GroupOptions) -> None:
    """Manage who may sign in. Once there is a user or token, nobody gets in without one."""
    _print_users(options)


@users.command("list")
@group_options
def list_(options: GroupOptions) -> None:
    """List all users, and which vaults they may open."""
    _print_users(options)


@users.command()
@click.argument("name")
@click.option("--access", multiple=True, metavar="VAULT[:read]", help="Only this vault; may be repeated.")
@_READ_ONLY
@_PASSWORD_STDIN
@group_options
def add(options: GroupOptions, name: str, access: tuple[str, ...], read_only: bool, password_stdin: bool) -> None:
    """Add a user, who may open every vault, unless --access names some."""
    access_rights = parse_access(access)
    with open_accounts_of(options) as authenticator:
        everything = None if access_rights else Right.READ if read_only else Right.WRITE
        account = authenticator.accounts.add(name, read_password(password_stdin), everything)
        for vault, right in access_rights:
            account = authenticator.accounts.grant(account.name, vault, Right.READ if read_only else right)
    _print_user(options, account)


@users.command()
@click.argument("name")
@group_options
def remove(options: GroupOptions, name: str) -> None:
    """Remove a user with their sessions and tokens."""
    with open_accounts_of(options) as authenticator:
        account = authenticator.accounts.get(name)
        authenticator.accounts.remove(name)
        login_required = authenticator.login_required
    if options.as_json:
        print_json({"removed": account.name, "open": not login_required})
        return
    click.echo(f"{printable(account.name)} is removed")
    if not login_required:
        click.echo("nobody has an account or a token now: on loopback chyme is open again")


@users.command()
@click.argument("name")
@_PASSWORD_STDIN
@group_options
def password(options: GroupOptions, name: str, password_stdin: bool) -> None:
    """Give a user a new password; they are signed out everywhere."""
    with open_accounts_of(options) as authenticator:
        account = authenticator.accounts.get(name)
        authenticator.accounts.change_password(account.name, read_password(password_stdin))
    _print_user(options, account)


@users.command()
@click.argument("name")
@_FOLDERS
@_ALL
@_READ_ONLY
@group_options
def grant(options: GroupOptions, name: str, folders: tuple[Path, ...], all_vaults: bool, read_only: bool) -> None:
    """Allow a user to open vaults."""
    _require_vaults(folders, all_vaults)
    right = Right.READ if read_only else Right.WRITE
    vaults = [vault_at(folder) for folder in folders]
    with open_accounts_of(options) as authenticator:
        account = authenticator.accounts.get(name)
        for vault in [*vaults, *([None] if all_vaults else [])]:
            account = authenticator.accounts.grant(name, vault, right)
    _print_user(options, account)


@users.command()
@click.argument("name")
@_FOLDERS
@_ALL
@group_options
def revoke(options: GroupOptions, name: str, folders: tuple[Path, ...], all_vaults: bool) -> None:
    """Forbid a user to open vaults."""
    _require_vaults(folders, all_vaults)
    vaults = [vault_at(folder) for folder in folders]
    with open_accounts_of(options) as authenticator:
        account = authenticator.accounts.get(name)
        for vault in [*vaults, *([None] if all_vaults else [])]:
            account = authenticator.accounts.revoke(name, vault)
    _print_user(options, account)


def _require_vaults(folders: tuple[Path, ...], all_vaults: bool) -> None:
    if not folders and not all_vaults:
        raise click.UsageError("name a vault's folder, or say --all-vaults")


def _print_users(options: GroupOptions) -> None:
    with open_accounts_of(options) as authenticator:
        accounts = authenticator.accounts.list_all()
    if options.as_json:
        print_json({"users": [_user_json(account) for account in accounts]})
        return
    if not accounts:
        click.echo("there are no users; 'chyme users add NAME' makes one")
    for account in accounts:
        click.echo(_format_user(account))


def _print_user(options: GroupOptions, account: Account) -> None:
    if options.as_json:
        print_json({"user": _user_json(account)})
    else:
        click.echo(_format_user(account))


def _format_user(account: Account) -> str:
    rights = [f"{describe_right(account.everything)} every vault"] if account.everything else []
    rights += [f"{describe_right(grant.right)} {printable(grant.vault_name)}" for grant in account.grants]
    return f"{printable(account.name)} may {' and '.join(rights) if rights else 'open nothing yet'}"


def _user_json(account: Account) -> dict[str, Any]:
    return {
        "name": account.name,
        "all_vaults": account.everything,
        "vaults": [
            {"vault": grant.vault_name, "identity": grant.vault, "right": grant.right} for grant in account.grants
        ],
        "created_at": account.created_at,
    }


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
