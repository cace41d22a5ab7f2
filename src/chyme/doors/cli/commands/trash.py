"""chyme trash: files that were deleted in the page or over HTTP."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from chyme.doors.cli.plurals import format_count
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
        found = app.trash.list_all()
    if as_json:
        print_json({"trash": [asdict(one) for one in found]})
        return
    for one in found:
        click.echo(f"{one.id}  {one.at[:16].replace('T', ' ')}  {one.size:>12,}  {printable(one.path)}")
    if not found:
        click.echo("the trash is empty")


@trash.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--all", "everything", is_flag=True, help="Everything in the trash.")
@vault_options
def restore(ids: tuple[str, ...], everything: bool, vault: Path | None, as_json: bool) -> None:
    """Bring files back where they were, or beside whoever is there now."""
    if bool(ids) == everything:
        raise click.UsageError("say which by their ids ('chyme trash list' tells them), or --all")
    with open_vault(vault) as app:
        back = app.trash.restore(ids or [one.id for one in app.trash.list_all()])
    if as_json:
        print_json({"restored": [asdict(one) for one in back]})
        return
    for one in back:
        click.echo(printable(one.path) if one.path == one.was else f"{printable(one.was)} → {printable(one.path)}")
    click.echo(f"{format_count(len(back), 'file')} brought back")


@trash.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--yes", is_flag=True, help="Do not ask.")
@vault_options
def empty(ids: tuple[str, ...], yes: bool, vault: Path | None, as_json: bool) -> None:
    """Delete files in the trash for good, with everything known about them; without ids all of them."""
    with open_vault(vault) as app:
        found = [one for one in app.trash.list_all() if not ids or one.id in ids]
        if found and not yes:
            _ask(found)
        count = app.trash.empty(ids or [one.id for one in found])
    if as_json:
        print_json({"deleted": count})
    else:
        click.echo(f"{format_count(count, 'file')} deleted for good")


def _ask(found: list[TrashEntry]) -> None:
    for one in found[:20]:
        click.echo(printable(one.path), err=True)
    click.confirm(f"delete {format_count(len(found), 'file')} for good?", abort=True, err=True)
