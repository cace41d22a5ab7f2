"""chyme tokens: what programs show instead of a name and a password."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from chyme.accounts.api_tokens import LONGEST_LIFE
from chyme.accounts.permissions import Right
from chyme.accounts.tables.tokens import Token
from chyme.doors.cli.access_options import describe_right, open_accounts_of, vault_at
from chyme.doors.cli.group_options import GroupOptions, group_options
from chyme.doors.cli.vault_options import print_json, printable, vault_options
from chyme.errors import UsageError


@click.group(invoke_without_command=True)
@vault_options
@click.pass_context
def tokens(ctx: click.Context, vault: Path | None, as_json: bool) -> None:
    """Make and revoke tokens for programs. With the first user or token, nobody comes in without one."""
    ctx.obj = GroupOptions(vault, as_json)
    if ctx.invoked_subcommand is None:
        _list(ctx.obj)


@tokens.command("list")
@group_options
def list_(asked: GroupOptions) -> None:
    """List all tokens; their secrets are not kept."""
    _list(asked)


@tokens.command()
@click.argument("name")
@click.option("--only", type=click.Path(path_type=Path, file_okay=False), metavar="VAULT", help="Only this vault.")
@click.option("--read-only", is_flag=True, help="Reading only, no changes.")
@click.option("--expires", type=click.IntRange(1, LONGEST_LIFE), metavar="DAYS", help="It ends after so many days.")
@click.option("--user", help="Whose it is: it never opens more than they may, and goes with them.")
@group_options
def add(
    asked: GroupOptions, name: str, only: Path | None, read_only: bool, expires: int | None, user: str | None
) -> None:
    """Make a token called NAME. It is shown this once."""
    vault = vault_at(only) if only is not None else None
    with open_accounts_of(asked) as doors:
        made = doors.tokens.add(name, Right.READ if read_only else Right.WRITE, vault, user, expires)
        owners = doors.tokens.owners()
    if asked.as_json:
        print_json({"token": _shape(made.token, owners), "secret": made.secret})
        return
    click.echo(_line(made.token, owners), err=True)
    click.echo(made.secret)
    click.echo("keep it safe: it is shown this once", err=True)


@tokens.command()
@click.argument("token", metavar="TOKEN")
@group_options
def revoke(asked: GroupOptions, token: str) -> None:
    """Make a token, named or numbered, open nothing any more."""
    with open_accounts_of(asked) as doors:
        meant = _meant(doors.tokens.list_all(), token)
        doors.tokens.revoke(meant.id)
        still_closed = doors.login_required
    if asked.as_json:
        print_json({"revoked": meant.name, "id": meant.id, "open": not still_closed})
        return
    click.echo(f"{printable(meant.name)} opens nothing any more")
    if not still_closed:
        click.echo("nobody has an account or a token now: on loopback chyme is open again")


def _meant(listed: list[Token], asked: str) -> Token:
    found = [one for one in listed if one.name == asked] or [one for one in listed if str(one.id) == asked]
    if len(found) > 1:
        numbers = ", ".join(str(one.id) for one in found)
        raise UsageError(f"{len(found)} tokens are called {asked!r}; revoke one by its number: {numbers}")
    if not found:
        raise UsageError(f"there is no token {asked!r}; 'chyme tokens list' tells which there are")
    return found[0]


def _list(asked: GroupOptions) -> None:
    with open_accounts_of(asked) as doors:
        listed, owners = doors.tokens.list_all(), doors.tokens.owners()
    if asked.as_json:
        print_json({"tokens": [_shape(one, owners) for one in listed]})
        return
    if not listed:
        click.echo("there are no tokens; 'chyme tokens add NAME' makes one")
    for one in listed:
        click.echo(_line(one, owners))


def _line(one: Token, owners: dict[int, str]) -> str:
    where = printable(one.vault_name) if one.vault_name else "every vault"
    whose = f" of {printable(owners.get(one.user_id, '?'))}" if one.user_id is not None else ""
    used = f"used {one.last_used_at[:16]}" if one.last_used_at else "never used"
    until = f", until {one.expires_at[:10]}" if one.expires_at else ""
    return f"{one.id:>6}  {printable(one.name)}{whose}: may {describe_right(one.right)} {where}, {used}{until}"


def _shape(one: Token, owners: dict[int, str]) -> dict[str, Any]:
    told = asdict(one)
    told["user"] = owners.get(told.pop("user_id"))
    told["identity"] = told.pop("vault")
    told["vault"] = told.pop("vault_name")
    return told
