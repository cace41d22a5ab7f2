"""chyme rescue: build a new database from the files and the readable parts of a damaged one."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console

from chyme.application.backup.rescue import RescueResult, rescue_vault
from chyme.application.settings import read_settings
from chyme.core.files.vault_folder import STATE, Vault
from chyme.doors.cli.plurals import format_count
from chyme.doors.cli.vault_options import find_vault, print_json, printable, vault_options

LABELS = {
    "edits": "titles, dates and tags set by hand",
    "tag_rules": "rules about tags",
    "people": "people",
    "voices": "voices of people",
    "captures": "outputs of captured web pages",
    "renames": "earlier names of files",
    "ai_calls": "calls of models",
}


@click.command()
@click.option("--dry-run", is_flag=True, help="Only show what is wrong, and what can be read.")
@click.option("--force", is_flag=True, help="Rebuild even a database that is not damaged.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@vault_options
def rescue(dry_run: bool, force: bool, yes: bool, vault: Path | None, as_json: bool) -> None:
    """Build a new database from the files, keeping what can be read of a damaged one.

    Titles, dates and tags set by hand, rules about tags, people and their voices, captured web pages and what models
    cost are kept; all else is digested anew. The damaged database stays beside the new one.
    """
    root = Vault(find_vault(vault)).root
    settings = read_settings(root / STATE, os.environ)
    if not dry_run and not yes:
        with Console(stderr=True).status("looking …"):
            preview = rescue_vault(root, settings, dry_run=True, force=force)
        _print_result(preview, err=True)
        click.confirm("build a new database with that, and put the damaged one aside?", abort=True, err=True)
    with Console(stderr=True).status("rescuing …"):
        result = rescue_vault(root, settings, dry_run=dry_run, force=force)
    if as_json:
        print_json(asdict(result))
        return
    _print_result(result, err=False)


def _print_result(result: RescueResult, err: bool) -> None:
    if result.problem:
        click.echo(printable(f"the database of {result.vault} {result.problem}"), err=err)
    damaged = f"; {format_count(result.damaged_pages, 'page')} cannot be read whole" if result.damaged_pages else ""
    click.echo(f"{format_count(result.pages, 'page')}{damaged}", err=err)
    for kind, count in result.found.items():
        if not count:
            continue
        if result.dry_run:
            click.echo(f"{LABELS[kind]}: {count:,} can be read", err=err)
            continue
        saved = result.saved.get(kind, 0)
        note = "; of the others the file is not there, or they are not whole" if saved < count else ""
        click.echo(f"{LABELS[kind]}: {saved:,} of {count:,} kept{note}", err=err)
    if not any(result.found.values()):
        click.echo("nothing that a person decided or a web page left could be read", err=err)
    if not result.identity:
        click.echo("the vault gets a new identity: give accounts and tokens their rights to it again", err=err)
    for name in result.aside:
        click.echo(f"the damaged database is now called {printable(name)}", err=err)
    if not result.dry_run:
        click.echo(
            f"{format_count(result.files, 'file')} will be digested anew by 'chyme digest' or 'chyme serve'", err=err
        )
