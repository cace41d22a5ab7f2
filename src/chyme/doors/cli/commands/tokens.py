"""chyme tokens: API tokens, which programs use instead of a name and a password."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from chyme.accounts.api_tokens import LONGEST_LIFE, Token
from chyme.accounts.permissions import Right
from chyme.doors.cli.account_options import describe_right, open_accounts_of, vault_at
from chyme.doors.cli.vault_options import GroupOptions, group_options, print_json, printable, vault_group
from chyme.errors import UsageError


@vault_group
def tokens(options: GroupOptions) -> None:
    """Make and revoke tokens for programs. Once there is a user or token, nobody gets in without one."""
    _print_tokens(options)


@tokens.command("list")
@group_options
def list_(options: GroupOptions) -> None:
    """List all tokens; their secrets are not kept."""
    _print_tokens(options)


@tokens.command()
@click.argument("name")
@click.option("--only", type=click.Path(path_type=Path, file_okay=False), metavar="VAULT", help="Only this vault.")
@click.option("--read-only", is_flag=True, help="Reading only, no changes.")
@click.option("--add-only", is_flag=True, help="Adding only: links, notes and files, without reading anything.")
@click.option("--expires", type=click.IntRange(1, LONGEST_LIFE), metavar="DAYS", help="It ends after so many days.")
@click.option("--user", help="Whose it is: it never opens more than they may, and goes with them.")
@group_options
def add(
    options: GroupOptions,
    name: str,
    only: Path | None,
    read_only: bool,
    add_only: bool,
    expires: int | None,
    user: str | None,
) -> None:
    """Make a token called NAME. It is shown this once."""
    if read_only and add_only:
        raise UsageError("--read-only and --add-only exclude each other; a token with both could do nothing")
    right = Right.READ if read_only else Right.ADD if add_only else Right.WRITE
    vault = vault_at(only) if only is not None else None
    with open_accounts_of(options) as authenticator:
        created = authenticator.tokens.add(name, right, vault, user, expires)
        owners = authenticator.tokens.owners()
    if options.as_json:
        print_json({"token": _token_json(created.token, owners), "secret": created.secret})
        return
    click.echo(_format_token(created.token, owners), err=True)
    click.echo(created.secret)
    click.echo("keep it safe: it is shown this once", err=True)


@tokens.command()
@click.argument("token", metavar="TOKEN")
@group_options
def revoke(options: GroupOptions, token: str) -> None:
    """Revoke a token, given by name or number."""
    with open_accounts_of(options) as authenticator:
        found = _find_token(authenticator.tokens.list_all(), token)
        authenticator.tokens.revoke(found.id)
        login_required = authenticator.login_required
    if options.as_json:
        print_json({"revoked": found.name, "id": found.id, "open": not login_required})
        return
    click.echo(f"{printable(found.name)} opens nothing any more")
    if not login_required:
        click.echo("nobody has an account or a token now: on loopback chyme is open again")


def _find_token(all_tokens: list[Token], name_or_id: str) -> Token:
    matches = [token for token in all_tokens if token.name == name_or_id] or [
        token for token in all_tokens if str(token.id) == name_or_id
    ]
    if len(matches) > 1:
        numbers = ", ".join(str(token.id) for token in matches)
        raise UsageError(f"{len(matches)} tokens are called {name_or_id!r}; revoke one by its number: {numbers}")
    if not matches:
        raise UsageError(f"there is no token {name_or_id!r}; 'chyme tokens list' shows them")
    return matches[0]


def _print_tokens(options: GroupOptions) -> None:
    with open_accounts_of(options) as authenticator:
        listed, owners = authenticator.tokens.list_all(), authenticator.tokens.owners()
    if options.as_json:
        print_json({"tokens": [_token_json(token, owners) for token in listed]})
        return
    if not listed:
        click.echo("there are no tokens; 'chyme tokens add NAME' makes one")
    for token in listed:
        click.echo(_format_token(token, owners))


def _format_token(token: Token, owners: dict[int, str]) -> str:
    where = printable(token.vault_name) if token.vault_name else "every vault"
    owner = f" of {printable(owners.get(token.user_id, '?'))}" if token.user_id is not None else ""
    used = f"used {token.last_used_at[:16]}" if token.last_used_at else "never used"
    until = f", until {token.expires_at[:10]}" if token.expires_at else ""
    return f"{token.id:>6}  {printable(token.name)}{owner}: may {describe_right(token.right)} {where}, {used}{until}"


def _token_json(token: Token, owners: dict[int, str]) -> dict[str, Any]:
    fields = asdict(token)
    fields["user"] = owners.get(fields.pop("user_id"))
    fields["identity"] = fields.pop("vault")
    fields["vault"] = fields.pop("vault_name")
    return fields
