"""chyme users: who may sign in, and which vaults they may open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from chyme.accounts.permissions import Right
from chyme.accounts.users import Account
from chyme.doors.cli.account_options import (
    READ_ONLY,
    describe_rights,
    open_accounts_of,
    parse_access,
    read_password,
    vault_at,
)
from chyme.doors.cli.commands import user_access
from chyme.doors.cli.vault_options import GroupOptions, group_options, print_json, printable, vault_group

_PASSWORD_STDIN = click.option(
    "--password-stdin", is_flag=True, help="Read the password from standard input instead of asking."
)
_FOLDERS = click.argument("folders", nargs=-1, type=click.Path(path_type=Path, file_okay=False), metavar="[VAULT…]")
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
@READ_ONLY
@click.option("--owner", is_flag=True, help="Manages people and their rights; the first user who may do all is one.")
@_PASSWORD_STDIN
@group_options
def add(
    options: GroupOptions, name: str, access: tuple[str, ...], read_only: bool, owner: bool, password_stdin: bool
) -> None:
    """Add a user, who may open every vault, unless --access names some."""
    access_rights = parse_access(access)
    with open_accounts_of(options) as authenticator:
        everything = None if access_rights else Right.READ if read_only else Right.WRITE
        is_owner = owner or (everything is Right.WRITE and not authenticator.accounts.list_all())
        account = authenticator.accounts.add(name, read_password(password_stdin), everything, owner=is_owner)
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
@READ_ONLY
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


@users.command()
@click.argument("name")
@group_options
def promote(options: GroupOptions, name: str) -> None:
    """Make a user an owner, who manages people and their rights."""
    with open_accounts_of(options) as authenticator:
        account = authenticator.accounts.change_owner(name, True)
    _print_user(options, account)


@users.command()
@click.argument("name")
@group_options
def demote(options: GroupOptions, name: str) -> None:
    """Make an owner an ordinary user; not the last one."""
    with open_accounts_of(options) as authenticator:
        account = authenticator.accounts.change_owner(name, False)
    _print_user(options, account)


@users.command()
@click.argument("name")
@group_options
def activate(options: GroupOptions, name: str) -> None:
    """Let a deactivated user sign in again."""
    with open_accounts_of(options) as authenticator:
        account = authenticator.accounts.change_active(name, True)
    _print_user(options, account)


@users.command()
@click.argument("name")
@group_options
def deactivate(options: GroupOptions, name: str) -> None:
    """Keep a user from signing in; their sessions end, their tokens rest."""
    with open_accounts_of(options) as authenticator:
        account = authenticator.accounts.change_active(name, False)
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
    facts = [f"{printable(account.name)} may {describe_rights(account.everything, account.grants)}"]
    facts += ["owner"] if account.is_owner else []
    facts += [] if account.is_active else ["may not sign in"]
    facts += [f"last here {account.last_used_at[:16]}"] if account.last_used_at else []
    return ", ".join(facts)


def _user_json(account: Account) -> dict[str, Any]:
    return {
        "name": account.name,
        "number": account.id,
        "owner": account.is_owner,
        "active": account.is_active,
        "last_used_at": account.last_used_at,
        "all_vaults": account.everything,
        "vaults": [
            {"vault": grant.vault_name, "identity": grant.vault, "right": grant.right} for grant in account.grants
        ],
        "created_at": account.created_at,
    }


user_access.add_commands(users)
