"""chyme users: who may sign in, and which vaults are open to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from chyme.accounts.permissions import Right
from chyme.accounts.users import Account
from chyme.doors.cli.access_options import describe_right, open_accounts_of, parse_access, read_password, vault_at
from chyme.doors.cli.group_options import GroupOptions, group_options
from chyme.doors.cli.vault_options import print_json, printable, vault_options

_FROM_INPUT = click.option(
    "--password-stdin", is_flag=True, help="Read the password from standard input instead of asking."
)
_FOLDERS = click.argument("folders", nargs=-1, type=click.Path(path_type=Path, file_okay=False), metavar="[VAULT…]")
_READ_ONLY = click.option("--read-only", is_flag=True, help="Reading only, no changes.")
_ALL = click.option("--all-vaults", is_flag=True, help="Every vault of the server, also those to come.")


@click.group(invoke_without_command=True)
@vault_options
@click.pass_context
def users(ctx: click.Context, vault: Path | None, as_json: bool) -> None:
    """Say who may sign in. With the first user or token, nobody comes in without one."""
    ctx.obj = GroupOptions(vault, as_json)
    if ctx.invoked_subcommand is None:
        _list(ctx.obj)


@users.command("list")
@group_options
def list_(asked: GroupOptions) -> None:
    """List everybody, and what is open to them."""
    _list(asked)


@users.command()
@click.argument("name")
@click.option("--access", multiple=True, metavar="VAULT[:read]", help="Only this vault; may be repeated.")
@_READ_ONLY
@_FROM_INPUT
@group_options
def add(asked: GroupOptions, name: str, access: tuple[str, ...], read_only: bool, password_stdin: bool) -> None:
    """Add somebody; every vault is open to them, unless --access names some."""
    given = parse_access(access)
    with open_accounts_of(asked) as doors:
        everything = None if given else Right.READ if read_only else Right.WRITE
        made = doors.accounts.add(name, read_password(password_stdin), everything)
        for vault, right in given:
            made = doors.accounts.grant(made.name, vault, Right.READ if read_only else right)
    _told(asked, made)


@users.command()
@click.argument("name")
@group_options
def remove(asked: GroupOptions, name: str) -> None:
    """Remove somebody with their sessions and tokens."""
    with open_accounts_of(asked) as doors:
        gone = doors.accounts.get(name)
        doors.accounts.remove(name)
        still_closed = doors.login_required
    if asked.as_json:
        print_json({"removed": gone.name, "open": not still_closed})
        return
    click.echo(f"{printable(gone.name)} is removed")
    if not still_closed:
        click.echo("nobody has an account or a token now: on loopback chyme is open again")


@users.command()
@click.argument("name")
@_FROM_INPUT
@group_options
def password(asked: GroupOptions, name: str, password_stdin: bool) -> None:
    """Give somebody a new password; they are signed out everywhere."""
    with open_accounts_of(asked) as doors:
        who = doors.accounts.get(name)
        doors.accounts.change_password(who.name, read_password(password_stdin))
    _told(asked, who)


@users.command()
@click.argument("name")
@_FOLDERS
@_ALL
@_READ_ONLY
@group_options
def grant(asked: GroupOptions, name: str, folders: tuple[Path, ...], all_vaults: bool, read_only: bool) -> None:
    """Open vaults to somebody."""
    _some(folders, all_vaults)
    right = Right.READ if read_only else Right.WRITE
    vaults = [vault_at(folder) for folder in folders]
    with open_accounts_of(asked) as doors:
        who = doors.accounts.get(name)
        for vault in [*vaults, *([None] if all_vaults else [])]:
            who = doors.accounts.grant(name, vault, right)
    _told(asked, who)


@users.command()
@click.argument("name")
@_FOLDERS
@_ALL
@group_options
def revoke(asked: GroupOptions, name: str, folders: tuple[Path, ...], all_vaults: bool) -> None:
    """Close vaults to somebody."""
    _some(folders, all_vaults)
    vaults = [vault_at(folder) for folder in folders]
    with open_accounts_of(asked) as doors:
        who = doors.accounts.get(name)
        for vault in [*vaults, *([None] if all_vaults else [])]:
            who = doors.accounts.revoke(name, vault)
    _told(asked, who)


def _some(folders: tuple[Path, ...], all_vaults: bool) -> None:
    if not folders and not all_vaults:
        raise click.UsageError("name a vault's folder, or say --all-vaults")


def _list(asked: GroupOptions) -> None:
    with open_accounts_of(asked) as doors:
        everybody = doors.accounts.list_all()
    if asked.as_json:
        print_json({"users": [_shape(account) for account in everybody]})
        return
    if not everybody:
        click.echo("there are no users; 'chyme users add NAME' makes one")
    for account in everybody:
        click.echo(_line(account))


def _told(asked: GroupOptions, account: Account) -> None:
    if asked.as_json:
        print_json({"user": _shape(account)})
    else:
        click.echo(_line(account))


def _line(account: Account) -> str:
    opened = [f"{describe_right(account.everything)} every vault"] if account.everything else []
    opened += [f"{describe_right(grant.right)} {printable(grant.vault_name)}" for grant in account.grants]
    return f"{printable(account.name)} may {' and '.join(opened) if opened else 'open nothing yet'}"


def _shape(account: Account) -> dict[str, Any]:
    return {
        "name": account.name,
        "all_vaults": account.everything,
        "vaults": [
            {"vault": grant.vault_name, "identity": grant.vault, "right": grant.right} for grant in account.grants
        ],
        "created_at": account.created_at,
    }
