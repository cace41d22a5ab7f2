"""chyme rescue: a new database from the files and what is left of a damaged one."""

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
@click.option("--dry-run", is_flag=True, help="Only tell what is wrong, and what can be read.")
@click.option("--force", is_flag=True, help="Build a database anew that is not damaged.")
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
            found = rescue_vault(root, settings, dry_run=True, force=force)
        _tell(found, err=True)
        click.confirm("build a new database with that, and put the damaged one aside?", abort=True, err=True)
    with Console(stderr=True).status("rescuing …"):
        done = rescue_vault(root, settings, dry_run=dry_run, force=force)
    if as_json:
        print_json(asdict(done))
        return
    _tell(done, err=False)


def _tell(done: RescueResult, err: bool) -> None:
    if done.problem:
        click.echo(printable(f"the database of {done.vault} {done.problem}"), err=err)
    bad = f"; {format_count(done.damaged_pages, 'page')} cannot be read whole" if done.damaged_pages else ""
    click.echo(f"{format_count(done.pages, 'page')}{bad}", err=err)
    for kind, count in done.found.items():
        if not count:
            continue
        if done.dry_run:
            click.echo(f"{LABELS[kind]}: {count:,} can be read", err=err)
            continue
        kept = done.saved.get(kind, 0)
        lost = "; of the others the file is not there, or they are not whole" if kept < count else ""
        click.echo(f"{LABELS[kind]}: {kept:,} of {count:,} kept{lost}", err=err)
    if not any(done.found.values()):
        click.echo("nothing that a person decided or a web page left could be read", err=err)
    if not done.identity:
        click.echo("the vault gets a new identity: give accounts and tokens their rights to it again", err=err)
    for name in done.aside:
        click.echo(f"the damaged database is now called {printable(name)}", err=err)
    if not done.dry_run:
        click.echo(
            f"{format_count(done.files, 'file')} will be digested anew by 'chyme digest' or 'chyme serve'", err=err
        )
