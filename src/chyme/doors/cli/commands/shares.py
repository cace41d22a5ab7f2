"""chyme share and shares: links that show files to people without an account."""

from __future__ import annotations

from pathlib import Path

import click

from chyme.doors.cli.formatting import format_count
from chyme.doors.cli.vault_options import open_vault, print_json, printable, vault_options
from chyme.errors import UsageError
from chyme.sharing.share_links import DEFAULT_DAYS, MAX_DAYS, PrivateFilesChosen, Share, share_json

_STATES = {"open": "open", "expired": "expired", "ended": "ended", "restored": "ended by a restore"}


@click.command()
@click.argument("paths", nargs=-1, metavar="PATH…")
@click.option("--query", help="What this search finds now, instead of files and folders.")
@click.option(
    "--days", default=DEFAULT_DAYS, show_default=True, type=click.IntRange(1, MAX_DAYS), help="How long it works."
)
@click.option("--label", default="", help="A heading for those who open it.")
@click.option("--private", is_flag=True, help="Show private files (.chymeprivate) among them, too.")
@click.option("--server", default="", metavar="URL", help="The address of your server, to print the whole link.")
@click.option("--revoke", type=click.IntRange(1), metavar="ID", help="End a link; 'chyme shares' shows the numbers.")
@vault_options
def share(
    paths: tuple[str, ...],
    query: str | None,
    days: int,
    label: str,
    private: bool,
    server: str,
    revoke: int | None,
    vault: Path | None,
    as_json: bool,
) -> None:
    """Make a link that shows files, read only, to everybody who has it. It is shown this once."""
    if revoke is not None:
        if paths or query is not None:
            raise UsageError("--revoke ends one link; files are named for a new one")
        with open_vault(vault) as app:
            ended = app.shares.end(revoke)
        if as_json:
            print_json({"share": share_json(ended)})
        else:
            click.echo(f"link {ended.id} opens nothing any more")
        return
    if not paths and query is None:
        raise UsageError("name the files to share, or give a search with --query")
    if server and not server.startswith(("http://", "https://")):
        raise UsageError("--server is the address of your server, such as https://chyme.example.org")
    with open_vault(vault) as app:
        chosen = app.select_files([app.vault.relative(path) for path in paths], query)
        try:
            made = app.shares.add(chosen, days=days, label=label, private=private)
        except PrivateFilesChosen as error:
            raise UsageError(f"{error} (--private)") from error
    address = f"{server.rstrip('/')}/s/{made.secret}"
    if as_json:
        print_json({"share": share_json(made.share), "address": address})
        return
    count = format_count(len(made.share.paths), "file")
    click.echo(f"link {made.share.id} shows {count} until {made.share.expires_at[:10]}", err=True)
    click.echo(address)
    hint = "" if server else "; put the address of your server before it"
    click.echo(f"keep it: it is shown this once{hint}", err=True)


@click.command()
@vault_options
def shares(vault: Path | None, as_json: bool) -> None:
    """List the links to files: what they show, until when, and how often they were opened."""
    with open_vault(vault) as app:
        listed = app.shares.list_all()
    if as_json:
        print_json({"shares": [share_json(one) for one in listed]})
        return
    if not listed:
        click.echo("nothing is shared; 'chyme share PATH' makes a link")
    for one in listed:
        click.echo(_format_share(one))


def _format_share(share: Share) -> str:
    shown = share.label or ", ".join(path for path in share.paths[:3] if path) or "nothing that is still there"
    opened = f"opened {share.opens}×, last {str(share.last_opened_at)[:16]}" if share.opens else "never opened"
    by = f", by {printable(share.user.name)}" if share.user else ""
    private = ", shows private files" if share.private else ""
    return (
        f"{share.id:>6}  {printable(shown)} ({format_count(len(share.paths), 'file')}): {_STATES[share.state]}, "
        f"until {share.expires_at[:10]}, {opened}{by}{private}"
    )
