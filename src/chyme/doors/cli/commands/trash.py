"""chyme trash: files that were deleted on the web page or over HTTP."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from chyme.doors.cli.formatting import format_count
from chyme.doors.cli.vault_options import open_vault, print_json, printable, vault_options
from chyme.vault.trash import TrashEntry


@click.group()
def trash() -> None:
    """Look at files that were deleted, bring them back, or delete them for good."""


@trash.command("list")
@vault_options
def list_trash(vault: Path | None, as_json: bool) -> None:
    """List what is in the trash, newest first."""
    with open_vault(vault) as app:
        entries = app.trash.list_all()
    if as_json:
        print_json({"trash": [asdict(entry) for entry in entries]})
        return
    for entry in entries:
        click.echo(f"{entry.id}  {entry.at[:16].replace('T', ' ')}  {entry.size:>12,}  {printable(entry.path)}")
    if not entries:
        click.echo("the trash is empty")


@trash.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--all", "everything", is_flag=True, help="Everything in the trash.")
@vault_options
def restore(ids: tuple[str, ...], everything: bool, vault: Path | None, as_json: bool) -> None:
    """Bring files back to where they were, or beside a file that is there now."""
    if bool(ids) == everything:
        raise click.UsageError("name the files by their ids ('chyme trash list' shows them), or use --all")
    with open_vault(vault) as app:
        restored = app.trash.restore(ids or [entry.id for entry in app.trash.list_all()])
    if as_json:
        print_json({"restored": [asdict(file) for file in restored]})
        return
    for file in restored:
        click.echo(printable(file.path) if file.path == file.was else f"{printable(file.was)} → {printable(file.path)}")
    click.echo(f"{format_count(len(restored), 'file')} brought back")


@trash.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--yes", is_flag=True, help="Do not ask.")
@vault_options
def empty(ids: tuple[str, ...], yes: bool, vault: Path | None, as_json: bool) -> None:
    """Delete files in the trash for good, with everything known about them; without ids all of them."""
    with open_vault(vault) as app:
        entries = [entry for entry in app.trash.list_all() if not ids or entry.id in ids]
        if entries and not yes:
            _confirm(entries)
        count = app.trash.empty(ids or [entry.id for entry in entries])
    if as_json:
        print_json({"deleted": count})
    else:
        click.echo(f"{format_count(count, 'file')} deleted for good")


def _confirm(entries: list[TrashEntry]) -> None:
    for entry in entries[:20]:
        click.echo(printable(entry.path), err=True)
    click.confirm(f"delete {format_count(len(entries), 'file')} for good?", abort=True, err=True)
