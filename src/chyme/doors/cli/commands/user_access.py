"""More of chyme users: invitations, and where users are signed in."""

from __future__ import annotations

import os
from typing import Any

import click

from chyme.accounts.invitations import DEFAULT_DAYS, LONGEST_DAYS, Invitation
from chyme.accounts.permissions import Right
from chyme.accounts.users import Session
from chyme.application.settings import Settings, read_settings
from chyme.core.files.vault_folder import STATE
from chyme.doors.cli.account_options import READ_ONLY, describe_rights, open_accounts_of, parse_access
from chyme.doors.cli.vault_options import GroupOptions, find_vault, group_options, print_json, printable
from chyme.errors import UsageError


@click.command()
@click.argument("note", default="")
@click.option("--access", multiple=True, metavar="VAULT[:read]", help="Only this vault; may be repeated.")
@READ_ONLY
@click.option("--owner", is_flag=True, help="The invited person becomes an owner.")
@click.option(
    "--expires", type=click.IntRange(1, LONGEST_DAYS), default=DEFAULT_DAYS, metavar="DAYS", help="Open for so long."
)
@click.option("--address", metavar="URL", help="The server's address in the link, such as https://chyme.example.")
@group_options
def invite(
    options: GroupOptions,
    note: str,
    access: tuple[str, ...],
    read_only: bool,
    owner: bool,
    expires: int,
    address: str | None,
) -> None:
    """Make a link by which one person makes an account; NOTE says for whom. It is shown this once."""
    grants = [(vault, Right.READ if read_only else right) for vault, right in parse_access(access)]
    everything = None if grants else Right.READ if read_only else Right.WRITE
    with open_accounts_of(options) as authenticator:
        made = authenticator.invitations.add(note, everything, grants, owner=owner, days=expires)
    settings = read_settings(find_vault(options.vault).resolve() / STATE, os.environ)
    link = f"{(address or _server_address(settings)).rstrip('/')}/invitation#{made.secret}"
    if options.as_json:
        print_json({"invitation": _invitation_json(made.invitation, "open"), "link": link, "code": made.secret})
        return
    click.echo(_format_invitation(made.invitation, "open"), err=True)
    click.echo(link)
    click.echo("send it to the person you invite: it is shown this once, and works once", err=True)


@click.command()
@group_options
def invitations(options: GroupOptions) -> None:
    """List the invitations of the last month; their links are not kept."""
    with open_accounts_of(options) as authenticator:
        listed = authenticator.invitations.list_all()
    if options.as_json:
        print_json({"invitations": [_invitation_json(found, state) for found, state in listed]})
        return
    if not listed:
        click.echo("there are no invitations; 'chyme users invite' makes one")
    for found, state in listed:
        click.echo(_format_invitation(found, state))


@click.command()
@click.argument("number", type=int)
@group_options
def uninvite(options: GroupOptions, number: int) -> None:
    """Revoke an open invitation, given by its number."""
    with open_accounts_of(options) as authenticator:
        if not authenticator.invitations.revoke(number):
            raise UsageError(f"there is no open invitation {number}; 'chyme users invitations' shows them")
    if options.as_json:
        print_json({"revoked": number})
    else:
        click.echo(f"invitation {number} opens nothing any more")


@click.command()
@click.argument("name", required=False)
@group_options
def sessions(options: GroupOptions, name: str | None) -> None:
    """List where users are signed in, or one of them."""
    with open_accounts_of(options) as authenticator:
        wanted = authenticator.accounts.get(name).id if name is not None else None
        names = authenticator.tokens.owners()
        listed = [one for one in authenticator.accounts.all_sessions() if wanted in (None, one.user_id)]
    if options.as_json:
        print_json({"sessions": [_session_json(session, names) for session in listed]})
        return
    if not listed:
        click.echo("nobody is signed in")
    for session in listed:
        where = f"{printable(session.hint) or 'unknown browser'}{f' from {session.address}' if session.address else ''}"
        user = printable(names.get(session.user_id, "?"))
        click.echo(
            f"{session.id:>6}  {user}: {where}, last used {session.seen_at[:16]}, until {session.expires_at[:10]}"
        )


@click.command("sign-out")
@click.argument("name")
@group_options
def sign_out(options: GroupOptions, name: str) -> None:
    """End all sessions of a user at once; tokens stay."""
    with open_accounts_of(options) as authenticator:
        account = authenticator.accounts.get(name)
        count = authenticator.accounts.end_sessions(account.id)
    if options.as_json:
        print_json({"signed_out": account.name, "sessions": count})
    else:
        click.echo(f"{printable(account.name)} is signed out; {count} {'session' if count == 1 else 'sessions'} ended")


def add_commands(group: click.Group) -> None:
    """Add these commands to `chyme users`."""
    for command in (invite, invitations, uninvite, sessions, sign_out):
        group.add_command(command)


def _server_address(settings: Settings) -> str:
    """Where people reach the server: the first name in `hosts` is that of a proxy with TLS, as a rule."""
    names = [name.strip() for name in settings.hosts.split(",") if name.strip()]
    if names:
        return f"https://{names[0]}"
    host = f"[{settings.host.strip('[]')}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"


def _format_invitation(invitation: Invitation, state: str) -> str:
    rights = describe_rights(invitation.everything, invitation.grants)
    owner = ", as owner" if invitation.owner else ""
    end = (
        f"used by {printable(invitation.redeemed_by)}"
        if invitation.redeemed_by
        else f"until {invitation.expires_at[:16]}"
    )
    return f"{invitation.id:>6}  {printable(invitation.note) or 'no note'} ({state}): may {rights}{owner}, {end}"


def _invitation_json(invitation: Invitation, state: str) -> dict[str, Any]:
    return {
        "number": invitation.id,
        "note": invitation.note,
        "state": state,
        "owner": invitation.owner,
        "all_vaults": invitation.everything,
        "vaults": [
            {"vault": grant.vault_name, "identity": grant.vault, "right": grant.right} for grant in invitation.grants
        ],
        "created_at": invitation.created_at,
        "expires_at": invitation.expires_at,
        "redeemed_by": invitation.redeemed_by,
    }


def _session_json(session: Session, names: dict[int, str]) -> dict[str, Any]:
    return {
        "number": session.id,
        "user": names.get(session.user_id),
        "browser": session.hint,
        "address": session.address,
        "created_at": session.created_at,
        "last_used_at": session.seen_at,
        "expires_at": session.expires_at,
    }
